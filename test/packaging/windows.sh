#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build for Windows to a prefix, moves the prefix, and builds small projects against it with
# the build's toolchain and runs them in Wine. Needs CORBEL_BUILD_DIR, CORBEL_SOURCE_DIR,
# CORBEL_TOOLCHAIN (a CMake file), CORBEL_ZIG (the command that starts zig, if that is the compiler)
# CXX, the compiler, and CORBEL_COMPILER_DLLS (folders, separated by colons, or nothing).
set -euo pipefail

: "${CORBEL_BUILD_DIR:?}" "${CORBEL_SOURCE_DIR:?}" "${CORBEL_TOOLCHAIN:?}"
CMAKE=${CMAKE:-cmake}
here="$CORBEL_SOURCE_DIR/test/packaging"
# In the build folder, where paths relative to it are those of every clone: for the compiler cache.
work=$(mktemp -d "$CORBEL_BUILD_DIR/packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix="$work/moved to"

# shellcheck source=/dev/null
source "$here/common.sh"

quiet "install" "$CMAKE" --install "$CORBEL_BUILD_DIR" --prefix "$work/first"
mv "$work/first" "$prefix"
if grep -rIl -e "$work" -e "$CORBEL_BUILD_DIR" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"; then
  fail "these package files hold an absolute path"
fi
for name in corbel corbelmalloc corbelmalloc_proxy tbbmalloc tbbmalloc_proxy; do
  for file in "bin/$name.dll" "lib/lib$name.dll.a" "lib/$name.lib"; do
    [[ -e "$prefix/$file" ]] || fail "$file is not installed"
  done
done
for file in lib/lib{corbel,corbelmalloc}.a lib/libtbb12.dll.a lib/tbb12.lib include/corbel/malloc.h \
  include/oneapi/tbb/parallel_for.h; do
  [[ -e "$prefix/$file" ]] || fail "$file is not installed"
done

# What a project that is built for another system says: the compiler, and where its libraries are.
cat >"$work/toolchain.cmake" <<END_OF_TOOLCHAIN
set(CORBEL_ZIG "${CORBEL_ZIG:-}" CACHE STRING "")
include("$CORBEL_TOOLCHAIN")
list(APPEND CMAKE_FIND_ROOT_PATH "$prefix")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
END_OF_TOOLCHAIN

configure_and_build() { # <project> <targets>... [-- cmake arguments]
  local project=$1 targets=()
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do
    targets+=("$1")
    shift
  done
  quiet "$project: configure" "$CMAKE" -G Ninja -S "$here/$project" -B "$work/$project" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_TOOLCHAIN_FILE=$work/toolchain.cmake" "${@:2}"
  quiet "$project: build" "$CMAKE" --build "$work/$project" -j2 --target "${targets[@]}"
}

# Windows looks for DLLs in PATH, which begins with this in Wine.
WINEPATH="Z:$prefix/bin"
IFS=: read -ra folders <<<"${CORBEL_COMPILER_DLLS:-}"
for folder in "${folders[@]}"; do
  WINEPATH+=";Z:$folder"
done
export WINEPATH
run() { # <program> <the DLL that it loads, or nothing>
  local name
  name="${1#"$work"/}"
  quiet "$name: run" wine "$1"
  if [[ -n $2 ]]; then
    grep -qaiF "$2" "$1" || fail "$name does not load $2"
  fi
}

configure_and_build cmake_corbel api_shared api_static scheduler_shared scheduler_static \
  both_static -- -DSCHEDULER=ON
run "$work/cmake_corbel/api_shared.exe" corbelmalloc.dll
run "$work/cmake_corbel/api_static.exe" ""
run "$work/cmake_corbel/scheduler_shared.exe" corbel.dll
run "$work/cmake_corbel/scheduler_static.exe" ""
run "$work/cmake_corbel/both_static.exe" ""

configure_and_build cmake_tbb api
run "$work/cmake_tbb/api.exe" tbbmalloc.dll

configure_and_build cmake_tbb_scheduler program -- -DBY_CONFIG=OFF
run "$work/cmake_tbb_scheduler/program.exe" corbel.dll

# The commands of docs/guide/windows.md.
by_hand() { # <program> <the DLL that it loads> <words>...
  quiet "$1: build by hand" "${CXX:?}" "${@:3}" "-I$prefix/include" "-L$prefix/lib" -o "$work/$1.exe"
  run "$work/$1.exe" "$2"
}
src="$here/src"
by_hand replaced corbelmalloc_proxy.dll -include corbel/malloc_proxy.h -x c "$src/nothing.c" \
  -lcorbelmalloc_proxy
by_hand api corbelmalloc.dll -x c "$src/use_api.c" -lcorbelmalloc
by_hand scheduler corbel.dll -std=c++17 "$src/use_scheduler.cpp" -lcorbel
by_hand tbb corbel.dll -std=c++17 "$src/use_tbb.cpp" -ltbb12 -ltbbmalloc

echo "packaging: everything builds and runs"
