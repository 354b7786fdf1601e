#!/usr/bin/env bash
#
# Makes the Debian packages and looks into them: programs with manual pages, and
# dependencies on every library that a program is linked to, and on mpirun.
#
# Usage: run.sh <build tree of dasgd> <scratch folder>

set -euo pipefail

build="$1" scratch="$2"

fail()
{
  echo "FAILED: $*"
  exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch/root"
(cd "$build" && cpack -G DEB -B "$scratch/cpack" > "$scratch/log" 2>&1) ||
  { cat "$scratch/log"; fail "cpack"; }
programs="$(find "$scratch/cpack" -maxdepth 1 -name 'dasgd_*.deb')"
headers="$(find "$scratch/cpack" -maxdepth 1 -name 'libdasgd-dev_*_all.deb')"
[ -f "$programs" ] || fail "there is no package of programs"
[ -f "$headers" ] || fail "there is no package of headers"

dpkg-deb --extract "$programs" "$scratch/root"
depends="$(dpkg-deb --field "$programs" Depends)"
echo "dasgd depends on: $depends"
for program in mlpack_dasgd_ffn mlpack_dasgd_linear_svm \
    mlpack_dasgd_logistic_regression mlpack_dasgd_softmax_regression \
    mlpack_dasgd_study \
    dasgd_history; do
  [ -x "$scratch/root/usr/bin/$program" ] || fail "$program is missing"
  find "$scratch/root/usr/share/man/man1" -name "$program.1*" | grep -q . ||
    fail "the manual page of $program is missing"
  [ "$program" = dasgd_history ] || [ -f \
      "$scratch/root/usr/share/bash-completion/completions/$program" ] ||
    fail "the completion of $program is missing"
  # What it needs by itself, not through others; each library's package, as
  # this system has it, must be among the dependencies.
  for library in $(objdump -p "$scratch/root/usr/bin/$program" |
      sed -n 's/^ *NEEDED *//p'); do
    path="$(ldconfig -p | sed -n "s/^\t$library (.* => //p" | head -n 1)"
    [ -n "$path" ] || fail "$program needs $library, which is not installed"
    # dpkg knows a file by the name it was packed with, with or without /usr.
    real="$(realpath "$path")"
    owner="$(dpkg-query --search "$real" "${real#/usr}" "$path" \
      2> /dev/null | head -n 1 || true)"
    owner="${owner%%:*}"
    [ -n "$owner" ] || fail "$library is of no package"
    grep -q -F " $owner " <<< " $depends " ||
      fail "$program needs $library of $owner, not among: $depends"
  done
  "$scratch/root/usr/bin/$program" --help > "$scratch/help.txt" ||
    fail "$program --help"
done
grep -q -E '\b(openmpi-bin|mpich)\b' <<< "$depends" ||
  fail "without mpirun, --ranks has nothing to start"

dpkg-deb --contents "$headers" > "$scratch/headers.txt"
for file in ./usr/include/dasgd.hpp ./usr/include/dasgd/drop_in.hpp \
    ./usr/share/cmake/dasgd/dasgdConfig.cmake \
    ./usr/share/dasgd/dasgd_core.cpp ./usr/share/dasgd/dasgd_mpi.cpp \
    ./usr/share/dasgd/dasgd_baselines.cpp; do
  grep -q " $file\$" "$scratch/headers.txt" || fail "$file is missing"
done
echo "libdasgd-dev depends on: $(dpkg-deb --field "$headers" Depends)"
echo "passed"
