#!/usr/bin/env bash
#
# Builds the benchmarks and runs them: gradients per second, as ratios to what
# the machine can do.  Takes an hour; --quick takes a part of it.  Nothing else
# should run on the machine.  Figures between hosts need root, for network
# namespaces; they are left out where there can be none.
#
# Usage: run.sh [--peers] [option of benchmarks.py...]
#
#   --peers            also measure PyTorch DDP; installs python3-torch
#   --quick            1 and 2 ranks in double precision only, on one machine and
#                      between hosts
#   --repetitions N    5 unless given
#   --out FILE         where to put all figures (build-benchmarks/figures.json)
#   --compare OLD.json say what got slower than in another run
#
# BUILD_DIR  where to build (build-benchmarks/ in the project)

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build="${BUILD_DIR:-$root/build-benchmarks}"

peers=()
needs=(--tests)
options=()
for option in "$@"; do
  if [ "$option" = --peers ]; then
    needs+=(--peers)
    peers=(--ddp "$root/tests/benchmarks/ddp.py")
  else
    options+=("$option")
  fi
done

"$root/cmake/dependencies.sh" "${needs[@]}"
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DDASGD_BUILD_EXAMPLES=OFF > /dev/null
cmake --build "$build" --target dasgd_benchmarks --parallel "$(nproc)"
mpiexec="$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")"

# As in the tests: more ranks than cores, as root, not pinned.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none
# mlpack's own threads would compete with ranks.
export OMP_NUM_THREADS=1

exec python3 "$root/tests/benchmarks/benchmarks.py" \
  --throughput "$build/tests/dasgd_throughput" \
  --micro "$build/tests/dasgd_micro" --mpiexec "$mpiexec" \
  --hosts "$root/tests/hosts/launch.sh" \
  --out "$build/figures.json" "${peers[@]}" "${options[@]}"
