#!/usr/bin/env bash
#
# Starts a program that comes to grief, and looks at how the job ends: soon, with
# the right status, and without leaving a process behind.
#
# Usage: run.sh <test> <program> <scratch folder>
#
# MPIEXEC       what starts MPI programs (mpiexec)
# STOP_SECONDS  how long a rank stands still at least (20)
# PATIENCE      seconds in which a job must end once it has reason to (30)

set -uo pipefail

name="$1" program="$2" scratch="$3"
mpiexec="${MPIEXEC:-mpiexec}"
ranks=3
patience="${PATIENCE:-30}"

# For Open MPI, if run by hand; others do not mind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

job=""

fail()
{
  echo "FAILED: $*"
  echo "-- output of the job:"
  cat "$scratch/output" 2> /dev/null
  exit 1
}

# Whatever happens, nothing of ours stays behind.
clean_up()
{
  local pid
  [ -n "$job" ] && alive "$job" && kill -KILL "$job"
  for pid in $(pids); do
    # Unless the number belongs to somebody else by now.
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$program")" ] &&
      kill -KILL "$pid"
  done 2> /dev/null
}

pids() { cat "$scratch"/pid.* 2> /dev/null; }

# says <number> <text>: so many lines of the output have the text.
says()
{
  local lines
  lines="$(grep -c -- "$2" "$scratch/output")"
  [ "$lines" = "$1" ] || fail "$lines lines, not $1, say '$2'"
}

start()
{
  "$mpiexec" -n "$ranks" "$program" "$1" "$scratch" \
    > "$scratch/output" 2>&1 < /dev/null &
  job=$!
}

# A process that has ended, but whose parent has not asked for its status yet,
# is gone for our purposes.
alive()
{
  local state
  state="$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" || return 1
  [ -n "$state" ] && [ "$state" != Z ]
}

# until_true <seconds> <command>...: look until the command succeeds.
until_true()
{
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -ge "$deadline" ] && return 1
    sleep 0.05
  done
}

# event <name>: wait until the program tells of it.
event()
{
  until_true 120 test -e "$scratch/$1" || fail "there was no event '$1'"
}

job_ended() { ! alive "$job"; }
nobody_left()
{
  local pid
  for pid in $(pids); do
    alive "$pid" && return 1
  done
  return 0
}

# ends_with <zero|nonzero|number>: the job ends soon, and all of its processes.
ends_with()
{
  until_true "$patience" job_ended || fail "the job goes on"
  wait "$job"
  local status=$?
  echo "the job ended with status $status"
  case "$1" in
    zero) [ "$status" -eq 0 ] || fail "status $status" ;;
    nonzero) [ "$status" -ne 0 ] || fail "status $status" ;;
    *) [ "$status" -eq "$1" ] || fail "status $status" ;;
  esac
  until_true "$patience" nobody_left || fail "a process was left behind"
}

stopped()
{
  [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" = T ]
}

trap clean_up EXIT
rm -rf "$scratch"
mkdir -p "$scratch"

case "$name" in
  # What goes wrong by itself.
  exception | exit | early-exit | late-exit | late-exception)
    if [ "$name" = early-exit ] &&
      "$mpiexec" --version 2>&1 | grep -qi hydra; then
      echo "skipped: MPICH's mpiexec waits for a rank that ended without MPI"
      exit 77
    fi
    start "$name"
    # The job ends with the status of the rank that called exit(3).
    case "$name" in
      *exit) ends_with 3 ;;
      *) ends_with nonzero ;;
    esac
    ;;
  # exit(0) in the middle of a training: on one rank, on all, and alone.
  exit-within)
    start exit-within
    ends_with nonzero
    says 1 "rank 1 called exit(0) while training was under way"
    ;;
  finalize-within)
    start finalize-within
    ends_with nonzero
    says 1 "rank 1 called MPI_Finalize() while training was under way"
    ;;
  exit-within-all)
    start exit-within-all
    ends_with zero
    says 0 "called exit"
    ;;
  exit-within-alone)
    ranks=1
    start exit-within-all
    ends_with zero
    says 0 "called exit"
    ;;
  # A child of fork() that exits leaves its parent's MPI alone.
  fork)
    start fork
    for rank in 0 1 2; do
      event "child.$rank"
    done
    ends_with zero
    ;;
  # Processes that are told by the launcher that they are several, and by MPI
  # that they are alone: as when the mpirun is another MPI's.
  apart)
    for variables in "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0" \
      "PMI_SIZE=4 PMI_RANK=0" \
      "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 SLURM_NTASKS=4"; do
      env -u OMPI_COMM_WORLD_SIZE $variables "$program" success "$scratch" \
        > "$scratch/output" 2>&1 || fail "$variables: it does not run"
      says 1 "4 processes were started"
    done
    # One of the others; a batch script's only process; one that was asked for.
    for variables in "PMI_SIZE=4 PMI_RANK=1" "SLURM_NTASKS=4 SLURM_PROCID=0" \
      "PMI_SIZE=1 PMI_RANK=0" \
      "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_NTASKS=4"; do
      env -u OMPI_COMM_WORLD_SIZE $variables "$program" success "$scratch" \
        > "$scratch/output" 2>&1 || fail "$variables: it does not run"
      says 0 "processes were started"
    done
    ;;
  caught)
    start caught
    ends_with nonzero
    # All ranks were told why, and the others which one it was.
    for rank in 0 1 2; do
      grep -q "the function gives up" "$scratch/caught.$rank" ||
        fail "rank $rank was not told why"
    done
    for rank in 0 2; do
      grep -q "rank 1 failed" "$scratch/caught.$rank" ||
        fail "rank $rank was not told who"
    done
    ;;
  success)
    start success
    ends_with zero
    ;;

  # A peer is killed, in the middle of its work.
  kill-first | kill-last)
    start endless
    for rank in 0 1 2; do
      event "running.$rank"
    done
    victim=0
    [ "$name" = kill-last ] && victim=2
    kill -KILL "$(cat "$scratch/pid.$victim")"
    ends_with nonzero
    ;;

  # A peer is killed while all others wait for it.
  kill-awaited)
    start standstill
    event stopped
    event done.0
    event done.1
    kill -KILL "$(cat "$scratch/stopped")"
    ends_with nonzero
    ;;

  # A peer stands still: nobody else does, and memory stays bounded.
  standstill)
    start standstill
    event stopped
    since=$SECONDS
    sleeper="$(cat "$scratch/stopped")"
    until_true 10 stopped "$sleeper" || fail "rank 2 does not stand still"
    event done.0
    event done.1
    echo "the others had done all the work after $((SECONDS - since)) s"
    while [ "$((SECONDS - since))" -le "${STOP_SECONDS:-20}" ]; do
      sleep 0.2
    done
    stopped "$sleeper" || fail "rank 2 went on before its time"
    alive "$job" || fail "the job ended without rank 2"
    kill -CONT "$sleeper"
    ends_with zero
    cat "$scratch/output"
    ;;

  *)
    fail "there is no test '$name'"
    ;;
esac
echo "passed: $name"
