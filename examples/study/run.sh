#!/usr/bin/env bash
#
# The part of the study that runs on virtual time, and its figures.
# run.sh --help tells how to call it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
program="${BUILD_DIR:-$root/build}/examples/study/dasgd_virtual_study"
out="$PWD/virtual-study"
figures_only=no
experiments=() more=()

usage()
{
  cat << END
usage: run.sh [option...] [ring] [scaling] [auto]

Compares the algorithms on machines that are only described, and draws figures:

  ring     16 ranks on a ring, one of them 1, 2 and 4 times slower
  scaling  4 to 256 ranks, DASGD by topology, all-reduce, parameter server
  auto     4 to 256 ranks on machines of 1 and 8, one rank slow, other networks
           and a larger model: DASGD with the default topology, all-reduce, local SGD

ring and scaling by default, which takes long on one core; --max_ranks 32 makes it
far quicker.  A study that was interrupted goes on where it was.

  --out FOLDER  where CSV files and figures go (default: ./virtual-study)
  --figures     draw what is in FOLDER, run nothing
  --help        print this

Other options are handed to dasgd_virtual_study, whose own --help tells them.  It is
looked for in build/examples/study (BUILD_DIR names another folder than build).
END
}

die() { echo "run.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case "$1" in
    --out) [ $# -gt 1 ] || die "--out needs a folder"; out="$2"; shift ;;
    --figures) figures_only=yes ;;
    --help | -h) usage; exit 0 ;;
    ring | scaling | auto) experiments+=("$1") ;;
    --*) [ $# -gt 1 ] || die "$1 needs a value"; more+=("$1" "$2"); shift ;;
    *) die "'$1' is not known; --help tells what is" ;;
  esac
  shift
done
[ ${#experiments[@]} -gt 0 ] || experiments=(ring scaling)
[ -x "$program" ] || [ $figures_only = yes ] ||
  die "there is no $program; build the project first: cmake -B build && cmake --build build"
command -v gnuplot > /dev/null ||
  die "gnuplot is missing; cmake/dependencies.sh --tests installs it"
mkdir -p "$out" || die "cannot make the folder $out; name another by --out"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# summary <experiment>: means and standard deviations over seeds, one line for each
# algorithm on each machine: name, ranks, slow, step, runs that reached the target,
# seconds, sd, gradients, gradients per second, idle share, bytes, staleness.
summary()
{
  awk -F, '$1 == "run" || $1 == "tune" {
      machine = ($3 == "" ? $2 : $2 " " $3) "," $4 "," $5
      # What never reached the target is known from the tries only.
      k = machine "," ($1 == "run" ? $6 : "-")
      if (!(k in c)) order[++keys] = k
      c[k]++
      if ($1 == "run") ran[machine] = 1
      if ($8 == 1) { r[k]++; s[k] += $9; q[k] += $9 ^ 2; g[k] += $10 }
      f[k] += $11; i[k] += $12; b[k] += $13; t[k] += $14
    }
    END {
      print "algorithm,ranks,slow,step,reached,seconds,sd,gradients," \
          "gradients_per_second,idle,bytes_per_gradient,staleness"
      for (j = 1; j <= keys; ++j) {
        k = order[j]; n = r[k] > 0 ? r[k] : 1
        machine = substr(k, 1, length(k) - 2)
        if (k ~ /,-$/ && machine in ran) continue
        v = r[k] > 1 ? (q[k] - s[k] ^ 2 / n) / (n - 1) : 0
        time = r[k] > 0 ? sprintf("%.4g,%.2g,%.0f", s[k] / n,
            sqrt(v > 0 ? v : 0), g[k] / n) : ",,"
        printf "%s,%d of %d,%s,%.4g,%.3f,%.0f,%.3g\n", k, r[k], c[k], time,
            f[k] / c[k], i[k] / c[k], b[k] / c[k], t[k] / c[k]
      }
    }' "$out/$1.csv" > "$out/$1_summary.csv"
}

# auto: one machine after the other, and all rows in one file.
machines()
{
  local large="--gradient_seconds 0.01 --parameters 1e6 --patience 4000"
  local fast="--megabytes_per_second 1250" eight="--machine_ranks 8 --min_ranks 16"
  while read -r machine options; do
    # shellcheck disable=SC2086
    [ $figures_only = yes ] || "$program" auto --out "$out/$machine" $options \
      ${more[@]+"${more[@]}"}
    [ -e "$out/$machine/auto.csv" ] || continue
    awk -v machine="$machine" -v first="$([ -s "$out/auto.csv.part" ] || echo 1)" \
      'NR > 1 { print machine "," $0 } NR == 1 && first { print "machine," $0 }' \
      "$out/$machine/auto.csv" >> "$out/auto.csv.part"
  done << END
equal
equal8 $eight
slow --slow 4
slow8 --slow 4 $eight
fast $fast
fast8 $fast $eight
large $fast $large
large8 $fast $large $eight
END
  [ ! -e "$out/auto.csv.part" ] || mv "$out/auto.csv.part" "$out/auto.csv"
}

# Means over seeds of the algorithms side by side.
compare()
{
  awk -F, '$2 == "run" && $5 > 1 {
      k = $1 "," $5
      if (!(k in seen)) { seen[k] = 1; order[++keys] = k }
      n[k, $3]++; s[k, $3] += $10
      if ($3 == "DASGD") { stale[k] += $15; bytes[k] += $16 }
      step[k, $3] = $7
    }
    function mean(k, name) { return n[k, name] ? s[k, name] / n[k, name] : 0 }
    function text(value) { return value ? sprintf("%.4g", value) : "" }
    END {
      print "machine,ranks,dasgd_step,allreduce_step,dasgd_seconds," \
          "allreduce_seconds,ratio,staleness,staleness_of_others," \
          "bytes_between_machines,local_step,local_seconds"
      for (j = 1; j <= keys; ++j) {
        k = order[j]; split(k, part, ",")
        d = mean(k, "DASGD"); o = mean(k, "AllreduceSGD"); l = mean(k, "LocalSGD")
        if (!d || !o) continue
        t = stale[k] / n[k, "DASGD"]
        printf "%s,%s,%s,%.4g,%.4g,%.3f,%.4g,%.3f,%.0f,%s,%s\n", k,
            step[k, "DASGD"], step[k, "AllreduceSGD"], d, o, o / d, t,
            t / (part[2] - 1), bytes[k] / n[k, "DASGD"], step[k, "LocalSGD"],
            text(l)
      }
    }' "$out/auto.csv" > "$out/auto_summary.csv"
}

for name in "${experiments[@]}"; do
  if [ "$name" = auto ]; then
    machines
    compare
    gnuplot -e "name = '$name'; folder = '$out'" "$here/figure.gp"
    echo "$out/$name.svg"
    continue
  fi
  [ $figures_only = yes ] ||
    "$program" "$name" --out "$out" ${more[@]+"${more[@]}"}
  [ -e "$out/$name.csv" ] || die "there is no $out/$name.csv"
  summary "$name"
  gnuplot -e "name = '$name'; folder = '$out'" "$here/figure.gp"
  echo "$out/$name.svg"
done
