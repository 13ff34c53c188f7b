#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build to a prefix, moves the prefix (no file in it may contain a path), and builds and
# runs small projects against it: with find_package(Corbel), find_package(TBB), pkg-config and
# FetchContent. Needs CORBEL_BUILD_DIR and CORBEL_SOURCE_DIR; CC, CXX and CMAKE are optional.
set -euo pipefail

: "${CORBEL_BUILD_DIR:?}" "${CORBEL_SOURCE_DIR:?}"
CC=${CC:-gcc} CXX=${CXX:-g++} CMAKE=${CMAKE:-cmake}
export CC CXX
here="$CORBEL_SOURCE_DIR/test/packaging"
# In the build folder, where paths relative to it are those of every clone: for the compiler cache.
work=$(mktemp -d "$CORBEL_BUILD_DIR/packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix="$work/moved to"
TBB12=OFF
if grep -q '^CORBEL_BUILD_TBB12:BOOL=ON' "$CORBEL_BUILD_DIR/CMakeCache.txt"; then TBB12=ON; fi

# shellcheck source=/dev/null
source "$here/common.sh"

configure_and_build() {  # <project> [cmake arguments]
  local project=$1
  shift
  quiet "$project: configure" "$CMAKE" -G Ninja -S "$here/$project" -B "$work/$project" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "$@"
  quiet "$project: build" "$CMAKE" --build "$work/$project" -j2
}

quiet "install" "$CMAKE" --install "$CORBEL_BUILD_DIR" --prefix "$work/first"
mv "$work/first" "$work/second" # without a space, which LD_PRELOAD cannot express
if [[ -x "$CORBEL_BUILD_DIR/bin/corbel" ]]; then
  quiet "bin/corbel run from a moved prefix" "$work/second/bin/corbel" run -- true
  if [[ $TBB12 == ON ]]; then . "$here/tbb12.sh"; fi
  quiet "bin/corbel check from a moved prefix" "$work/second/bin/corbel" check -- "$(command -v true)"
fi
mv "$work/second" "$prefix"
if grep -rIl -e "$work" -e "$CORBEL_BUILD_DIR" "$prefix"/lib*/cmake "$prefix"/lib*/pkgconfig; then
  fail "these package files hold an absolute path"
fi
libdir=$(dirname "$(find "$prefix" -name 'libcorbelmalloc.so.1')")
for file in lib{corbel,corbelmalloc,corbelmalloc_proxy}.{so,so.1,a} \
  lib{tbbmalloc,tbbmalloc_proxy}.{so,so.2} libtbb.so; do
  [[ -e "$libdir/$file" ]] || fail "$file is not installed"
done
for header in corbel/malloc.h tbb/scalable_allocator.h oneapi/tbb/scalable_allocator.h; do
  [[ -e "$prefix/include/$header" ]] || fail "$header is not installed"
done
if [[ -e "$libdir/libtbb.so.12" ]]; then fail "libtbb.so.12 is beside the others"; fi
if [[ $TBB12 == ON && $(ls "$libdir/corbel") != libtbb.so.12 ]]; then
  fail "the folder corbel holds something else than libtbb.so.12"
fi
SCHEDULER=OFF
if [[ -e "$prefix/include/tbb/parallel_for.h" ]]; then SCHEDULER=ON; fi
# The program must load the library although it calls no function of it.
needs_proxy() { readelf -d "$1" | grep -q "NEEDED.*$2" || fail "$1 does not load $2"; }

configure_and_build cmake_corbel "-DCMAKE_PREFIX_PATH=$prefix" -DSCHEDULER=$SCHEDULER
for program in api_shared api_static proxy_shared proxy_static; do
  quiet "cmake_corbel: run $program" "$work/cmake_corbel/$program"
done
needs_proxy "$work/cmake_corbel/proxy_nothing" libcorbelmalloc_proxy.so.1

configure_and_build cmake_tbb "-DCMAKE_PREFIX_PATH=$prefix"
quiet "cmake_tbb: run api" "$work/cmake_tbb/api"
quiet "cmake_tbb: run proxy" "$work/cmake_tbb/proxy"

export PKG_CONFIG_PATH="$libdir/pkgconfig"
flags() {  # pkg-config escapes the space of the prefix; eval reads it back
  eval "words=($(pkg-config --cflags --libs "$1"))"
}
for library in corbelmalloc tbbmalloc; do
  flags $library
  quiet "pkg-config: build with $library" "$CC" "$here/src/use_api.c" -o "$work/api" "${words[@]}"
  quiet "pkg-config: run" env LD_LIBRARY_PATH="$libdir" "$work/api"
  flags ${library}_proxy
  quiet "pkg-config: build with ${library}_proxy" \
    "$CXX" "$here/src/use_proxy.cpp" -o "$work/proxy" "${words[@]}"
  quiet "pkg-config: run" env LD_LIBRARY_PATH="$libdir" "$work/proxy"
  quiet "pkg-config: build with ${library}_proxy before the source, --as-needed" \
    "$CC" -Wl,--as-needed "${words[@]}" "$here/src/nothing.c" -o "$work/nothing"
  needs_proxy "$work/nothing" "lib${library}_proxy"
done

# Whether it builds is what is tested, not how fast it is.
configure_and_build fetch_content "-DCORBEL_SOURCE_DIR=$CORBEL_SOURCE_DIR" -DSCHEDULER=$SCHEDULER \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0
quiet "fetch_content: run api" "$work/fetch_content/api"
quiet "fetch_content: run proxy" "$work/fetch_content/proxy"

if [[ $SCHEDULER == ON ]]; then . "$here/scheduler.sh"; fi

echo "packaging: everything builds and runs"
