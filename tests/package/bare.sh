#!/usr/bin/env bash
#
# Installs the package of programs in a system that has nothing else, and trains
# there on two ranks with data as people have it.  Needs root, debootstrap and
# the archive that this system's own packages come from; takes some minutes.
#
# Usage: bare.sh <dasgd_*.deb> <scratch folder>

set -euo pipefail

package="$1" root="$2/root"

fail()
{
  echo "FAILED: $*"
  exit 1
}

rm -rf "$2"
mkdir -p "$2"
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
archive="$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' \
  'Created-By: Packages' | sed -n "s/ $suite main\$//p" | head -n 1)"
[ -n "$archive" ] || fail "apt knows no archive of $suite"
debootstrap --variant=minbase "$suite" "$root" "$archive" > "$2/log" 2>&1 ||
  { tail "$2/log"; fail "debootstrap"; }
cp "$package" "$root/dasgd.deb"
cat > "$root/try.sh" <<'TRY'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends /dasgd.deb
cd /tmp
awk 'BEGIN {
  srand(1); print "length,width,kind";
  for (i = 0; i < 600; ++i)
    print rand() + i % 2 * 2 "," rand() "," (i % 2 ? "long" : "short");
}' > points.csv
for ranks in 1 2; do
  mlpack_dasgd_softmax_regression --ranks $ranks --standardize \
    --step_size 0.1 --training_file points.csv --output_model_file model.bin
  mlpack_dasgd_softmax_regression --input_model_file model.bin \
    --test_file points.csv --predictions_file kinds.csv | tee out
  grep -q 'test accuracy 100.00 %' out
  [ "$(sort kinds.csv | uniq -c | tr -s ' \n' ' ')" = ' 300 long 300 short ' ]
done
mlpack_dasgd_ffn --help > /dev/null
dasgd_history --help > /dev/null
TRY
mount --bind /proc "$root/proc"
trap 'umount "$root/proc"' EXIT
chroot "$root" bash /try.sh > "$2/try.log" 2>&1 ||
  { tail -n 30 "$2/try.log"; fail "in $root"; }
echo "passed"
