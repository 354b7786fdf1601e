#!/usr/bin/env bash
#
# Runs one fuzz target: first every input of its corpus, then new ones, as many
# as libFuzzer's options say.
#
#   one.sh PROGRAM WORK [OPTION...]
#
# PROGRAM      is called fuzz_NAME; its corpus is corpus/NAME, beside this file
# WORK         a folder, made anew: new/ gets inputs that reach new code, found/
#              those that do harm
# FUZZ_LENGTH  the most bytes of an input (1024)

set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
program="$1"
work="$2"
shift 2
name="$(basename "$program")"
name="${name#fuzz_}"
corpus="$here/corpus/$name"

# What is freed is not kept for long, since memory is limited.  libFuzzer looks
# for leaks after inputs that may have left one; once more at the end would
# take seconds.
asan=quarantine_size_mb=16:leak_check_at_exit=0
export ASAN_OPTIONS="$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
options=(-timeout=5 -rss_limit_mb=512 -malloc_limit_mb=512
  "-artifact_prefix=$work/found/")
dictionary=()
if [ -e "$here/$name.dict" ]; then
  dictionary=("-dict=$here/$name.dict")
fi

rm -rf "$work"
mkdir -p "$work/new" "$work/found"

fail()
{
  for input in "$work/found"/*; do
    if [ -e "$input" ]; then
      echo "fuzz_$name: this input does harm: $input" >&2
    fi
  done
  echo "fuzz_$name failed" >&2
  exit 1
}

inputs=("$corpus"/*)
"$program" "${options[@]}" "${inputs[@]}" || fail
# By name and not as a folder, whose order depends on the file system: so that a
# seed gives the same inputs everywhere.
named=$(IFS=,; echo "${inputs[*]}")
"$program" "${options[@]}" "${dictionary[@]}" "-max_len=${FUZZ_LENGTH:-1024}" \
  -print_final_stats=1 -print_funcs=0 "$@" "-seed_inputs=$named" "$work/new" ||
  fail
