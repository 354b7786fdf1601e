#!/usr/bin/env bash
#
# The promises of ranks that exchange while they compute, and of the topology
# that is chosen for the machines, on MPICH.  What all tests are built with is
# Open MPI, or whatever CMake has found.
#
# Usage: run.sh <scratch folder> <C++ compiler> <object of Catch2's own part>
#     <option of the compiler>...
#
# Exits with 77 where MPICH is missing.

set -euo pipefail

scratch="$1" compiler="$2" runner="$3"
shift 3
here="$(cd "$(dirname "$0")" && pwd)"

if ! command -v mpicxx.mpich > /dev/null ||
    ! command -v mpiexec.mpich > /dev/null; then
  echo "MPICH is not here: install it by cmake/dependencies.sh --mpich"
  exit 77
fi

mkdir -p "$scratch"
# The wrapper takes the compiler of the other programs.
wrapper=(mpicxx.mpich "-cxx=$compiler")
options=(-std=c++17 -O0 -ffp-contract=off -UNDEBUG -Wall -Wextra
  "-I$here/../../src" "-I$here/.." "$@")
for source in "$here/../mpi/main.cpp" "$here/../mpi/conformance_test.cpp" \
    "$here/all.cpp"; do
  "${wrapper[@]}" "${options[@]}" -DDASGD_COMPILED -c "$source" \
    -o "$scratch/$(basename "$source" .cpp).o"
done
"${wrapper[@]}" "$scratch"/{main,conformance_test,all}.o "$runner" -larmadillo \
  -ldl -pthread -o "$scratch/tests"

for ranks in 1 2 3 4 8; do
  echo "== MPICH, $ranks ranks"
  mpiexec.mpich -n "$ranks" "$scratch/tests"
done
