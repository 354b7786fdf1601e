#!/usr/bin/env bash
#
# Installs what is missing, builds everything and runs all tests; ends with
# ctest's summary.  Arguments go to ctest, e.g. "tests/run.sh -R core".
#
# BUILD_DIR  where to build (build/ in the project)
# CI         if set, warnings are errors and programs are compiled with -O1
# ONNX       if "no", ONNX models are left out

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="${BUILD_DIR:-$root/build}"
# nproc would answer with OMP_NUM_THREADS, which is not meant for this.
cores="$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)"

"$root/cmake/dependencies.sh" --tests --quickstart --alternate

# ONNX models are tested where their libraries can be had without much ado.
onnx=OFF
if [ "${ONNX:-}" != no ] && { command -v npm > /dev/null ||
    apt-cache show libonnxruntime-dev > /dev/null 2>&1; }; then
  "$root/cmake/dependencies.sh" --onnx && onnx=ON
fi
[ $onnx = ON ] || echo "run.sh: tests of ONNX models are skipped"

options=("-DDASGD_WITH_ONNX=$onnx" -DDASGD_BUILD_TESTS=ON
  -DDASGD_BUILD_EXAMPLES=ON
  -DDASGD_BUILD_BINDINGS=ON)
if [ -n "${CI:-}" ]; then
  # Speed is for benchmarks; what must be fast to be tested asks for -O3 itself.
  # With one way to round, all programs share the precompiled mlpack.
  options+=(-DDASGD_WERROR=ON
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -ffp-contract=off"
    -DDASGD_TEST_BATCH=6)
  # No test runs these.
  options+=(-DDASGD_STUDY_OPTIONS=-O0)
  if command -v ld.gold > /dev/null; then
    options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold)
  fi
  # GCC spends a tenth of its time on collecting garbage; without, a process
  # takes up to three gigabytes instead of two.
  if "${CXX:-c++}" --version | grep -q "Free Software Foundation"; then
    options+=("-DCMAKE_CXX_FLAGS=--param=ggc-min-heapsize=1000000 \
--param=ggc-min-expand=300")
  fi
fi
# An existing build tree keeps the generator it was made with.
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then
  options+=(-G Ninja)
fi

cmake -S "$root" -B "$build" "${options[@]}"
cmake --build "$build" --parallel "$cores"
ctest --test-dir "$build" --output-on-failure --parallel "$cores" "$@"
