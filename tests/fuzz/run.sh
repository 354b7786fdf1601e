#!/usr/bin/env bash
#
# The long form of the fuzz tests: builds all targets, runs one after the other
# and prints a line for each.  Fails, and names the input, if one does harm.
#
#   run.sh          10 million inputs, over all targets together
#   run.sh 500000   so many inputs for each target
#   run.sh 60s      so many seconds for each target
#
# BUILD_DIR  a configured build tree (build/ in the project)
# FUZZ_DIR   where the programs are in it (tests/fuzz)
# FUZZ_ONLY  names of the targets to run, such as "frame idx" (all)
# FUZZ_SEED  seed of the first target (the time)

set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="${BUILD_DIR:-$here/../../build}"
programs="$build/${FUZZ_DIR:-tests/fuzz}"
seed="${FUZZ_SEED:-$(date +%s)}"

cmake --build "$build" --target dasgd_fuzz
work="$programs/long"
mkdir -p "$work"

names=()
lengths=()
while read -r name length; do
  if [[ -z "${FUZZ_ONLY:-}" || " $FUZZ_ONLY " == *" $name "* ]]; then
    names+=("$name")
    lengths+=("$length")
  fi
done < "$programs/targets"

amount="${1:-$(((10000000 + ${#names[@]} - 1) / ${#names[@]}))}"
case "$amount" in
  *[!0-9s]* | s* | *s?* | "")
    echo "usage: run.sh [RUNS | SECONDSs]" >&2
    exit 2 ;;
  *s) limit="-max_total_time=${amount%s}" ;;
  *) limit="-runs=$amount" ;;
esac

failed=0
inputs=0
lines=()
for i in "${!names[@]}"; do
  name="${names[$i]}"
  log="$work/$name.log"
  echo "fuzz_$name: $limit -seed=$((seed + i)), log in $log"
  FUZZ_LENGTH="${lengths[$i]}" "$here/one.sh" "$programs/fuzz_$name" \
    "$work/$name" "$limit" "-seed=$((seed + i))" > "$log" 2>&1 || failed=1
  grep 'does harm: ' "$log" || true

  stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
  executed="$(stat number_of_executed_units)"
  inputs=$((inputs + ${executed:-0}))
  # The last line of progress: "#9 DONE cov: 5 ft: 6 corp: 7/8b ...".
  progress="$(grep -E '^#[0-9]+.* cov: ' "$log" | tail -n 1 || true)"
  field() { sed -n "s/.* $1: \([0-9]*\).*/\1/p" <<< "$progress"; }
  crashes="$(find "$work/$name/found" -type f | wc -l)"
  lines+=("$(printf '%-12s %10s %9s %7s %7s %8s' "$name" "${executed:-?}" \
    "$(stat average_exec_per_sec)" "$(field cov)" "$(field corp)" \
    "$crashes")")
done

echo
printf '%-12s %10s %9s %7s %7s %8s\n' \
  target inputs 'a second' edges corpus crashes
printf '%s\n' "${lines[@]}"
echo "$inputs inputs"
exit "$failed"
