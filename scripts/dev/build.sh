# SPDX-License-Identifier: Apache-2.0
# Configuring and building a preset.
# shellcheck shell=bash

# need_of_preset PRESET: installs what it needs beside the group build, and ends ./dev without.
need_of_preset() {
  case $1 in
    asan-ubsan) want sanitizers ;;
    aarch64) need aarch64 ;;
    windows-*) need windows ;;
    linux-musl) need musl ;;
  esac
  if [[ $1 == windows-clang || $1 == linux-musl ]]; then
    want_zig || fail "$1 needs ziglang from PyPI, which could not be installed"
  fi
}

# Whether a clang program is there with the libraries of its sanitizers.
has_sanitizers() { echo 'int main() {}' | "$1" -fsanitize=address -x c++ - -o /dev/null 2>/dev/null; }

# choose_compiler PRESET: prints what to set for the preset's first configuration. asan-ubsan takes
# clang, which compiles it in half of gcc's time, unless the caller chose.
choose_compiler() {
  local clangxx
  if [[ $1 == asan-ubsan && -z ${CXX:-} ]] && clangxx=$(find_clang clang++) &&
    has_sanitizers "$clangxx"; then
    echo "CC=${clangxx/clang++/clang}" "CXX=$clangxx"
  fi
}

# Whether windows-clang compiles the corbel command, a tenth of its work.
TOOLS=ON

# build_preset PRESET [cmake --build arguments]; returns non-zero, having shown why, when it fails.
build_preset() {
  local preset=$1 options=("-DCORBEL_FULL_TESTS=${FULL_TESTS:-OFF}"
    "-DCORBEL_TESTS_SINGLY=${TESTS_SINGLY:-OFF}")
  shift
  [[ $preset == windows-clang ]] && options+=("-DCORBEL_BUILD_TOOLS=$TOOLS")
  # shellcheck disable=SC2046
  step "configure $preset" env $(choose_compiler "$preset") cmake --preset "$preset" \
    "${options[@]}" || return 1
  step "build $preset" cmake --build --preset "$preset" -j "$JOBS" "$@" || return 1
}
