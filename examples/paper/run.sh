#!/usr/bin/env bash
#
# Repeats the experiments of the paper and draws their figures.
# run.sh --help tells how to call it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
program="${DASGD_PAPER:-${BUILD_DIR:-$root/build}/examples/paper/dasgd_paper}"
out="$PWD/paper-results"
runs=4 quick=no anew=no mpi=yes
experiments=()

usage()
{
  cat << END
usage: run.sh [option...] [quadratic] [logistic] [cifar]

Runs the experiments named (quadratic and logistic by default; together about
two minutes), and draws a figure of each.  CIFAR-10 takes far longer: 24 runs of
some thousands of real gradients, 72,000 together.

  --out FOLDER  where CSV files and figures go (default: ./paper-results)
  --runs N      runs for each point (default: $runs)
  --quick       few points only, to see that it works
  --anew        forget rows that are in FOLDER; otherwise a sweep that was
                interrupted goes on where it was
  --no_mpi      on virtual time only
  --figures     draw what is in FOLDER, run nothing
  --help        print this

The program is looked for in build/examples/paper (BUILD_DIR or DASGD_PAPER
name another place); MPIEXEC names another command than mpirun to start it.
END
}

die() { echo "run.sh: $*" >&2; exit 1; }

figures_only=no
while [ $# -gt 0 ]; do
  case "$1" in
    --out) [ $# -gt 1 ] || die "--out needs a folder"; out="$2"; shift ;;
    --runs)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || die "--runs needs a number from 1 on"
      runs="$2"; shift ;;
    --quick) quick=yes ;;
    --anew) anew=yes ;;
    --no_mpi | --no-mpi) mpi=no ;;
    --figures) figures_only=yes ;;
    --help | -h) usage; exit 0 ;;
    quadratic | logistic | cifar) experiments+=("$1") ;;
    *) die "'$1' is not known; --help tells what is" ;;
  esac
  shift
done
[ ${#experiments[@]} -gt 0 ] || experiments=(quadratic logistic)

[ -x "$program" ] || [ $figures_only = yes ] ||
  die "there is no $program; build the project first: cmake -B build && cmake --build build"
command -v gnuplot > /dev/null ||
  die "gnuplot is missing; cmake/dependencies.sh --paper installs it"
mkdir -p "$out" || die "cannot make the folder $out; name another by --out"

# As root, with more ranks than cores, and not pinned.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none
# Each run is a process of its own; threads would only get in each other's way.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

started=$SECONDS
say() { echo "[$((SECONDS - started)) s] $*" >&2; }

# sweep <experiment> <argument>...: the runs, side by side on all cores, each
# into a file of its own; rows are then put together in order.
sweep()
{
  local name="$1" run pids=() failed=no
  shift
  local csv="$out/$name.csv"
  mkdir -p "$out/.parts"
  [ $anew = no ] || rm -f "$csv" "$out/.parts/$name".*.csv
  for ((run = 1; run <= runs; ++run)); do
    # What is known already need not be computed again.
    [ ! -e "$csv" ] || [ -e "$out/.parts/$name.$run.csv" ] ||
      awk -F, -v run="$run" 'NR == 1 || $3 == run' "$csv" \
        > "$out/.parts/$name.$run.csv"
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
      wait -n || failed=yes
    done
    "$program" "$name" --runs 1 --first_run "$run" \
      --out "$out/.parts/$name.$run.csv" "$@" &
    pids+=($!)
  done
  while [ "$(jobs -rp | wc -l)" -gt 0 ]; do
    wait -n || failed=yes
  done
  # Those that ended before anybody waited for them.
  for run in "${pids[@]}"; do
    wait "$run" || failed=yes
  done
  collect "$name"
  [ $failed = no ] || die "a run of $name failed; see above"
}

# collect <experiment>: all rows into one file, in order.
collect()
{
  local name="$1"
  { head -q -n 1 "$out/.parts/$name".*.csv | head -n 1
    tail -q -n +2 "$out/.parts/$name".*.csv | sort -t, -k1,1r -k2,2n -k3,3n
  } > "$out/$name.csv.new"
  mv "$out/$name.csv.new" "$out/$name.csv"
}

# over_mpi <experiment> <ranks> <argument>...: the same over real MPI.
over_mpi()
{
  local name="$1" ranks="$2"
  shift 2
  [ $mpi = yes ] || return 0
  "${MPIEXEC:-mpirun}" -n "$ranks" "$program" "$name" --mpi \
    --out "$out/.parts/$name.mpi.csv" "$@" ||
    die "$name over MPI failed; --no_mpi does without"
  collect "$name"
}

few=()
[ $quick = no ] || few=(--slower 0,1,10)
for name in "${experiments[@]}"; do
  if [ $figures_only = no ]; then
    say "$name: on virtual time"
    case "$name" in
      cifar)
        "$here/fetch_cifar.sh" "" "$(dirname "$program")/unpack_cifar"
        sweep cifar
        for ranks in 1 2; do
          [ "$ranks" -gt "$(nproc)" ] || over_mpi cifar "$ranks" --runs 1
        done ;;
      *)
        sweep "$name" "${few[@]}"
        [ $mpi = no ] || say "$name: over MPI, with shorter gradients"
        # 0.05 s would take hours; what counts is how they compare.
        seconds=3e-4
        [ "$name" = quadratic ] || seconds=3e-5
        [ $quick = no ] || seconds=2e-5
        over_mpi "$name" 2 --runs 1 --slower "$([ $quick = yes ] && echo 1,10 ||
          echo 1,20,100)" --seconds $seconds ;;
    esac
  fi
  [ -e "$out/$name.csv" ] || die "there is no $out/$name.csv to draw"
  gnuplot -e "name='$name'; folder='$out'" "$here/figure.gp" ||
    die "gnuplot cannot draw $name"
  say "$name: $out/$name.csv, $out/$name.svg, $out/$name.png"
done
