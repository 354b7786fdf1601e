#!/usr/bin/env bash
#
# Ranks die, and the others go on without them: every gradient is in all models
# that are left, or in none; or, if a rank dies before training has begun, all
# others are told which one.  Nobody waits for ever.
#
# Usage: loss.sh <program> <scratch folder> [rounds] [seed]
#
# In so many rounds ranks die at random steps, and in as many they are killed
# from outside, at any moment from MPI_Init() to the end.
#
# MPIEXEC   what starts MPI programs (mpiexec)
# PATIENCE  seconds in which a job must end (60)
#
# Skipped, with status 77, where the MPI cannot do without a rank: it takes Open
# MPI 5.

set -uo pipefail

program="$(readlink -f "$1")" scratch="$2" rounds="${3:-0}" seed="${4:-1}"
mpiexec="${MPIEXEC:-mpiexec}"
patience="${PATIENCE:-60}"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

if ! "$mpiexec" --with-ft ulfm -n 1 true > /dev/null 2>&1; then
  echo "skipped: $mpiexec has no --with-ft ulfm; it takes Open MPI 5"
  exit 77
fi

jobs=0 failed=0 hangs=0 kills=0 job=""

alive()
{
  local state
  state="$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2> /dev/null)" || return 1
  [ -n "$state" ] && [ "$state" != Z ]
}

# ours <process>: is it alive, and has its number not gone to somebody else?
ours()
{
  alive "$1" && [ "$(readlink "/proc/$1/exe" 2> /dev/null)" = "$program" ]
}

pids() { cat "$scratch"/pid.* 2> /dev/null; }

clean_up()
{
  local pid
  [ -n "$job" ] && alive "$job" && kill -KILL "$job"
  for pid in $(pids); do
    ours "$pid" && kill -KILL "$pid"
  done 2> /dev/null
  return 0
}
trap clean_up EXIT

# begin <ranks> <argument>...
begin()
{
  rm -rf "$scratch"
  mkdir -p "$scratch"
  arguments="$*" ranks="$1" missed=""
  shift
  "$mpiexec" --with-ft ulfm -n "$ranks" "$program" "$scratch" "$@" \
    > "$scratch/output" 2>&1 < /dev/null &
  job=$!
  deadline=$((SECONDS + patience))
  jobs=$((jobs + 1))
}

miss() { missed+="$*; "; }

# end: wait for the job.
end()
{
  local pid
  while alive "$job"; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      hangs=$((hangs + 1))
      miss "it hangs"
      # Where it does, if that can be found out.
      for pid in $(pids); do
        ours "$pid" && gdb -p "$pid" -batch -ex "thread apply all backtrace"
      done < /dev/null > "$scratch/stacks" 2>&1
      cp "$scratch/stacks" "$scratch.stacks.$jobs"
      break
    fi
    sleep 0.02
  done
  clean_up
  wait "$job" 2> /dev/null
  status=$?
  job=""
  if [ "$status" = 77 ]; then
    cat "$scratch/output"
    exit 77
  fi
}

# survivors <rank>...: these ranks must have come to a right end.  The status of
# mpiexec says nothing: it is 0 even if all ranks were killed.
survivors()
{
  local rank
  for rank in "$@"; do
    [ -e "$scratch/right.$rank" ] || miss "rank $rank is not right"
  done
}

says()
{
  grep -q -- "$1" "$scratch/output" || miss "nobody says '$1'"
}

verdict()
{
  if [ -n "$missed" ]; then
    failed=$((failed + 1))
    echo "FAILED: $arguments: $missed"
    cat "$scratch/output"
  else
    grep ": right" "$scratch/output" || echo "right: $arguments"
  fi
}

# play <ranks> <topology> <kind> <points> [<rank>:<when>]...
play()
{
  local rank due=" "
  begin "$@"
  for rank in "${@:5}"; do
    due+="${rank%%:*} "
  done
  end
  says ": right"
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ "$due" = *" $rank "* ]] || survivors "$rank"
  done
}

# told <text>...: play(), and somebody must say this.
told()
{
  local text="$1"
  shift
  play "$@"
  says "$text"
  verdict
}

told ": right" 3 complete static 4000
# On a board.
told "rank 1 of 3 died;" 3 auto static 4000 1:300
told "ranks 0 and 2 of 4 died;" 4 auto dynamic-large 2000 0:100 2:200
told "rank 1 of 3 died;" 3 complete static 4000 1:300
told "rank 0 of 2 died;" 2 complete static 2000 0:200
told "rank 2 of 4 died;" 4 ring static 4000 2:300
told "rank 0 of 4 died;" 4 ring dynamic 4000 0:300
told "ranks 1 and 2 of 4 died;" 4 tree static 8000 1:100 2:400
told "ranks 0 and 3 of 5 died;" 5 exponential dynamic 8000 0:100 3:100
# What no longer fits is replaced, in this training and in the next.
told "topology mesh:2x2 is for 4 ranks.*rank 3 of 4 died; complete takes" \
  4 mesh:2x2 static 4000 3:1
