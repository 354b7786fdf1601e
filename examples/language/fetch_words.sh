#!/usr/bin/env bash
#
# Puts Debian's word lists into a folder, one file for each language.
# fetch_words.sh --help tells how to call it.
#
# dasgd is free software under the 3-clause BSD license; see LICENSE.
set -euo pipefail

# A package, the list in its usr/share/dict, and the language.
lists='wpolish polish polish
wukrainian ukrainian ukrainian
wesperanto esperanto esperanto
wnorwegian bokmaal bokmaal
wnorwegian nynorsk nynorsk
wbulgarian bulgarian bulgarian
wcatalan catalan catalan
wgalician-minimos galician-minimos galician
wportuguese portuguese portuguese
wbrazilian brazilian brazilian
wfaroese faroese faroese
wdutch dutch dutch
wngerman ngerman german
wbritish-huge british-english-huge english
wfrench french french
wdanish danish danish
wswedish swedish swedish
witalian italian italian
wspanish spanish spanish
wmanx manx manx
wirish irish irish
wgaelic gaelic gaelic'

# Packages, what is unpacked of them, and the lists.
needed_mb=450
# Seconds for one package.
patience=300

usage()
{
  cat << END_OF_USAGE
usage: fetch_words.sh [FOLDER]

Puts word lists of Debian into FOLDER (default: \$HOME/.cache/dasgd/words), one
file <language>.txt for each language, in UTF-8 and with a word on each line:
$(wc -l <<< "$lists") languages, 13.8 million words, 190 MB in Debian 12.  Fetches 26 MB of packages
and installs none.  Lists that are there already are kept; packages that this
release does not have are left out.

Needs apt-get, dpkg-deb and iconv, but no rights of root.
END_OF_USAGE
}

say() { printf '%s\n' "$*"; }

# fail WHAT [REMEDY]
fail()
{
  printf 'fetch_words.sh: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  remedy: %s\n' "$2" >&2
  exit 1
}

has() { command -v "$1" > /dev/null 2>&1; }

free_mb() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }'; }

# fetch PACKAGE: unpacks it in $work/PACKAGE.  A failure is told and returned.
fetch()
{
  local package=$1 debs
  if [ -d "$work/$package" ]; then return 0; fi
  if [ -z "$(apt-cache --quiet=2 show "$package" 2> /dev/null)" ]; then
    say "  this release has no package $package, or its package lists are not" \
      "there (apt-get update)"
    return 1
  fi
  if ! (cd "$work" && timeout "$patience" apt-get -q=2 -o Acquire::Retries=3 \
      download "$package" > apt.log 2>&1); then
    grep -v '^W:' "$work/apt.log" | tail -n 3 | sed 's/^/  /' >&2
    say "  apt-get download $package failed, or took more than $patience s"
    return 1
  fi
  debs=("$work/$package"_*.deb)
  mkdir "$work/unpacked"
  if ! dpkg-deb -x "${debs[0]}" "$work/unpacked"; then
    rm -rf "$work/unpacked"
    say "  cannot unpack $package"
    return 1
  fi
  rm -f "${debs[@]}"
  mv "$work/unpacked" "$work/$package"
}

# convert FROM TO: in UTF-8 and without empty lines.  Some lists are in Latin-1,
# in which every byte is a letter, so UTF-8 is tried first.
convert()
{
  local encoding=UTF-8
  iconv -f UTF-8 -t UTF-8 "$1" > /dev/null 2>&1 || encoding=ISO-8859-1
  iconv -f "$encoding" -t UTF-8 "$1" | LC_ALL=C sed 's/\r$//; /^$/d' > "$2"
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
if [ $# -gt 1 ]; then
  usage >&2
  exit 2
fi

folder=${1:-}
if [ -z "$folder" ]; then
  [ -n "${HOME:-}" ] || fail "neither FOLDER nor HOME is set" \
    "give the folder: fetch_words.sh FOLDER"
  folder=$HOME/.cache/dasgd/words
fi
for program in apt-get apt-cache dpkg-deb iconv timeout; do
  has "$program" || fail "$program is missing" \
    "run this on Debian or Ubuntu, or put lists of your own into $folder: <language>.txt, one word on each line"
done
mkdir -p "$folder" || fail "cannot create $folder" "give another FOLDER"
folder=$(cd "$folder" && pwd)

# On the same disk, so that each list appears in the folder as a whole.
work=$(mktemp -d "$folder/.fetch.XXXXXX") || fail "cannot write to $folder" \
  "give another FOLDER"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

missing=0 words=0 languages=0
while read -r package list language; do
  file=$folder/$language.txt
  if [ ! -s "$file" ]; then
    if [ "$(free_mb "$folder")" -lt "$needed_mb" ]; then
      fail "$(free_mb "$folder") MB are free in $folder, but $needed_mb are needed" \
        "make room there, or give another FOLDER"
    fi
    if ! fetch "$package" < /dev/null; then
      missing=$((missing + 1))
      continue
    fi
    if [ ! -f "$work/$package/usr/share/dict/$list" ]; then
      say "  $package has no list $list"
      missing=$((missing + 1))
      continue
    fi
    convert "$work/$package/usr/share/dict/$list" "$work/list" ||
      fail "cannot write $work/list" "make room if the disk is full"
    mv "$work/list" "$file"
  fi
  count=$(wc -l < "$file")
  printf '%9d  %s\n' "$count" "$language"
  words=$((words + count)) languages=$((languages + 1))
done <<< "$lists"

printf '%9d  words of %d languages in %s\n' "$words" "$languages" "$folder"
[ "$missing" -eq 0 ] || say "left out: $missing"
[ "$languages" -ge 2 ] || fail "two languages are needed at least" \
  "run apt-get update as root and check the network, then run this again"
