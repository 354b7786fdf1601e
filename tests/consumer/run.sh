#!/usr/bin/env bash
#
# Builds and runs two small projects that use dasgd: installed to a scratch
# prefix, headers only and compiled once, and as a subdirectory.
#
# Usage: run.sh <build tree of dasgd> <scratch folder> <mpiexec>

set -euo pipefail

build="$1" scratch="$2" mpiexec="$3"
here="$(cd "$(dirname "$0")" && pwd)"

# The consumers use the same compiler, MPI and libraries as the build they test.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
deps="$(cached DASGD_DEPS_DIR)"
common=(-G "$(cached CMAKE_GENERATOR)"
  -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)"
  -DMPI_CXX_COMPILER="$(cached MPI_CXX_COMPILER)")
ccache="$(cached CCACHE_PROGRAM)"
if [ -x "$ccache" ]; then
  export CMAKE_CXX_COMPILER_LAUNCHER="$ccache"
fi

# check <name> <programs> <cmake option>...
check()
{
  local name="$1" programs="$2" program
  shift 2
  echo "== $name: configure"
  cmake -S "$here/$name" -B "$scratch/$name" "${common[@]}" "$@"
  echo "== $name: build"
  # Another test has the other core.
  cmake --build "$scratch/$name" --parallel 1
  for program in $programs; do
    echo "== $name: run $program as one process, and as two"
    "$scratch/$name/$program"
    "$mpiexec" -n 2 "$scratch/$name/$program"
  done
}

rm -rf "$scratch"
mkdir -p "$scratch"
# Other tests run at the same time; see Studies.start() in study_test.py.
export OMPI_MCA_orte_tmpdir_base="$scratch/mpi"
cmake --install "$build" --prefix "$scratch/prefix" > "$scratch/install.log"

# Libraries that the system does not have are pointed to, as by a user.
# A type of build that has no flags: it is not about speed.
check installed "consumer_headers consumer_compiled" \
  -DCMAKE_BUILD_TYPE=Plain \
  "-DCMAKE_PREFIX_PATH=$scratch/prefix;$deps"
check subdirectory consumer -DDASGD_DEPS_DIR="$deps"
