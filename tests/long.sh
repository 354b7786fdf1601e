#!/usr/bin/env bash
#
# The long forms of the tests of reliability.  tests/run.sh runs all of them in
# short; these take hours, and both cores.
#
# Usage: long.sh [PART...]; without a part, all of them, in this order:
#
#   sim       100,000 random runs on virtual time, as many trainings that die and
#             are resumed, and as many whose ranks die while the others continue
#   chaos     50 trainings over MPI whose ranks are killed, stopped, continued
#   ulfm      ranks that die while the others go on, in a root of Debian 13
#   hosts     a training across network namespaces, with slow and broken links
#   slurm     jobs on a Slurm cluster of four nodes that are all this machine
#   plan      plans against trainings of 2 to 32 ranks on network namespaces
#   fuzz      10,000,000 inputs to whatever reads files and frames
#   threads   the thread sanitizer on what has threads
#   address   the library's tests under the address and undefined sanitizers
#   growth    valgrind: is memory of a long run flat?
#   soak      one hour at 4 ranks: memory, and drift between ranks
#
# BUILD_DIR          a build tree with tests (build/ in the project)
# SEEDS              of "sim" (100000)
# DEBIAN13_ROOT      of "ulfm": a root that there is; otherwise it makes one
# ROUNDS_OF_DEATHS   of "ulfm" (500)
# SECONDS_OF_SOAK    (3600)
# SECONDS_OF_GROWTH  (180)
# FUZZ               inputs of each target of "fuzz", or seconds, such as 60s
#                    (10 million inputs over all targets)

set -uo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$(cd "${BUILD_DIR:-$root/build}" && pwd)" || exit 2
scratch="$build/tests/long"
mkdir -p "$scratch"

# For Open MPI; others do not mind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

sim()
{
  # Without sanitizers, which would take most of the time; "address" has them.
  local program="$scratch/sim"
  g++ -std=c++17 -O2 -ffp-contract=off -I"$root/src" -I"$root/tests" \
    "$root/tests/main.cpp" "$root/tests/catch_runner.cpp" \
    "$root/tests/sim/simulation_test.cpp" \
    "$root/tests/sim/board_test.cpp" "$root/tests/sim/resume_test.cpp" \
    "$root/tests/sim/recovery_test.cpp" \
    -o "$program" -larmadillo &&
    DASGD_SEEDS="${SEEDS:-100000}" "$program" "all promises*" -d yes
}

chaos()
{
  python3 "$root/tests/chaos/run.py" \
    --program "$build/tests/dasgd_chaos_program" --work "$scratch/chaos" \
    --rounds 50
}

ulfm()
{
  "$root/tests/failures/debian13.sh" "$scratch/ulfm" "${ROUNDS_OF_DEATHS:-500}"
}

hosts()
{
  "$root/tests/hosts/run.sh" --long "$build/tests/dasgd_hosts_program" \
    "$scratch/hosts"
}

slurm()
{
  "$root/cmake/dependencies.sh" --slurm &&
    "$root/tests/slurm/run.sh" --long \
      "$build/bindings/mlpack_dasgd_softmax_regression" "$scratch/slurm"
}

plan()
{
  # A figure belongs to a machine, so this is no part of the tests.
  cmake --build "$build" --parallel "$(nproc)" --target dasgd_waiting &&
    python3 "$root/tests/plan/validate.py" \
      --plan "$build/bindings/mlpack_dasgd_plan" \
      --waiting "$build/tests/dasgd_waiting" \
      --hosts "$root/tests/hosts/launch.sh" --out "$scratch/plan.csv"
}

fuzz() { BUILD_DIR="$build" "$root/tests/fuzz/run.sh" ${FUZZ:+"$FUZZ"}; }

threads()
{
  # MPI libraries are not made for it.  Checkpoints are written by a thread
  # whether there is MPI or not, and what exchanges beside computing is tested
  # with threads for ranks.
  local program="$scratch/threads"
  g++ -std=c++17 -O1 -g -fsanitize=thread -I"$root/src" -I"$root/tests" \
    "$root/tests/main.cpp" "$root/tests/catch_runner.cpp" \
    "$root/tests/wire/checkpoint_test.cpp" \
    "$root/tests/threads/threads_test.cpp" -o "$program" -larmadillo &&
    DASGD_SEEDS=20000 "$program"
}

address()
{
  # Without what includes mlpack, which takes more than 5 GB of memory for each
  # file under the sanitizers: the library itself is all here.
  cmake -S "$root" --preset asan -DDASGD_BUILD_BINDINGS=OFF \
    -DDASGD_BUILD_EXAMPLES=OFF &&
    cmake --build "$root/build-asan" --parallel "$(nproc)" --target \
      dasgd_core_tests dasgd_wire_tests dasgd_sim_tests dasgd_mpi_tests \
      dasgd_optimizer_tests dasgd_baseline_tests dasgd_failing_program &&
    ctest --test-dir "$root/build-asan" --output-on-failure -R \
      '^(core$|wire$|sim|mpi_n|optimizer_n|baselines_n|failures_)' -E failures_loss
}

growth()
{
  # Snapshots of the heap of each rank: the largest in the second quarter of the
  # run, and in the third; at the end the program computes the loss, for which
  # rank 0 copies all points.
  if ! command -v valgrind > /dev/null; then
    echo "there is no valgrind"
    return 77
  fi
  rm -f "$scratch"/massif.* "$scratch/growth.checkpoint"
  mpiexec -n 2 valgrind --tool=massif --massif-out-file="$scratch/massif.%p" \
    "$build/tests/dasgd_chaos_program" soak "$scratch/growth.checkpoint" 10 \
    "${SECONDS_OF_GROWTH:-180}" 60 complete || return 1
  local file status=0
  for file in "$scratch"/massif.*; do
    sed -n 's/^mem_heap_B=//p' "$file" | awk '
      { heap[NR] = $1 }
      END {
        for (i = 1; i <= NR; ++i) {
          if (i > NR / 4 && i <= NR / 2 && heap[i] > early) early = heap[i]
          if (i > NR / 2 && i <= 3 * NR / 4 && heap[i] > late) late = heap[i]
        }
        printf "heap of a rank: at most %d bytes in the second quarter of " \
          "the run, %d in the third\n", early, late
        exit !(NR > 8 && late <= 1.01 * early)
      }' || status=1
  done
  return "$status"
}

soak()
{
  python3 "$root/tests/chaos/soak.py" \
    --program "$build/tests/dasgd_chaos_program" --work "$scratch/soak" \
    --seconds "${SECONDS_OF_SOAK:-3600}"
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] ||
  parts=(sim chaos ulfm hosts slurm plan fuzz threads address growth soak)
# Before hours have passed.
for part in "${parts[@]}"; do
  case "$part" in
    sim | chaos | ulfm | hosts | slurm | plan | fuzz | threads | address | \
      growth | soak) ;;
    *)
      echo "long.sh: there is no part '$part'; see its first lines" >&2
      exit 2
      ;;
  esac
done
summary=()
status=0
for part in "${parts[@]}"; do
  echo "== $part"
  begin="$(date +%s)"
  "$part" 2>&1 | tee "$scratch/$part.txt"
  result=${PIPESTATUS[0]}
  case "$result" in
    0) word=passed ;;
    77) word=skipped ;;
    *)
      word="FAILED (status $result)"
      status=1
      ;;
  esac
  summary+=("$(printf '%-8s %s, %d s' "$part" "$word" \
    "$(($(date +%s) - begin))")")
done
echo "== summary (outputs are in $scratch)"
printf '%s\n' "${summary[@]}"
exit "$status"
