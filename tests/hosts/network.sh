# Hosts on one machine: network namespaces with addresses and names of their
# own, joined by a bridge in one more, from where jobs are started.  They see the
# same memory: a program must not share it (SharedMemory() = false).  To be
# sourced; whoever does says which hosts there are:
#
#   hosts   the numbers of the hosts: 1 to 200, each once
#   prefix  of the names of the namespaces
#
# and calls clean_up when it exits.  Needs root, and ip and tc (iproute2).
#
# shellcheck shell=bash disable=SC2154

# Host i has the address $net.i.
net=10.77.0
hub="$prefix-hub"
sessions="" job=""

# For numbers with a point.
export LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
# A rank that waits lets others have the core, unless each has one.
export OMPI_MCA_mpi_yield_when_idle="${OMPI_MCA_mpi_yield_when_idle:-1}"
# Each host believes that all cores are its own.
export OPENBLAS_NUM_THREADS=1

skip()
{
  echo "skipped: $*" >&2
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

# try <command>...: what it says if it fails is the reason to skip.
try()
{
  local words
  words="$("$@" 2>&1)" || skip "'$*' says: ${words%%$'\n'*}"
}

# build_network <mpiexec>: hosts, links, and what starts processes on them.
build_network()
{
  local host tool
  for tool in ip tc timeout unshare hostname; do
    command -v "$tool" > /dev/null || skip "there is no '$tool'"
  done
  "$1" --version 2>&1 | grep -q "(Open \?\(MPI\|RTE\)) 4" ||
    skip "'$1' is not Open MPI 4's, for which this is written"
  sessions="$(mktemp -d "${TMPDIR:-/tmp}/$prefix.XXXXXX")" ||
    skip "no temporary folder can be made"
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
  try inside "${hosts[-1]}" cat /sys/class/net/eth0/statistics/tx_bytes
  try inside "${hosts[-1]}" unshare --uts hostname "host${hosts[-1]}"
  write_agent
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

# slow_down <host> <rate> [<burst>]: both directions of its link, such that what
# waits does so for 200 ms at most.
slow_down()
{
  local limit=(root tbf rate "$2" burst "${3:-32kb}" latency 200ms)
  inside "$1" tc qdisc add dev eth0 "${limit[@]}" &&
    inside hub tc qdisc add dev "port$1" "${limit[@]}"
}
speed_up()
{
  inside "$1" tc qdisc del dev eth0 root
  inside hub tc qdisc del dev "port$1" root
}

# find_launcher <mpiexec> <ranks on each host> [<transports>]: the launcher, to be
# followed by a program, starts it from the hub; unless others are given, ranks
# talk by TCP and nothing else.
find_launcher()
{
  local host list=""
  for host in "${hosts[@]}"; do
    list+="${list:+,}$net.$host:$2"
  done
  launcher=(ip netns exec "$hub" env TMPDIR="$sessions"
    "$1" -n "$(($2 * ${#hosts[@]}))" --host "$list"
    --mca plm_rsh_agent "$sessions/agent" --mca plm_rsh_no_tree_spawn 1
    --mca oob_tcp_if_include "$net.0/24"
    --mca pml ob1 --mca btl "${3:-tcp,self}" --mca btl_tcp_if_include "$net.0/24")
}
