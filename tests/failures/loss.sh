#!/usr/bin/env bash
#
# Ranks die in a training, and the others go on without them: every gradient is
# in all models that are left, or in none.
#
# Usage: loss.sh <program> [rounds of random deaths] [seed]
#
# MPIEXEC  what starts MPI programs (mpiexec)
#
# Skipped, with status 77, where the MPI cannot do without a rank: it takes Open
# MPI 5.

set -uo pipefail

program="$1" rounds="${2:-0}" seed="${3:-1}"
mpiexec="${MPIEXEC:-mpiexec}"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

if ! "$mpiexec" --with-ft ulfm -n 1 true > /dev/null 2>&1; then
  echo "skipped: $mpiexec has no --with-ft ulfm; it takes Open MPI 5"
  exit 77
fi

failed=0
# play <ranks> <topology> <sharing> <points> [<rank>:<step>]...
play()
{
  local ranks="$1" output status
  shift
  output="$(timeout 60 "$mpiexec" --with-ft ulfm -n "$ranks" "$program" "$@" \
    2>&1)"
  status=$?
  if [ "$status" = 77 ]; then
    echo "$output"
    exit 77
  fi
  if [ "$status" != 0 ]; then
    failed=$((failed + 1))
    echo "FAILED with status $status: $ranks ranks, $*"
    echo "$output"
  else
    grep ": right" <<< "$output"
  fi
}

play 3 complete static 4000
play 3 complete static 4000 1:300
play 2 complete static 2000 0:200
play 4 ring static 4000 2:300
play 4 ring dynamic 4000 0:300
play 4 mesh:2x2 static 4000 3:1
play 4 tree static 8000 1:100 2:400
play 5 exponential dynamic 8000 0:100 3:100

RANDOM="$seed"
topologies=(complete ring tree exponential)
sharings=(static dynamic)
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
  play "$ranks" "${topologies[RANDOM % 4]}" "${sharings[RANDOM % 2]}" \
    "$points" "${deaths[@]}"
done

[ "$failed" = 0 ]
