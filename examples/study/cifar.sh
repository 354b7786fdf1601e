#!/usr/bin/env bash
#
# The study on CIFAR-10: all images, a convolutional network, time to a test
# accuracy on two ranks.  cifar.sh --help tells how to call it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
program="${BUILD_DIR:-$root/build}/bindings/mlpack_dasgd_study"
data="${DASGD_CIFAR:-$HOME/.cache/dasgd/cifar-10-batches-bin}"
out="$PWD/cifar-study"
algorithms=dasgd_momentum,allreduce_momentum,local_momentum,adpsgd_momentum,momentum,threads_momentum
network=convolutional seeds=3 seconds=200 accuracy=0.65 slow=none torch=yes
steps=0.1,0.2 tries=1 held=1000 torch_steps=0.01,0.02,0.04 study=yes
figures_only=no virtual= given=no
# Debian's PyTorch is for Debian's Python.
python=/usr/bin/python3
more=()

usage()
{
  cat << END
usage: cifar.sh [option...] [-- option of mlpack_dasgd_study...]

Compares algorithms on CIFAR-10 by the time to a test accuracy, with 50,000 images
(some of them to choose step sizes), and draws accuracy against time.  An
interrupted study goes on where it was.  The defaults take an hour or two on two cores,
on which nothing else should run.

  --out FOLDER        for results and figures (default: ./cifar-study)
  --data_dir FOLDER   with CIFAR-10, as examples/paper/fetch_cifar.sh leaves it
  --network NAME      lenet, that of PyTorch's tutorial, or convolutional, which has
                      three layers of convolutions (default: $network)
  --seeds N           runs of each algorithm (default: $seeds)
  --seconds S         of each run at most (default: $seconds)
  --accuracy A        to reach (default: $accuracy)
  --step_sizes LIST   to try first (default: $steps; a tenth of that with momentum, a
                      hundredth with Adam); a single one is taken without a try
  --slow WHICH        slow ranks, as "0:4" (default: $slow)
  --validation_points N  images held out to choose step sizes with (default: $held)
  --tuning_seeds N    tries of each step that may be the best (default: $tries)
  --algorithms LIST   to compare, by their names in mlpack_dasgd_study
                      (default: $algorithms)
  --virtual LIST      numbers of ranks, as 4,8,16,25: simulate them on virtual time, where
                      a gradient takes 20 ms and the network has 10 Gbit/s; compares
                      dasgd, allreduce, ps and sgd unless --algorithms are given
  --no_torch          without PyTorch's DistributedDataParallel; the network's file is
                      still made by PyTorch, once
  --only_torch        only PyTorch's DistributedDataParallel
  --torch_steps LIST  that it tries (default: $torch_steps); a single one is taken without a
                      try
  --figures           draw what is in FOLDER, run nothing
  --help              print this

BUILD_DIR names the build tree (default: build in the project).
END
}

die() { echo "cifar.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case "$1" in
    --out | --data_dir | --network | --seeds | --seconds | --accuracy | --slow | --algorithms | \
      --virtual | --step_sizes | --tuning_seeds | --validation_points | --torch_steps)
      [ $# -gt 1 ] || die "$1 needs a value"
      case "$1" in
        --out) out="$2" ;;
        --data_dir) data="$2" ;;
        --network) network="$2" ;;
        --seeds) seeds="$2" ;;
        --seconds) seconds="$2" ;;
        --accuracy) accuracy="$2" ;;
        --slow) slow="$2" ;;
        --algorithms) algorithms="$2" given=yes ;;
        --virtual) virtual="$2" ;;
        --step_sizes) steps="$2" ;;
        --tuning_seeds) tries="$2" ;;
        --validation_points) held="$2" ;;
        --torch_steps) torch_steps="$2" ;;
      esac
      shift ;;
    --no_torch) torch=no ;;
    --only_torch) study=no ;;
    --figures) figures_only=yes ;;
    --help | -h) usage; exit 0 ;;
    --) shift; more=("$@"); break ;;
    *) die "'$1' is not known; --help tells what is" ;;
  esac
  shift
done

ranks=2 simulate=()
if [ -n "$virtual" ]; then
  ranks="$virtual" torch=no
  simulate=(--simulate --gradient_seconds 0.02 --bandwidth 10000)
  [ $given = yes ] || algorithms=dasgd,allreduce,ps,sgd
fi
[ $study = yes ] || [ $torch = yes ] ||
  die "--only_torch leaves nothing to run together with --no_torch or --virtual"
case "$torch,$slow" in
  yes,none) ;;
  yes,*,* | yes,[!0]*) die "--slow is '$slow', but with PyTorch only rank 0 can be slow, as by 0:4;" \
    "or give --no_torch" ;;
esac
case "$network" in
  lenet | convolutional) ;;
  *) die "--network is '$network', but must be lenet or convolutional" ;;
esac
name=$(echo "slow_$slow" | tr ':,' '__')
[ "$slow" != none ] || name=equal
[ -z "$virtual" ] || name="virtual_$name"
results="$out/$name"

