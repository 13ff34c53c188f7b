# SPDX-License-Identifier: Apache-2.0
# What each group of commands needs of the system, and how it gets there: from apt, as root or
# through sudo; zig, and on a system where they are too old cmake and clang-format, from PyPI.
# Nothing is asked of the network when nothing is missing.
# shellcheck shell=bash

VENV="$ROOT/build/.venv"

distribution() { (. /etc/os-release 2>/dev/null && echo "${ID:-}-${VERSION_ID:-}"); }

# Names of the packages of a group, one a line.
packages_of() {
  case $1 in
    build)
      printf '%s\n' g++ binutils ninja-build libgtest-dev pkg-config python3 libcli11-dev \
        libfmt-dev nlohmann-json3-dev libdw-dev zlib1g-dev git ccache
      case $(distribution) in
        ubuntu-22.04) printf '%s\n' g++-12 python3-venv ;; # its gcc is 11, its cmake 3.22
        *) echo cmake ;;
      esac
      ;;
    check)
      echo abigail-tools
      case $(distribution) in
        ubuntu-22.04) ;; # has no clang as new as 16; clang-format comes from PyPI
        *) printf '%s\n' clang-19 clang-format-19 ;;
      esac
      ;;
    sanitizers) # gcc has its own
      case $(distribution) in
        ubuntu-22.04) ;; # as above
        *) printf '%s\n' clang-19 libclang-rt-19-dev ;;
      esac
      ;;
    aarch64)
      case $(distribution) in
        ubuntu-22.04) printf '%s\n' g++-12-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user ;;
        *) printf '%s\n' g++-aarch64-linux-gnu qemu-user ;;
      esac
      ;;
    windows) # and zig, see want_zig
      printf '%s\n' g++-mingw-w64-x86-64-posix googletest wine wine64 python3-venv
      ;;
    musl) # and zig
      printf '%s\n' googletest python3-venv
      ;;
    programs)
      list_of test/programs/packages.txt
      case $(distribution) in
        debian-12) printf '%s\n' libopenvdb10.0 libimath-dev ;; # the version that the test knows
      esac
      ;;
    full_programs) list_of test/tbb12/programs/packages_full.txt ;;
    demo) list_of tools/demo/packages.txt ;;
    bench)
      list_of bench/packages.txt
      if ! command -v cargo >/dev/null; then # a newer one than the distribution's is welcome
        case $(distribution) in
          debian-12) echo cargo-web ;; # its plain cargo is too old for today's registry
          *) echo cargo ;;
        esac
      fi
      case $(distribution) in
        ubuntu-22.04) ;; # has no clang as new as 19
        *) printf '%s\n' clang-19 libclang-rt-19-dev libomp-19-dev ;;
      esac
      ;;
    *) fail "no such group of packages: $1" ;;
  esac
}

list_of() {
  if [[ -f $1 ]]; then
    sed 's/#.*//' "$1" | tr -s ' \t' '\n\n' | sed '/^$/d'
  fi
}

missing_of() {
  local name
  for name in "$@"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
      echo "$name"
    fi
  done
}

# apt_install apt|again PACKAGE...: runs apt-get as root; again: with the lists as they are. Services
# that a package brings are not started: the tests start their own.
apt_install() {
  local script='
    set -e
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
      printf "#!/bin/sh\nexit 101\n" >$policy
      chmod +x $policy
      trap "rm -f $policy" EXIT
    fi
    [ "$0" = again ] || apt-get -o DPkg::Lock::Timeout=600 update -q ||
      echo "apt-get update failed; going on with the lists that are there"
    apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "$@"'
  if [[ $(id -u) -eq 0 ]]; then
    bash -c "$script" "$@"
  else
    sudo bash -c "$script" "$@"
  fi
}

may_become_root() {
  [[ $(id -u) -eq 0 ]] ||
    { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; }
}

# Packages that save time and no more: ./dev goes on without them.
OPTIONAL=(ccache)

is_optional() { [[ " ${OPTIONAL[*]} " == *" $1 "* ]]; }

