# A Slurm cluster on one machine.  A node is a slurmd in namespaces of its own:
# it has its own name, processes and shared memory, so that ranks on two nodes
# can talk by TCP only.  All nodes see the same files.  To be sourced; whoever
# does says what there is to be:
#
#   nodes   how many nodes: node1, node2, ...
#   prefix  of the name of the folder with all files of the cluster
#
# calls build_cluster, and calls clean_up when it exits.  From then on srun,
# sbatch and so on use this cluster, and no other one on this machine.  If
# something runs in the background, job is its process.
#
# Needs root; slurmctld, slurmd, slurm-client and munge of Debian 12 (Slurm
# 22.05), which need not be set up; unshare and setpriv (util-linux).
#
# shellcheck shell=bash disable=SC2154

# Processors that each node claims to have, whatever the machine has.
node_cpus=4
# Seconds that processes have between SIGTERM and SIGKILL.
kill_wait=30
# Seconds from a requeue to the next start.  Slurm allows 5 or more; its
# default is 120.
requeue_wait=5
# Seconds without an answer after which a node is taken for lost.
node_timeout=20
# The folder, and a process for each host: "unshare".
cluster="" job=""
declare -A hosts=()

# For numbers with a point.
export LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# The machine may have no other network.
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
# Each node believes that all cores are its own.
export OPENBLAS_NUM_THREADS=1

skip()
{
  echo "skipped: $*" >&2
  exit 77
}

# until_true <seconds> <command>...: look until the command succeeds.
until_true()
{
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -ge "$deadline" ] && return 1
    sleep 0.1
  done
}

# end_host <name>: with its first process a host loses all others, and only then
# "unshare" ends.
end_host()
{
  local pid="${hosts[$1]}"
  kill -KILL "$(cat "/proc/$pid/task/$pid/children")" || kill -KILL "$pid"
}

job_ended() { ! kill -0 "$job"; }

# Whatever happens, nothing of ours stays behind.
clean_up()
{
  local name
  trap '' INT TERM
  if [ -n "$job" ]; then
    kill "$job"
    until_true 5 job_ended || kill -KILL "$job"
  fi
  for name in "${!hosts[@]}"; do
    end_host "$name"
  done
  wait
  [ -n "$cluster" ] && rm -rf "$cluster"
} 2> /dev/null

# host <name> <command>...: runs it under its own host name, seeing no process
# and no shared memory of others, until this shell ends, in whatever way.  What
# it says goes to a file.
host()
{
  setpriv --pdeathsig KILL \
    unshare --uts --pid --fork --mount-proc --kill-child \
    "$cluster/first" "$@" > "$cluster/$1.log" 2>&1 < /dev/null &
  hosts["$1"]=$!
}

# The first process of a host; it has to wait for orphans, too.
write_first()
{
  cat > "$cluster/first" << 'END'
#!/bin/bash
hostname "$1" && mount -t tmpfs shm /dev/shm || exit
shift
"$@" &
wait
END
  chmod +x "$cluster/first"
}

# excuse <host> <sentence>: it does not do its work.
excuse() { skip "$2; $1 says: $(tail -n 1 "$cluster/$1.log")"; }

# free_ports <number>: prints the first of so many ports in a row that nobody
# listens to; they are below those that Linux gives to clients.
free_ports()
{
  local first port
  for first in $(seq $((20000 + $$ % 500 * 20)) 20 32000); do
    for port in $(seq "$first" $((first + $1 - 1))); do
      (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && continue 2
    done
    echo "$first"
    return
  done
}

munge_answers() { munge --no-input --socket "$cluster/munge.socket"; }
nodes_idle()
{
  [ "$(sinfo --noheader --Node --format %T | grep -c '^idle$')" -eq "$nodes" ]
}

# Programs that would have to be installed.
check_tools()
{
  local tool
  for tool in munged slurmctld slurmd srun unshare setpriv mount hostname; do
    command -v "$tool" > /dev/null || skip "there is no '$tool'"
  done
  [ "$(id -u)" -eq 0 ] || skip "only root can make a cluster"
  unshare --uts --pid --fork --mount-proc hostname node1 2> /dev/null ||
    skip "no namespaces can be made here"
}

build_cluster()
{
  local first i
  # It may be a job of another cluster that does this.
  unset "${!SLURM_@}"
  # In Debian, the daemons are not in every user's path.
  PATH="$PATH:/usr/sbin:/sbin"
  check_tools
  cluster="$(mktemp -d "${TMPDIR:-/tmp}/$prefix.XXXXXX")" ||
    skip "no temporary folder can be made"
  # munged wants that everybody can reach its socket.
  chmod 755 "$cluster"
  mkdir "$cluster"/{tmp,state}
  first="$(free_ports $((nodes + 1)))"
  [ -n "$first" ] || skip "there are no free ports"
  write_settings "$first"
  write_first
  export SLURM_CONF="$cluster/slurm.conf"
  # For what MPI keeps of a job.
  export TMPDIR="$cluster/tmp"

  (umask 077 && head -c 128 /dev/urandom > "$cluster/munge.key")
  host munge munged --foreground --key-file "$cluster/munge.key" \
    --socket "$cluster/munge.socket" --pid-file "$cluster/munge.pid" \
    --log-file "$cluster/munged.log" --seed-file "$cluster/munge.seed"
  until_true 10 munge_answers > /dev/null 2>&1 ||
    excuse munge "munged does not answer"
  host controller slurmctld -D
  for ((i = 1; i <= nodes; ++i)); do
    mkdir "$cluster"/{spool,tmp}".node$i"
    host "node$i" slurmd -D -N "node$i"
  done
  until_true 30 nodes_idle > /dev/null 2>&1 ||
    excuse controller "not all nodes are there after 30 s"
}

# write_settings <port>: the first port, which is that of the controller; those
# of the nodes follow.
write_settings()
{
  cat > "$cluster/slurm.conf" << END
ClusterName=dasgd
SlurmctldHost=controller(127.0.0.1)
SlurmctldPort=$1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket,cred_expire=$requeue_wait
StateSaveLocation=$cluster/state
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmdSpoolDir=$cluster/spool.%n
# Each node keeps the sockets of PMIx here.
TmpFS=$cluster/tmp.%n
# No control groups, which a container may not have.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
# At once, not once in a minute.
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=$kill_wait
SlurmdTimeout=$node_timeout
InactiveLimit=0
NodeName=node[1-$nodes] NodeHostname=localhost NodeAddr=127.0.0.1 \\
  Port=[$(($1 + 1))-$(($1 + nodes))] CPUs=$node_cpus State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  # With the other algorithms of Slurm 22.05 a rank may leave MPI_Init before all
  # are ready, and in 14 of 300 jobs one died of its message.
  echo PMIxCollFence=tree > "$cluster/mpi.conf"
}
