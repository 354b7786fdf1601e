#!/usr/bin/env bash
#
# Trains a convolutional network on Fashion-MNIST, with one rank and with two,
# and compares.  Installs what is missing and builds what it needs before; safe
# to run again.
#
# BUILD_DIR  where to build (build/ in the project)

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="${BUILD_DIR:-$root/build}"
# Not what OMP_NUM_THREADS says, which nproc would answer.
cores="$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)"
started=$SECONDS

logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT

step() { printf '\n== %s\n' "$*"; }

# quietly <log> <command>...: shows what a command said only if it fails.
quietly()
{
  if ! "${@:2}" > "$logs/$1" 2>&1; then
    cat "$logs/$1" >&2
    echo "quickstart: '${*:2}' failed; see above." >&2
    exit 1
  fi
}

#
# 1. Install and build.
#
step "Looking for what is needed (the first time this installs packages)"
"$root/cmake/dependencies.sh" --quickstart

step "Building the program: examples/cnn.cpp (the first time about a minute)"
options=(-DDASGD_BUILD_EXAMPLES=ON)
if [ ! -e "$build/Makefile" ] && [ ! -e "$build/build.ninja" ]; then
  # A build tree that exists keeps what it was made with; this one is new.
  options+=(-DCMAKE_BUILD_TYPE=Release -DDASGD_BUILD_TESTS=OFF)
fi
quietly configure cmake -S "$root" -B "$build" "${options[@]}"
quietly build cmake --build "$build" --target cnn --parallel "$cores"
program="$build/examples/cnn"
if ! grep -q '^CMAKE_BUILD_TYPE:[^=]*=Release$' "$build/CMakeCache.txt"; then
  echo "Note: $build is not a Release build, so the figures below are too low."
fi

#
# 2. Run it.
#

# Each rank uses one core, so that two ranks mean twice the cores.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Open MPI 4 and 5: two ranks may share a physical core, as they have to where
# the machine's two CPUs are one core's two threads; and root may run them.
# Other MPI libraries do not look at these.
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Shows the progress bar alone: on a terminal as it moves, elsewhere now and
# then.  What follows it goes to the log only.
show_progress()
{
  local text="" last=-1
  while IFS= read -r -d $'\r' text; do
    if [ -t 1 ]; then
      printf '%s\r' "$text"
    elif [[ "$text" =~ ([0-9]+)% ]] &&
        [ $((BASH_REMATCH[1] / 20)) -ne $last ]; then
      last=$((BASH_REMATCH[1] / 20))
      printf '%s\n' "$text"
    fi
  done
  printf '%s\n' "${text%%$'\n'*}"
}

# run <log> <command>...
run()
{
  echo "\$ ${*:2}"
  if ! "${@:2}" < /dev/null 2>&1 | tee "$logs/$1" | show_progress; then
    tr '\r' '\n' < "$logs/$1" | tail -n 40 >&2
    echo "quickstart: '${*:2}' failed; see above." >&2
    exit 1
  fi
}

step "Training on 60,000 images with one rank: the program as it is"
run one "$program" --hash
step "The same with two ranks"
run two mpirun -n 2 "$program" --hash

#
# 3. Compare.
#

# figure <log> <name>
figure()
{
  tr '\r' '\n' < "$logs/$1" | sed -n "s/^$2  *\([0-9.]*\).*/\1/p"
}
row() { printf '  %-28s%10s%12s\n' "$@"; }

step "Result"
row "" "1 rank" "2 ranks"
row "test accuracy, %" "$(figure one 'test accuracy')" \
  "$(figure two 'test accuracy')"
row "seconds of training" "$(figure one 'seconds of training')" \
  "$(figure two 'seconds of training')"
row "gradients per second" "$(figure one 'gradients per second')" \
  "$(figure two 'gradients per second')"
speedup="$(awk "BEGIN { printf \"%.2f\",
  $(figure one 'seconds of training') / $(figure two 'seconds of training') }")"
row "speed-up" "" "$speedup"
echo
echo "Both runs visit each image once.  Seconds are those inside Optimize();"
echo "reading the data and testing the model are not counted."
if [ "$cores" -lt 2 ]; then
  echo "This machine has one core, so two ranks cannot be faster."
elif awk "BEGIN { exit !($speedup < 1.5) }"; then
  echo "Two ranks on two idle cores are almost twice as fast as one; were other"
  echo "programs running?"
fi

hashes="$(sed -n 's/^rank [0-9]* model //p' "$logs/two")"
if [ "$(wc -l <<< "$hashes")" -ne 2 ] ||
    [ "$(sort -u <<< "$hashes" | wc -l)" -ne 1 ]; then
  echo "quickstart: the ranks do not hold the same model; please report it." >&2
  exit 1
fi
echo "The replicas agree: both ranks hold model $(head -n 1 <<< "$hashes");" \
  "before the last copy"
echo "they$(sed -n 's/^replicas\( differed by at most [^ ]*\).*/\1/p' \
  "$logs/two"), which is rounding."

cat << END

All this took $((SECONDS - started)) seconds.  Read on:
  examples/cnn.cpp   this program: mlpack's, with the optimizer's type changed
  README.md          how to use dasgd in your own program
  doc/bindings.md    the same on the command line, without C++
  doc/               the optimizer, topologies, models, running on a cluster
END
