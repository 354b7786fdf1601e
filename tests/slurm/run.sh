#!/usr/bin/env bash
#
# Trainings under Slurm, on a cluster of four nodes that is made for it on this
# machine: how they are started, what becomes of them when a rank is killed, and
# how they go on after a requeue.
#
# Usage: run.sh [--long] <program> <scratch folder>
#
# <program>  a training program of bindings/, such as
#            mlpack_dasgd_softmax_regression
# --long     also a training that reaches its time limit, and one that loses a
#            node: four minutes instead of one
# MPIEXEC    what starts MPI programs: Open MPI 4's (mpirun)
# PATIENCE   seconds in which a training must end (60, or 300)
#
# Needs root, Slurm and munge (see cluster.sh), and Open MPI; without them it is
# skipped (status 77).

set -uo pipefail

long=no patience="${PATIENCE:-60}"
if [ "${1:-}" = --long ]; then
  shift
  long=yes patience="${PATIENCE:-300}"
fi
program="$(realpath "$1")" scratch="$2"
mpiexec="${MPIEXEC:-mpirun}"
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

# shellcheck disable=SC2034
nodes=4 prefix=dasgd-slurm
# shellcheck source=tests/slurm/cluster.sh
. "$folder/cluster.sh"

# Seconds in which Slurm ends a job, and for which one is watched that waits.
soon=15
failures=0

#
# What cases are made of.
#

# since <time>: seconds that have passed.
since() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $1 }"; }

# ok <text> and failed <text>: how a case ended; the latter shows what was said.
ok() { echo "ok: $* ($(since "$began") s)"; }
failed()
{
  echo "FAILED: $*"
  sed 's/^/  | /' output 2> /dev/null | tail -n 30
  failures=$((failures + 1))
  return 1
}

# begin <name>: a folder for the case, with its data.
begin()
{
  began=$EPOCHREALTIME
  mkdir "$scratch/$1" && cd "$scratch/$1" || exit 1
  ln -s ../data/*.csv .
}

# What every training has; the data is in the present folder.
data=(--training_file train.csv --labels_file train_labels.csv --seed 1)
# One that never ends, and shows by a file that it has begun.
endless=("${data[@]}" --max_iterations 0 --tolerance -1
  --output_model_file model.bin --checkpoint_file state.checkpoint
  --checkpoint_every 0.2)

# starts <command>...: in the background, until this shell ends.
starts()
{
  setpriv --pdeathsig KILL "$@" > output 2>&1 < /dev/null &
  job=$!
}
# ends <seconds>: the job does; sets status.
ends()
{
  until_true "$1" job_ended 2> /dev/null || return
  wait "$job"
  status=$?
  job=""
}

# report <field>: of the report of a training.
report()
{
  sed -n "s/^  \"$1\": //p" report.json 2> /dev/null | sed 's/,$//; s/"//g'
}

# accuracy: of the model, in percent without decimals; nothing without a model.
accuracy()
{
  [ -s model.bin ] && "$program" --input_model_file model.bin \
    --test_file test.csv --test_labels_file test_labels.csv 2>&1 |
    sed -n 's/^test accuracy \([0-9]*\).*/\1/p'
}
good_model()
{
  local percent
  percent="$(accuracy)"
  [ -n "$percent" ] && [ "$percent" -ge 85 ]
}

# rank <number>: the process identifier of a rank of the training that runs; on
# its node it has another one.
rank()
{
  local process
  for process in /proc/[0-9]*; do
    [ "$process/exe" -ef "$program" ] &&
      grep -qzx "SLURM_CONF=$SLURM_CONF" "$process/environ" &&
      grep -qzx "SLURM_PROCID=$1" "$process/environ" && echo "${process#/proc/}"
  done 2> /dev/null
}

# No job waits, runs or ends.
queue_empty() { [ -z "$(squeue --noheader)" ]; }
# All jobs of this cluster end.
empty_queue()
{
  scancel --user=root --quiet
  until_true "$((kill_wait + soon))" queue_empty ||
    failed "scancel does not end all jobs"
  [ -z "$job" ] || ends "$soon"
}

# submits <option of sbatch>... -- <option of the program>...: requeue.sbatch as
# it is; its output is the file output.
submits()
{
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  number="$(sbatch --parsable --output=output "${options[@]}" \
    "$folder/../../examples/cluster/requeue.sbatch" "$@")" ||
    failed "sbatch has status $?"
}

# points <text>: in each line with this text, after how many points it was.
points() { sed -n "s/.*$1.* after \([0-9]*\) points.*/\1/p" output; }