told "rank 1 of 4 died; complete takes its place" \
  4 graph:0-1,1-2,2-3,3-0 static 4000 1:50
# Before the first gradient.
told ": right" 3 complete static 2000 1:start
told "rank 1 of 3 died before training had begun; call Optimize() again" \
  3 complete static 2000 1:handshake
told "rank 0 of 4 died before training had begun" \
  4 mesh:2x2 static 2000 0:handshake
# After the last one, while reports and histories are gathered, and at exit.
told ": right" 3 complete static 2000 1:end
told ": right" 4 complete static-history 2000 2:end
told "rank 1 of 4 died;" 4 ring static-history 2000 1:200
told ": right" 4 complete static-nan 4000 2:end
told "rank 2 of 4 died;" 4 complete static-history 2000 2:histories
told "rank 0 of 3 died;" 3 complete static 2000 0:agree
told "ranks 1 and 2 of 4 died;" 4 ring static 2000 1:200 2:agree
told "ranks 1 and 2 of 4 died;" 4 ring static 2000 1:200 2:shrink
told "ranks 0, 1 and 3 of 5 died;" 5 tree static-history 2000 0:shrink 1:200 3:agree
told ": right" 3 complete static 2000 0:between
told ": right" 3 complete static 2000 1:finalize
told ": right" 3 complete static 2000 1:exit
told ": right" 4 complete static 2000 0:exit 2:exit

# Baselines do not go on without a rank, and say so.
begin 3 complete static-baseline 100000 1:200
end
says "rank 1 of 3 died\|a rank has died\|MPI_ERR_PROC_FAILED"
verdict

# A rank that stands still does not notice a death: the others do not wait for
# ever.
DASGD_DEATH_SECONDS=2 begin 3 complete static 100000 1:200 2:stop100
end
says "not all others have noticed it within 2 s"
verdict

# Rank 0 writes the files of a command-line program, or else the first that is
# left; nobody else does.
for case in "0:200 1" "1:200 0" "2:200 0"; do
  begin 3 complete static-program 4000 "${case% *}"
  end
  survivors "${case#* }"
  [ "$(find "$scratch" -name 'right.*' | wc -l)" = 1 ] || miss "not one writes"
  [ "$status" = 0 ] || miss "status $status"
  verdict
done
begin 4 complete static-program 8000 0:200 1:400
end
survivors 2
[ "$status" = 0 ] || miss "status $status"
verdict

RANDOM="$seed"
topologies=(auto auto complete ring tree exponential)
kinds=(static dynamic static-history static-large)
for ((round = 0; round < rounds; ++round)); do
  ranks=$((2 + RANDOM % 5))
  points=$((1500 * (1 + RANDOM % 5)))
  deaths=()
  for ((rank = 1; rank < ranks; ++rank)); do
    # One is left in any case.
    if ((RANDOM % 3 == 0)); then
      deaths+=("$((rank - RANDOM % 2)):$((1 + RANDOM % (points / ranks)))")
    fi
  done
  play "$ranks" "${topologies[RANDOM % 6]}" "${kinds[RANDOM % 4]}" \
    "$points" "${deaths[@]}"
  verdict
done

# Killed from outside, at moments that are spread over the whole life: just
# after MPI_Init(), anywhere in the training, and from its last gradient on.
began() { [ "$(pids | wc -l)" = "$ranks" ]; }
ended() { compgen -G "$scratch/end.*" > /dev/null; }

# until_true <command>...: look until it succeeds, or the job is over.
until_true()
{
  until "$@" || ! alive "$job" || [ "$SECONDS" -ge "$deadline" ]; do
    sleep 0.005
  done
}

kinds=(static dynamic static-history static-nan static-large)
for ((round = 0; round < rounds; ++round)); do
  ranks=$((2 + RANDOM % 4))
  begin "$ranks" "${topologies[RANDOM % 6]}" "${kinds[RANDOM % 5]}" \
    $((2000 * (1 + RANDOM % 5))) outside
  # A death before all are out of MPI_Init() is one that Open MPI hangs on.
  until_true began
  case $((RANDOM % 3)) in
    0) milliseconds=30 ;;
    1) milliseconds=300 ;;
    2)
      milliseconds=60
      until_true ended
      ;;
  esac
  victims=()
  for ((count = 1 + RANDOM % 2; count > 0; --count)); do
    victim=$((RANDOM % ranks))
    sleep "$(printf '0.%03d' $((RANDOM % milliseconds)))"
    if [[ " ${victims[*]} " != *" $victim "* ]] &&
      ((${#victims[@]} + 1 < ranks)) &&
      ours "$(cat "$scratch/pid.$victim")"; then
      kill -KILL "$(cat "$scratch/pid.$victim")" && kills=$((kills + 1))
      victims+=("$victim")
    fi
  done
  arguments+=", killed: ${victims[*]}"
  end
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ " ${victims[*]} " = *" $rank "* ]] || survivors "$rank"
  done
  verdict
done

echo "$jobs jobs, $kills ranks killed from outside, $failed failed, $hangs of" \
  "them by hanging, $SECONDS s"
[ "$failed" = 0 ]