if [ $figures_only = no ]; then
  [ $study = no ] || { [ -x "$program" ] && [ -x "$(dirname "$program")/dasgd_study_onnx" ]; } ||
    die "there is no $program, or no dasgd_study_onnx beside it; build the project with" \
      "-DDASGD_BUILD_BINDINGS=ON -DDASGD_WITH_ONNX=ON first, or name its build tree by BUILD_DIR"
  [ -e "$data/test_batch.bin" ] ||
    die "CIFAR-10 is not in $data; examples/paper/fetch_cifar.sh fetches it, --data_dir names" \
      "its folder"
  # It also makes the network's file.
  { [ $torch = no ] && [ -e "$out/$network.onnx" ]; } || $python -c 'import torch' 2> /dev/null ||
    die "PyTorch is missing; cmake/dependencies.sh --peers installs it"
  mkdir -p "$out" || die "cannot make the folder $out; name another by --out"
  [ -e "$out/$network.onnx" ] ||
    $python "$here/cifar_ddp.py" --network "$network" --export "$out/$network.onnx"
  if [ $study = yes ]; then
    "$program" --problem onnx --model_file "$out/$network.onnx" --data cifar10 --data_dir "$data" \
      --points 0 --validation_points "$held" --test_points 10000 --batch_size 32 --ranks "$ranks" \
      --slow "$slow" --algorithms "$algorithms" --seeds "$seeds" --tuning_seeds "$tries" \
      --step_sizes "$steps" --target_accuracy "$accuracy" --time_budget "$seconds" \
      ${simulate[@]+"${simulate[@]}"} \
      --results_dir "$results" --report_file "$results.html" ${more[@]+"${more[@]}"} || {
      status=$?
      [ $status -lt 128 ] || echo "The same cifar.sh command goes on with it, and draws the figures."
      exit $status
    }
  fi
  # run_ddp CURVE STEP SEED [option...]: prints when the accuracy was reached.
  run_ddp()
  {
    local curve="$1" step="$2" seed="$3"
    shift 3
    rm -f "$curve.part"
    $python "$here/cifar_ddp.py" --data_dir "$data" --out "$curve.part" --ranks 2 \
      --network "$network" --optimizer momentum --step_size "$step" --seed "$seed" \
      --time_budget "$seconds" --target_accuracy "$accuracy" --validation_points "$held" \
      --slow "$([ "$slow" = none ] && echo 1 || echo "${slow#*:}")" --rows "$out/ddp.csv" "$@" ||
      return
    mv "$curve.part" "$curve"
  }
  if [ $torch = yes ]; then
    # Its own best step, too.
    chosen="$results.ddp_step"
    if [ -e "$chosen" ]; then
      [ "${torch_steps/,/}" != "$torch_steps" ] || [ "$torch_steps" = "$(cat "$chosen")" ] ||
        die "--torch_steps is $torch_steps, but the runs in $out have $(cat "$chosen"); name" \
          "another folder by --out"
      echo "PyTorch DDP: step $(cat "$chosen"), as chosen before"
    elif [ "${torch_steps/,/}" = "$torch_steps" ]; then
      echo "$torch_steps" > "$chosen"
    else
      # Tries that an interrupted study made are not made again.
      torch_tries="$results.ddp_tries"
      touch "$torch_tries"
      for step in ${torch_steps//,/ }; do
        ! grep -q " $step\$" "$torch_tries" || continue
        reached=$(run_ddp "$results.tuning.csv" "$step" 1 --validate)
        echo "PyTorch DDP, step $step: $reached"
        # Last if it is not reached.
        number=$(echo "$reached" | sed -n 's/.*: \([0-9.e+]*\) s$/\1/p')
        echo "${number:-1e9} $step" >> "$torch_tries"
      done
      for step in ${torch_steps//,/ }; do
        grep " $step\$" "$torch_tries"
      done | sort -g | head -n 1 | cut -d ' ' -f 2 > "$chosen.part"
      mv "$chosen.part" "$chosen"
      case ",$torch_steps," in
        ,$(cat "$chosen"),* | *,$(cat "$chosen"),)
          echo "PyTorch DDP: its best step, $(cat "$chosen"), is the first or the last of" \
            "$torch_steps, so another may be better; --torch_steps names them" ;;
      esac
    fi
    # The seed of the tries does not count again, as in the study.
    for seed in $(seq 2 $((seeds + 1))); do
      curve="$results.ddp_$seed.csv"
      [ ! -e "$curve" ] || continue
      reached=$(run_ddp "$curve" "$(cat "$chosen")" "$seed")
      echo "PyTorch DDP, seed $seed: $reached"
    done
  fi
fi
# A figure needs the study's runs, too.
[ -e "$results/runs.csv" ] || [ $study = yes ] || [ $figures_only = yes ] || exit 0
[ -e "$results/runs.csv" ] || die "there is no study in $results; run it without --figures"
title="CIFAR-10" by_ranks=()
[ -z "$virtual" ] || { title="CIFAR-10, virtual time" by_ranks=(--by_ranks); }
python3 "$here/cifar_figure.py" --results "$title" "$results" --out "$results" \
  ${by_ranks[@]+"${by_ranks[@]}"}
