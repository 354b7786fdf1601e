#!/usr/bin/env bash
#
# Fuzzes the reader of models, from models that a program writes.
#
#   fuzz.sh PROGRAM SEEDS WORK [OPTION...]
#
# PROGRAM  fuzz_onnx
# SEEDS    the program that writes models to start from
# WORK     a folder, made anew; found/ gets inputs that do harm
#
# Options are libFuzzer's.

set -euo pipefail

program="$1" seeds="$2" work="$3"
shift 3
rm -rf "$work"
mkdir -p "$work/new" "$work/found" "$work/corpus"
"$seeds" "$work/corpus"
export ASAN_OPTIONS=quarantine_size_mb=16:leak_check_at_exit=0
export UBSAN_OPTIONS=print_stacktrace=1
options=(-timeout=60 -rss_limit_mb=1024 -malloc_limit_mb=512
  "-artifact_prefix=$work/found/")
inputs=("$work/corpus"/*)
"$program" "${options[@]}" "${inputs[@]}"
# By name and not as a folder, whose order depends on the file system: so that a
# seed gives the same inputs everywhere.
named=$(IFS=,; echo "${inputs[*]}")
"$program" "${options[@]}" -max_len=4096 -print_final_stats=1 "$@" \
  "-seed_inputs=$named" "$work/new"
