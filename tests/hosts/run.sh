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

# Host i has the address $net.i, and rank i - 1; things happen to the last.
hosts=(1 2 3) victim=3
net=10.77.0
prefix="dasgd-$$"
hub="$prefix-hub"
rate=10mbit rate_bytes=1250000
outage=5

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# Each host believes that all cores are its own.
export OPENBLAS_NUM_THREADS=1

# For numbers with a point.
export LC_ALL=C

sessions="" job=""

fail()
{
  echo "FAILED: $*"
  echo "-- output of the job:"
  cat "$scratch/output" 2> /dev/null
  exit 1
}

skip()
{
  echo "skipped: $*"
  exit 77
}

namespaces() { printf "$prefix-%s\n" "${hosts[@]}" hub; }

# Whoever is in one of the namespaces was started from here.
inmates()
{
  local name
  for name in $(namespaces); do
    ip netns pids "$name"
  done 2> /dev/null
}
nobody_left() { [ -z "$(inmates)" ]; }

# Whatever happens, nothing of ours stays behind.
clean_up()
{
  local host name pid
  trap '' INT TERM
  if [ -n "$job" ]; then
    kill "$job"
    until_true 5 nobody_left
  fi
  for pid in $(inmates); do
    kill -KILL "$pid"
  done
  wait
  # With one end of a link goes the other, at once.
  for host in "${hosts[@]}"; do
    ip -n "$hub" link del "port$host"
  done
  for name in $(namespaces); do
    ip netns del "$name"
  done
  [ -n "$sessions" ] && rm -rf "$sessions"
} 2> /dev/null

# until_true <seconds> <command>...: look until the command succeeds.
until_true()
{
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -ge "$deadline" ] && return 1
    sleep 0.05
  done
}

# inside <host> <command>...
inside()
{
  local name="$prefix-$1"
  shift
  ip netns exec "$name" "$@"
}

# holds <expression>: of numbers that need not be whole.
holds() { awk "BEGIN { exit !($1) }"; }

# bytes <host> <tx|rx>: what has gone over its link so far.
bytes() { inside "$1" cat "/sys/class/net/eth0/statistics/$2_bytes"; }

#
# The network.
#

# try <command>...: what it says if it fails is the reason to skip the test.
try()
{
  local words
  words="$("$@" 2>&1)" || skip "'$*' says: ${words%%$'\n'*}"
}

build_network()
{
  local host
  for host in "${hosts[@]}" hub; do
    try ip netns add "$prefix-$host"
    try ip -n "$prefix-$host" link set lo up
  done
  try ip -n "$hub" link add bridge type bridge
  try ip -n "$hub" address add "$net.254/24" dev bridge
  try ip -n "$hub" link set bridge up
  for host in "${hosts[@]}"; do
    try ip link add eth0 netns "$prefix-$host" type veth \
      peer name "port$host" netns "$hub"
    try ip -n "$hub" link set "port$host" master bridge up
    try ip -n "$prefix-$host" address add "$net.$host/24" dev eth0
    try ip -n "$prefix-$host" link set eth0 up
  done
  try inside "$victim" cat /sys/class/net/eth0/statistics/tx_bytes
  try inside "$victim" unshare --uts hostname "host$victim"
}

# In the place of ssh: agent <address> <command>...  A host has a name, too, and
# a folder for what Open MPI keeps of a job.
write_agent()
{
  cat > "$sessions/agent" << END
#!/bin/sh
host="\${1##*.}"
shift
export TMPDIR="$sessions/\$host"
mkdir -p "\$TMPDIR"
exec ip netns exec "$prefix-\$host" unshare --uts \\
  sh -c "hostname host\$host && \$*"
END
  chmod +x "$sessions/agent"
}

# Both directions of the link, such that what waits does so for 200 ms at most.
slow_down()
{
  local limit=(root tbf rate "$rate" burst 32kb latency 200ms)
  inside "$victim" tc qdisc add dev eth0 "${limit[@]}" &&
    inside hub tc qdisc add dev "port$victim" "${limit[@]}"
}
speed_up()
{
  inside "$victim" tc qdisc del dev eth0 root
  inside hub tc qdisc del dev "port$victim" root
}

# As if somebody pulled the cable out, and put it back.
link() { ip -n "$hub" link set "port$victim" "$1" || fail "link set $1"; }

#
# A training.
#

# launch <command>...: from the hub, as our job.
launch()
{
  rm -f "$scratch"/{output,result,steps.*}
  timeout -k 5 "$patience" ip netns exec "$hub" env TMPDIR="$sessions" "$@" \
    > "$scratch/output" 2>&1 < /dev/null &
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
  local host list="" each="${2:-1}"
  for host in "${hosts[@]}"; do
    sent[host]="$(bytes "$host" tx)" received[host]="$(bytes "$host" rx)"
    list+="${list:+,}$net.$host:$each"
  done
  launch "$mpiexec" -n "$((each * ${#hosts[@]}))" --host "$list" \
    --mca plm_rsh_agent "$sessions/agent" --mca plm_rsh_no_tree_spawn 1 \
    --mca oob_tcp_if_include "$net.0/24" \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include "$net.0/24" \
    "$program" "$scratch" "$gradients" "$1"
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

for tool in ip tc timeout unshare hostname; do
  command -v "$tool" > /dev/null || skip "there is no '$tool'"
done
"$mpiexec" --version 2>&1 | grep -q "(Open \?\(MPI\|RTE\)) 4" ||
  skip "'$mpiexec' is not Open MPI 4's, for which this is written"
rm -rf "$scratch"
mkdir -p "$scratch"
scratch="$(realpath "$scratch")"
sessions="$(mktemp -d "${TMPDIR:-/tmp}/$prefix.XXXXXX")" || fail "no folder"
build_network
write_agent
sent=() received=()

launch "$program" "$scratch" "$gradients" 0
await "one rank alone"
alone="$(sed -n 's/^loss=//p' "$scratch/result")"
echo "one rank alone: loss $alone"

printf '%-14s %8s %12s %9s %11s %11s %8s\n' "link of host $victim" seconds \
  gradients/s "MB sent" "MB received" "staleness" loss
start "${paces[0]}"
finish "full speed"

if slow_down 2> "$scratch/tc"; then
  start "${paces[1]}"
  began=$SECONDS
  finish "$rate"
  # Up to a second may have been cut off.
  most=$(((SECONDS - began + 1) * rate_bytes))
  [[ "${sent[victim]}" -le "$most" && "${received[victim]}" -le "$most" ]] ||
    fail "${sent[victim]} and ${received[victim]} bytes are too many for $rate"
  speed_up
else
  speed_up 2> /dev/null # If it was one direction only.
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
[ "$topology" = nodes:3x2 ] || fail "topology $topology is not one of 3 hosts"
# To each of two other hosts once at most, and nobody waits for long.
holds "$models_between > 0.1 && $models_between < 2.05" ||
  fail "$models_between models between hosts for each gradient"
holds "$loss < 1.2 * $alone && $loss > 0.9 * $alone" ||
  fail "two ranks each: loss $loss, of one rank alone $alone"
echo "passed"
