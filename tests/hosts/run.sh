#!/usr/bin/env bash
#
# Three hosts on one machine: network namespaces with addresses of their own,
# joined by a bridge in a fourth one, from where the job is started.  A training
# goes over TCP from beginning to end: at full speed, over a link that is slow,
# over one that is down for five seconds, and with two ranks on each host.
#
# Usage: run.sh [--long] <program> <scratch folder>
#
# --long    four times the gradients, at the same pace in all three trainings:
#           two minutes instead of 25 seconds
# MPIEXEC   what starts MPI programs: Open MPI 4's (mpiexec)
# PATIENCE  seconds in which a training must end (60, or 300)
#
# Needs root, and ip and tc (iproute2); without them it is skipped (status 77).

set -uo pipefail

# How many by all ranks together, and how many milliseconds longer than it needs
# each of them takes, in each of the three trainings: few enough must fall into
# the time that a frame takes on the slow link, or that the other is down.
gradients=2400 paces=(2 7 11) patience="${PATIENCE:-60}"
if [ "${1:-}" = --long ]; then
  shift
  gradients=9600 paces=(10 10 10) patience="${PATIENCE:-300}"
fi
program="$(realpath "$1")" scratch="$2"
mpiexec="${MPIEXEC:-mpiexec}"

# Rank i - 1 is on host i; things happen to the last.
hosts=(1 2 3) victim=3
prefix="dasgd-$$"
rate=10mbit rate_bytes=1250000
outage=5
# shellcheck source=tests/hosts/network.sh
. "$(dirname "${BASH_SOURCE[0]}")/network.sh"

fail()
{
  echo "FAILED: $*"
  echo "-- output of the job:"
  cat "$scratch/output" 2> /dev/null
  exit 1
}

# holds <expression>: of numbers that need not be whole.
holds() { awk "BEGIN { exit !($1) }"; }

# bytes <host> <tx|rx>: what has gone over its link so far.
bytes() { inside "$1" cat "/sys/class/net/eth0/statistics/$2_bytes"; }

# As if somebody pulled the cable out, and put it back.
link() { ip -n "$hub" link set "port$victim" "$1" || fail "link set $1"; }

#
# A training.
#

# launch <command>...: as our job.
launch()
{
  rm -f "$scratch"/{output,result,steps.*}
  timeout -k 5 "$patience" "$@" > "$scratch/output" 2>&1 < /dev/null &
  job=$!
}

# await <name>: the job ends well, and all of its processes.
await()
{
  local status
  wait "$job"
  status=$?
  job=""
  [ "$status" -eq 124 ] && fail "$1: not finished after $patience s"
  [ "$status" -eq 0 ] || fail "$1: status $status"
  until_true 10 nobody_left || fail "$1: a process was left behind"
}

# start <pace> [<ranks>]: a training on all hosts, with one rank on each, or so
# many, by TCP and nothing else.
start()
{
  local host each="${2:-1}"
  for host in "${hosts[@]}"; do
    sent[host]="$(bytes "$host" tx)" received[host]="$(bytes "$host" rx)"
  done
  find_launcher "$mpiexec" "$each"
  launch "${launcher[@]}" "$program" "$scratch" "$gradients" "$1" \
    ${2:+share}
}

under_way()
{
  local rank
  kill -0 "$job" 2> /dev/null || fail "the job has ended already"
  for rank in 0 1 2; do
    [ -e "$scratch/steps.$rank" ] || return 1
  done
}

# finish <name>: the training ends well, and its frames went over the network.
finish()
{
  local host said heard loss seconds staleness
  # shellcheck disable=SC2034
  local sent_0 sent_1 sent_2 received_0 received_1 received_2
  await "$1"
  # shellcheck source=/dev/null
  . "$scratch/result"
  for host in "${hosts[@]}"; do
    said="sent_$((host - 1))" heard="received_$((host - 1))"
    sent[host]="$(($(bytes "$host" tx) - sent[host]))"
    received[host]="$(($(bytes "$host" rx) - received[host]))"
    [[ "${!said}" -gt 0 && "${sent[host]}" -ge "${!said}" ]] ||
      fail "$1: host $host sent ${sent[host]} bytes, the rank on it ${!said}"
    [[ "${!heard}" -gt 0 && "${received[host]}" -ge "${!heard}" ]] ||
      fail "$1: host $host received ${received[host]} bytes, the rank on it" \
        "${!heard}"
  done
  holds "$loss < 1.2 * $alone && $loss > 0.9 * $alone" ||
    fail "$1: loss $loss, of one rank alone $alone"
  printf '%-14s %8.1f %12.0f %9.1f %11.1f %11.1f %8.4f\n' "$1" "$seconds" \
    "$(awk "BEGIN { print $gradients / $seconds }")" \
    "$(awk "BEGIN { print ${sent[victim]} / 1e6 }")" \
    "$(awk "BEGIN { print ${received[victim]} / 1e6 }")" "$staleness" "$loss"
}

#
# Three of them.
#

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rm -rf "$scratch"
mkdir -p "$scratch"
scratch="$(realpath "$scratch")"
build_network "$mpiexec"
sent=() received=()

launch ip netns exec "$hub" "$program" "$scratch" "$gradients" 0
await "one rank alone"
alone="$(sed -n 's/^loss=//p' "$scratch/result")"
echo "one rank alone: loss $alone"

printf '%-14s %8s %12s %9s %11s %11s %8s\n' "link of host $victim" seconds \
  gradients/s "MB sent" "MB received" "staleness" loss
start "${paces[0]}"
finish "full speed"

if slow_down "$victim" "$rate" 2> "$scratch/tc"; then
  start "${paces[1]}"
  began=$SECONDS
  finish "$rate"
  # Up to a second may have been cut off.
  most=$(((SECONDS - began + 1) * rate_bytes))
  [[ "${sent[victim]}" -le "$most" && "${received[victim]}" -le "$most" ]] ||
    fail "${sent[victim]} and ${received[victim]} bytes are too many for $rate"
  speed_up "$victim"
else
  speed_up "$victim" 2> /dev/null # If it was one direction only.
  echo "skipped: '$rate': tc says: $(head -n 1 "$scratch/tc")"
fi

start "${paces[2]}"
until_true "$patience" under_way || fail "the training does not begin"
link down
mapfile -t at_down < <(cat "$scratch"/steps.[012])
came="$(bytes "$victim" rx)"
sleep "$outage"
under_way
mapfile -t at_up < <(cat "$scratch"/steps.[012])
[ "$(bytes "$victim" rx)" -eq "$came" ] || fail "the link was not down"
link up
finish "$outage s down"
echo "meanwhile ranks went from ${at_down[*]} to ${at_up[*]} steps"
for rank in 0 1 2; do
  [ "$((at_up[rank] - at_down[rank]))" -ge 50 ] ||
    fail "rank $rank stood still while the link was down"
done

start "${paces[0]}" 2
await "two ranks each"
# shellcheck source=/dev/null
. "$scratch/result"
echo "two ranks on each host: topology $topology, $models_between models between" \
  "hosts for each gradient, staleness $staleness, loss $loss"
[ "$topology" = "3 boards, complete" ] || fail "topology $topology is not one of 3 hosts"
# To each of two other hosts once at most, and nobody waits for long.
holds "$models_between > 0.1 && $models_between < 2.05" ||
  fail "$models_between models between hosts for each gradient"
holds "$loss < 1.2 * $alone && $loss > 0.9 * $alone" ||
  fail "two ranks each: loss $loss, of one rank alone $alone"
echo "passed"
