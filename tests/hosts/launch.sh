#!/usr/bin/env bash
#
# Runs an MPI program on hosts that are all on this machine (see network.sh),
# and takes them down again.
#
# Usage: launch.sh [option...] <command>...
#
#   --hosts N     2 unless given
#   --each N      ranks on each host (1)
#   --share       messages between ranks of a host go through its memory
#   --rate RATE   what the link of each host carries in each direction, in the
#                 words of tc: 10gbit, 100mbit (no limit)
#   --burst SIZE  what passes at once after a pause (256kb)
#   --seconds N   when it must have ended (300)
#
# MPIEXEC  what starts MPI programs: Open MPI 4's (mpiexec)
#
# Status: of the job, 124 if it took too long, or 77 where there can be no such
# hosts.

set -uo pipefail

count=2 each=1 rate="" burst=256kb seconds=300 transports=tcp,self
while [ $# -gt 0 ]; do
  case "$1" in
    --share) transports+=,vader; shift; continue ;;
    --hosts) count="$2" ;;
    --each) each="$2" ;;
    --rate) rate="$2" ;;
    --burst) burst="$2" ;;
    --seconds) seconds="$2" ;;
    *) break ;;
  esac
  shift 2
done
mpiexec="${MPIEXEC:-mpiexec}"

mapfile -t hosts < <(seq "$count")
prefix="dasgd-$$"
# shellcheck source=tests/hosts/network.sh
. "$(dirname "${BASH_SOURCE[0]}")/network.sh"

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

build_network "$mpiexec"
if [ -n "$rate" ]; then
  for host in "${hosts[@]}"; do
    words="$(slow_down "$host" "$rate" "$burst" 2>&1)" ||
      skip "'$rate': tc says: ${words%%$'\n'*}"
  done
fi

find_launcher "$mpiexec" "$each" "$transports"
timeout -k 5 "$seconds" "${launcher[@]}" "$@" < /dev/null &
job=$!
wait "$job"
status=$?
job=""
[ "$status" -eq 124 ] && echo "not finished after $seconds s" >&2
exit "$status"