# need GROUP...: installs what is missing, and ends ./dev when that cannot be done.
need() {
  local group name missing=() optional=()
  for group in "$@"; do
    for name in $(missing_of $(packages_of "$group")); do
      if is_optional "$name"; then
        optional+=("$name")
      else
        missing+=("$name")
      fi
    done
  done
  # Tried once in a checkout, and never worth a question for a password.
  if [[ ${#optional[@]} -gt 0 && ! -e $LOGS/unavailable ]] && command -v apt-get >/dev/null &&
    { [[ $(id -u) -eq 0 ]] || sudo -n true 2>/dev/null; }; then
    if ! STEP_TAIL=3 step "install ${optional[*]}" apt_install apt "${optional[@]}"; then
      say "  Continuing without ${optional[*]}."
      : >"$LOGS/unavailable"
    fi
  fi
  if [[ ${#missing[@]} -gt 0 ]]; then
    command -v apt-get >/dev/null || fail "this is no Debian or Ubuntu; install by hand: ${missing[*]}"
    if [[ $(id -u) -ne 0 ]]; then
      if ! may_become_root; then
        say "Some packages are missing and this script is not root. Run this once, then try again:"
        fail "  apt-get update && apt-get install -y ${missing[*]}"
      fi
      sudo -v || fail "sudo refused; install by hand: ${missing[*]}"
    fi
    heading "Installing: ${missing[*]}"
    step "install $*" apt_install apt "${missing[@]}" || return 1
  fi
  choose_tools
}

# want GROUP: as need, but goes on without: the tests that need it skip themselves and say so.
# apt-get installs all or none, so where that fails each is tried alone.
want() {
  if ! (need "$@"); then
    local name lacking=()
    for name in $(missing_of $(packages_of "$1")); do
      if ! command -v apt-get >/dev/null || ! may_become_root ||
        ! STEP_TAIL=3 step "install $name alone" apt_install again "$name"; then
        lacking+=("$name")
      fi
    done
    if [[ ${#lacking[@]} -gt 0 ]]; then
      say "  Going on without ${lacking[*]}; what needs them is skipped."
    fi
  fi
  choose_tools
}

# unpack PACKAGE: unpacks a package into build/unpacked, because one that it depends on must not be
# installed. Goes on without: the tests that need it skip themselves.
unpack() {
  local folder="$ROOT/build/unpacked/$1" draft="$ROOT/build/unpacked/.$1"
  if [[ -d $folder ]] || ! command -v apt-get >/dev/null; then
    return 0
  fi
  rm -rf "$draft"
  mkdir -p "$draft"
  if (cd "$draft" && STEP_TAIL=3 step "download $1" apt-get download -q "$1" &&
    dpkg -x "$1"_*.deb . && rm "$1"_*.deb); then
    mv "$draft" "$folder"
  else
    rm -rf "$draft"
  fi
}

# What the tests of real programs need.
want_programs() {
  want programs
  # OpenVDB's headers depend on oneTBB's, which would hide a header or a CMake package that Corbel
  # lacks. The other package has oneTBB's example programs.
  if [[ $(distribution) == debian-12 ]]; then
    unpack libopenvdb-dev
    unpack libtbb-doc
  fi
}

# want_zig: zig's clang with its libraries for Windows and musl, from PyPI, outside the clone: zig
# compiles these libraries for minutes once, and again when it stands in another folder. Returns
# non-zero where it is not to be had.
want_zig() {
  local wanted=ziglang==0.17.1 folder=${XDG_CACHE_HOME:-${HOME:-$ROOT/build}/.cache}/corbel
  folder+=/${wanted/==/-}
  if [[ ! -x $folder/ziglang/zig ]]; then
    want_pip && STEP_TAIL=1 step "install $wanted into $folder" \
      "$VENV/bin/pip" install --quiet --target "$folder.$$" "$wanted" &&
      mv -T "$folder.$$" "$folder" || return 1
  fi
  export CORBEL_ZIG=$folder/ziglang/zig
}

version_at_least() { # <have> <want>
  [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

# want_pip: pip in build/.venv, which Debian's python3 does not bring. Returns non-zero where it is not
# to be had.
want_pip() { [[ -x $VENV/bin/pip ]] || python3 -m venv "$VENV"; }

# pip_tool NAME REQUIREMENT: a program that PyPI ships, where the system has none, or none new enough.
pip_tool() {
  if [[ ! -x $VENV/bin/$1 ]]; then
    want_pip || return 1
    step "install $2 into build/.venv" "$VENV/bin/pip" install --quiet "$2" || return 1
  fi
}

# Compiles through ccache where it is installed. CMake takes the launchers for build folders that it
# configures for the first time; CCACHE_DISABLE=1 turns the cache off, as always.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  # A clone in another folder hits, too: paths below this one are hashed relative to the build
  # folder, and the build folder itself is not.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR-$ROOT} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
  # What ccache asks for with precompiled headers.
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros,include_file_mtime,include_file_ctime}
  export CCACHE_PCH_EXTSUM=${CCACHE_PCH_EXTSUM-1}
}

# Sets PATH, CC and CXX so that cmake >= 3.25 and gcc >= 12 are found, unless the caller chose.
choose_tools() {
  local have major version
  use_ccache
  [[ -d $VENV/bin && $PATH != "$VENV/bin:"* ]] && export PATH="$VENV/bin:$PATH"
  have=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
  if [[ -z $have ]] || ! version_at_least "$have" 3.25; then
    if command -v python3 >/dev/null; then
      pip_tool cmake 'cmake>=3.25,<4' || fail "cmake >= 3.25 is needed, found '${have:-none}'"
      export PATH="$VENV/bin:$PATH"
    fi
  fi
  if [[ -z ${CXX:-} ]]; then
    major=$(g++ -dumpversion 2>/dev/null | cut -d. -f1)
    if [[ -n $major && $major -lt 12 ]]; then
      for version in 14 13 12; do
        if command -v "g++-$version" >/dev/null; then
          export CC="gcc-$version" CXX="g++-$version"
          return
        fi
      done
      fail "gcc >= 12 is needed, found $major; set CC and CXX"
    fi
  fi
}
