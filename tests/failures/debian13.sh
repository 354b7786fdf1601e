#!/usr/bin/env bash
#
# What needs Open MPI 5 or a newer compiler than this machine has: the tests of
# this folder, in a root of Debian 13.
#
# Usage: debian13.sh <scratch folder> [rounds of loss.sh] [seed]
#
# DEBIAN13_ROOT  a root of Debian 13 that there is already; packages that are
#                missing are installed into it.  Otherwise one is made in the
#                scratch folder, which takes some minutes and 2 GB.
#
# Needs root, unshare, and debootstrap if there is no root yet; without them it
# is skipped (status 77).

set -uo pipefail

skip()
{
  echo "skipped: $*"
  exit 77
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
[ "$(id -u)" = 0 ] || skip "it takes root to make a root of Debian 13"
command -v unshare > /dev/null || skip "there is no unshare (util-linux)"

# In a namespace of its own: mounts and processes are gone with it, however it
# ends.
if [ "${1:-}" != --inside ]; then
  mkdir -p "$1" || exit 1
  exec unshare --mount --propagation private --pid --fork --kill-child \
    --mount-proc "$0" --inside "$(readlink -f "$1")" "${@:2}"
fi
shift
scratch="$1" rounds="${2:-200}" seed="${3:-1}"
root="${DEBIAN13_ROOT:-$scratch/debian13}"
project="$(cd "$here/../.." && pwd)"

# Where this machine's own packages come from.
archive()
{
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -v security | head -n 1
}

if ! [ -e "$root/etc/debian_version" ]; then
  command -v debootstrap > /dev/null || skip "there is no debootstrap"
  debootstrap --variant=minbase trixie "$root" "$(archive)" \
    > "$scratch/debootstrap.txt" 2>&1 || {
    tail -n 5 "$scratch/debootstrap.txt"
    skip "debootstrap cannot make a root here; see $scratch/debootstrap.txt"
  }
fi

mkdir -p "$root/mnt/project" "$root/mnt/scratch"
# An empty /tmp: mpirun names its folder there by its process identifier, which
# comes again in a new namespace.
mount -t tmpfs tmpfs "$root/tmp" && mount -t proc proc "$root/proc" &&
  mount --rbind /sys "$root/sys" && mount --bind /dev "$root/dev" &&
  mount -t tmpfs tmpfs "$root/dev/shm" &&
  mount -t tmpfs tmpfs "$root/mnt/scratch" &&
  mount --bind "$project" "$root/mnt/project" &&
  mount -o remount,bind,ro "$root/mnt/project" || skip "it cannot mount"

inside() { chroot "$root" env HOME=/root LC_ALL=C.UTF-8 "$@"; }

if ! inside sh -c 'command -v mpicxx && test -e /usr/include/ensmallen.hpp &&
  test -e /usr/include/cereal/cereal.hpp' > /dev/null; then
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  inside sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update &&
    apt-get install -y --no-install-recommends g++ gdb procps libopenmpi-dev \
    openmpi-bin libarmadillo-dev libopenblas-dev libcereal-dev \
    libensmallen-dev' > "$scratch/packages.txt" 2>&1 || {
    tail -n 5 "$scratch/packages.txt"
    skip "packages cannot be installed; see $scratch/packages.txt"
  }
fi
inside sh -c 'g++ --version | head -n 1; mpirun --version | head -n 1'

# All ranks are on this machine; without a network Open MPI is noisy about TCP.
export OMPI_MCA_btl=^tcp
status=0
# build <source> <output> <argument>...
build()
{
  inside mpicxx -std=c++17 -O1 -g -Wall -Wextra -Werror -I/mnt/project/src \
    -I/mnt/project/bindings "/mnt/project/$1" -o "/mnt/scratch/$2" "${@:3}" ||
    status=1
}
ranks=("$project"/bindings/{launcher,ranks}/*.cpp
  "$project/bindings/terminal/terminal.cpp")
build tests/failures/loss.cpp loss "${ranks[@]/#"$project"//mnt/project}" \
  -larmadillo -lopenblas
build tests/failures/program.cpp program -larmadillo -lopenblas
# The part of the programs that needs no mlpack: newer compilers see more.
build bindings/training/optimize.cpp optimize.o -c
build bindings/data/labels.cpp labels.o -c
[ "$status" = 0 ] || exit 1

for name in success exception caught exit exit-within exit-within-all \
  exit-within-alone fork apart kill-first kill-last; do
  inside /mnt/project/tests/failures/run.sh "$name" /mnt/scratch/program \
    "/mnt/scratch/$name" || status=1
done
inside /mnt/project/tests/failures/loss.sh /mnt/scratch/loss \
  /mnt/scratch/loss.d "$rounds" "$seed" || status=1
cp "$root"/mnt/scratch/*.stacks.* "$scratch" 2> /dev/null
exit "$status"
