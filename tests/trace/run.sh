#!/usr/bin/env bash
#
# Records a run of three ranks, has dasgd_history read it, and checks all that
# comes of it: table, JSON and trace.  Damaged files must be refused.
#
# Usage: run.sh <dasgd_history> <program that writes a history> <mpiexec>
#     <scratch folder>
#
# PYTHON  Python 3 (python3)

set -euo pipefail

tool="$1" program="$2" mpiexec="$3" scratch="$4"
here="$(cd "$(dirname "$0")" && pwd)"
python="${PYTHON:-python3}"
ranks=3

# For Open MPI, if run by hand; others do not mind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

fail()
{
  echo "FAILED: $*"
  exit 1
}

# A rank dates what it does by its own clock, which starts when it does; and it
# may lose its core for a while between looking at the clock and a frame.
check_trace()
{
  "$python" "$here/check_trace.py" --tolerance 1e6 "$1" "$ranks"
}

# refused <name> <argument>...: status 1, one line, nothing printed or written.
refused()
{
  local name="$1" status=0
  shift
  "$tool" "$@" --trace refused.json > refused.out 2> refused.err || status=$?
  echo "$name: status $status, $(cat refused.err)"
  [ "$status" = 1 ] || fail "$name: status $status instead of 1"
  [ "$(wc -l < refused.err)" = 1 ] || fail "$name: not one line of complaint"
  grep -q "^dasgd_history: " refused.err || fail "$name: who complains?"
  [ ! -s refused.out ] || fail "$name: printed something nevertheless"
  [ ! -e refused.json ] || fail "$name: wrote a trace nevertheless"
}

# The arguments may be relative to where we are.
tool="$(realpath "$tool")" program="$(realpath "$program")"
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

echo "== record"
"$mpiexec" -n "$ranks" "$program" run.history < /dev/null > report.json
[ -s run.history ] || fail "no history was written"

echo "== read"
"$tool" run.history --trace trace.json
"$tool" run.history --json > summary.json

echo "== compare with the report of the run itself"
"$python" - summary.json report.json "$ranks" << 'PYTHON'
import json
import math
import sys

summary, report = (json.load(open(path)) for path in sys.argv[1:3])
ranks = int(sys.argv[3])


def same(name, read, reported, tolerance):
    if not math.isclose(read, reported, rel_tol=1e-12, abs_tol=tolerance):
        sys.exit(f"{name}: {read} by the history, {reported} by the report")


if not summary["ranks"] == len(summary["per_rank"]) == ranks:
    sys.exit(f"not {ranks} ranks")
same("gradients", summary["gradients"], report["gradients"], 0)
for name in ("loose_staleness_avg", "loose_staleness_max"):
    same(name, summary[name], report[name], 0)
for read, reported in zip(summary["per_rank"], report["per_rank"]):
    names = ["rank", "computed", "applied", "frames_sent", "frames_received",
             "bytes_sent", "bytes_received", "loose_staleness_mean",
             "loose_staleness_max"]
    # While a peer takes nothing, a run may leave gradients unmeasured.
    if reported["staleness_skipped"] == 0:
        names += ["staleness_mean", "staleness_max"]
    for name in names:
        same(f"rank {read['rank']}, {name}", read[name], reported[name], 0)
    # Each of a few thousand events is rounded to nanoseconds.
    for name in ("seconds_computing", "seconds_idle"):
        same(f"rank {read['rank']}, {name}", read[name], reported[name], 1e-5)
    if sum(read["staleness_histogram"]) != read["applied"]:
        sys.exit(f"rank {read['rank']}: the histogram misses gradients")
if sum(summary["staleness_histogram"]) != ranks * summary["gradients"]:
    sys.exit("not every rank has applied every gradient")
PYTHON

echo "== trace"
check_trace trace.json

echo "== damaged histories"
size="$(wc -c < run.history)"
head -c "$((size / 2))" run.history > half.history
head -c "$((size - 5))" run.history > no_end.history
head -c 4000 "$tool" > program.history
: > empty.history
for name in half no_end program empty missing; do
  refused "$name" "$name.history"
done
cp run.history copy.history
status=0
"$tool" copy.history --trace copy.history 2> /dev/null || status=$?
[ "$status" = 1 ] || fail "a trace in place of its history: status $status"
cmp run.history copy.history || fail "a trace has replaced its history"

echo "== wrong arguments"
for arguments in "" "--unknown run.history" "run.history other.history"; do
  # shellcheck disable=SC2086
  if "$tool" $arguments > wrong.out 2>&1; then
    fail "took the arguments \"$arguments\""
  fi
  head -n 1 wrong.out
done

echo "== damaged traces"
head -c 2000 trace.json > cut_off.json
"$python" - trace.json << 'PYTHON'
import json
import sys

text = open(sys.argv[1]).read()


def write(name, damage):
    trace = json.loads(text)
    events = trace["traceEvents"]
    damage(events, [i for i, event in enumerate(events) if event["ph"] == "f"],
           [event for event in events if event["ph"] == "X"])
    with open(name + ".json", "w") as file:
        json.dump(trace, file)


def no_end(events, ends, slices):
    del events[ends[len(ends) // 2]]


def two_ends(events, ends, slices):
    events.append(events[ends[0]])


def overlap(events, ends, slices):
    # The first of a track becomes as long as all that follows.
    slices[0]["dur"] = 1e9


def elsewhere(events, ends, slices):
    events[ends[-1]]["ts"] += 1e9


def no_name(events, ends, slices):
    del events[0]


for damage in (no_end, two_ends, overlap, elsewhere, no_name):
    write(damage.__name__, damage)
PYTHON
for name in cut_off no_end two_ends overlap elsewhere no_name; do
  if check_trace "$name.json" 2> complaint; then
    fail "$name: a damaged trace passes"
  fi
  cat complaint
done
echo "passed"