# completes <text> [<statuses>]: the job leaves the queue, after at least one
# resume, and has made all epochs; the model is good.  If statuses are given,
# starts have ended with these, and each resumed where the one before ended.
completes()
{
  local resumes statuses
  if ! until_true "$patience" queue_empty; then
    failed "$1: not finished after $patience s"
    return
  fi
  resumes="$(grep -c ': resuming from checkpoint state.checkpoint after [1-9]' \
    output)"
  statuses="$(sed -n 's/^start .* ended with status //p' output | sort -nu |
    paste -s -d ' ')"
  if [ "$resumes" -eq 0 ]; then
    failed "$1: it was not resumed"
  elif [ "$(report resumes)" != "$resumes" ] ||
      [ "$(report points)" != "$(report max_iterations)" ]; then
    failed "$1: $(report points) of $(report max_iterations) points," \
      "$(report resumes) resumes in the report, $resumes in the output"
  elif ! good_model; then
    failed "$1: the model has an accuracy of '$(accuracy)' %"
  elif [ $# -gt 1 ] && [ "$statuses" != "$2" ]; then
    failed "$1: starts ended with statuses $statuses, not $2"
  elif [ $# -gt 1 ] && [ "$(points "ended by")" != "$(points resuming)" ]; then
    failed "$1: ended after $(points "ended by" | paste -s -d ' ') points," \
      "resumed after $(points resuming | paste -s -d ' ')"
  else
    ok "$1: resumes $resumes, statuses $statuses"
  fi
}

#
# How a training is started.
#

# one_training <text> <what the report says of machines> <launcher>...
one_training()
{
  local text="$1" machines="$2"
  shift 2
  starts "$@" "$program" "${data[@]}" --epochs 20 --report_file report.json \
    --output_model_file model.bin
  if ! ends "$patience"; then
    failed "$text: not finished after $patience s"
  elif [ "$status" -ne 0 ]; then
    failed "$text: status $status"
  elif [ "$(report ranks)" != 4 ] ||
      [ "$(report topology_choice)" != "auto, for $machines" ]; then
    failed "$text: $(report ranks) ranks, $(report topology_choice)"
  elif ! good_model; then
    failed "$text: the model has an accuracy of '$(accuracy)' %"
  else
    ok "$text: 4 ranks, $machines"
  fi
}

# a. By Slurm.
srun_pmix()
{
  begin srun_pmix
  one_training "srun --mpi=pmix" "4 machines of 1 rank" \
    srun --mpi=pmix -K -n 4 -N 4
}

# b. By Open MPI inside an allocation.
salloc_mpirun()
{
  begin salloc_mpirun
  one_training "salloc, mpirun" "2 machines of 2 ranks" \
    salloc -N 2 -n 4 --ntasks-per-node=2 "$mpiexec"
}

# Nodes are not asked by ssh, which need not be there.
salloc_elastic()
{
  begin salloc_elastic
  printf 'node%d slots=1\n' 1 2 > hosts
  starts salloc --kill-command=TERM -N 2 -n 2 "$program" "${data[@]}" \
    --epochs 20 --report_file report.json --output_model_file model.bin \
    --checkpoint_file state.checkpoint --elastic --hostfile hosts
  if ! ends "$patience"; then
    failed "salloc, --elastic: not finished after $patience s"
  elif [ "$status" -ne 0 ] || [ "$(report ranks)" != 2 ]; then
    failed "salloc, --elastic: status $status, $(report ranks) ranks"
  elif ! good_model; then
    failed "salloc, --elastic: the model has an accuracy of '$(accuracy)' %"
  else
    ok "salloc, --elastic --hostfile: 2 ranks"
  fi
}

# c. In ways that Open MPI does not know.
srun_without_pmix()
{
  local way text
  for way in none pmi2; do
    begin "srun_$way"
    text="srun --mpi=$way: ends with an error"
    starts srun --mpi="$way" -n 2 "$program" "${data[@]}"
    if ! ends "$soon"; then
      failed "$text: not ended after $soon s"
    elif [ "$status" -eq 0 ] || ! grep -q "error occurred in MPI_Init" output
    then
      failed "$text: status $status"
    elif [ "$(grep -c "^dasgd: 2 processes were started by srun without PMIx" output)" -ne 1 ]; then
      failed "$text: the remedy is not said once"
    else
      ok "$text, status $status"
    fi
  done
}

#
# What a killed rank does to the others.
#

# kill_rank <text> <option of srun>...: starts a training, and kills rank 2.
kill_rank()
{
  local text="$1" victim
  shift
  starts srun --mpi=pmix "$@" -n 4 -N 4 "$program" "${endless[@]}"
  until_true "$patience" test -e state.checkpoint ||
    { failed "$text: the training does not begin"; return; }
  victim="$(rank 2)"
  kill -KILL "$victim" || failed "$text: rank 2 is not there"
}

# d. With -K the job ends.
killed_rank()
{
  begin killed_rank
  local text="srun -K: a killed rank ends the training" at
  kill_rank "$text" -K || return
  at=$EPOCHREALTIME
  if ! ends "$soon"; then
    failed "$text: not ended after $soon s"
  elif [ "$status" -eq 0 ]; then
    failed "$text: status 0"
  else
    ok "$text after $(since "$at") s, status $status"
  fi
}

# Without, the others wait for ever.
killed_rank_without_k()
{
  begin killed_rank_without_k
  local text="srun without -K: the others wait for a killed rank" i
  kill_rank "$text" --kill-on-bad-exit=0 || return
  if ends "$soon"; then
    failed "$text: the training has ended, status $status"
    return
  fi
  for i in 0 1 3; do
    [ -n "$(rank "$i")" ] || { failed "$text: rank $i is gone"; return; }
  done
  empty_queue && ok "$text; after scancel the status is $status"
}

#
# How a batch job goes on.
#

# under_way <text>: the job has saved its first checkpoint.
under_way()
{
  until_true "$patience" test -e state.checkpoint ||
    failed "$1: the training does not begin"
}

# e. Somebody requeues the job, or one of its ranks is killed.
requeued()
{
  begin requeued
  local text="scontrol requeue"
  submits -- --checkpoint_every 0.2 || return
  under_way "$text" || return
  # Sends SIGTERM.
  scontrol requeue "$number"
  completes "$text" 0
}
requeued_after_kill()
{
  begin requeued_after_kill
  local text="a batch job with a killed rank"
  submits -- --checkpoint_every 0.2 || return
  under_way "$text" || return
  kill -KILL "$(rank 1)" || { failed "$text: rank 1 is not there"; return; }
  completes "$text"
}

# f. Slurm says that the time is nearly over.  The same signal can be sent at
# once.
warned()
{
  begin warned
  local text="SIGUSR1"
  submits -- --checkpoint_every 0.2 || return
  under_way "$text" || return
  scancel --signal=USR1 "$number"
  completes "$text" "0 75"
}

# The same by a time limit of one minute, on 32 times the data: also on a fast
# machine that takes longer than the 40 seconds after which the signal comes.
time_limit()
{
  begin time_limit
  local text="time limit of one minute" name
  for name in train train_labels; do
    rm "$name.csv"
    for _ in {1..32}; do
      cat "../data/$name.csv"
    done > "$name.csv"
  done
  submits --time=00:01:00 --signal=USR1@20 -- || return
  completes "$text" "0 75"
}

# A node fails: Slurm itself requeues the job, to other nodes.
lost_node()
{
  begin lost_node
  local text="a node is lost" list
  submits --nodes=2 -- --checkpoint_every 0.2 || return
  under_way "$text" || return
  list="$(squeue --noheader --jobs "$number" --format %N)"
  end_host "$(scontrol show hostnames "$list" | tail -n 1)"
  completes "$text"
}

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rm -rf "$scratch"
mkdir -p "$scratch"
scratch="$(realpath "$scratch")"
"$mpiexec" --version 2>&1 | grep "(Open \?\(MPI\|RTE\)) 4" > /dev/null ||
  skip "'$mpiexec' is not Open MPI 4's, for which this is written"
began=$EPOCHREALTIME
build_cluster
srun --mpi=list 2>&1 | grep -w pmix > /dev/null || skip "Slurm has no PMIx"
ok "$nodes nodes"
"$folder/../../examples/sample_data.sh" "$scratch/data"
# requeue.sbatch looks for it by this name.
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/mlpack_dasgd_softmax_regression"
PATH="$scratch/bin:$PATH"

cases=(srun_pmix salloc_mpirun salloc_elastic srun_without_pmix killed_rank
  killed_rank_without_k requeued requeued_after_kill warned)
[ "$long" = no ] || cases+=(time_limit lost_node)
for case in "${cases[@]}"; do
  "$case"
  queue_empty || empty_queue
done
cd / || exit 1
if [ "$failures" -gt 0 ]; then
  echo "$failures failed; see $scratch"
  exit 1
fi
echo "passed"
