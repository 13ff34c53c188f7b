#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles without a warning, twice in one file: alone as the oldest and as the
# newest standard that any has parts for, C++11 with gcc and C++17 with clang (both with one where
# the other is missing); all of them in one file as every standard from 11 on (memory_resource is
# empty before 17), and without exceptions and RTTI, with both; and those for C as C99 to C17.
# Usage: headers.sh <include folder>
set -u
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/alone"
failed=0
checked=0

fail() {
  echo "FAILED: $*"
  failed=1
}

# twice <file> <headers...>: a source that includes each, and then each again.
twice() {
  local file=$1
  shift
  {
    printf '#include <%s>\n' "$@" "$@"
    echo 'int anything;'
  } >"$file"
}

check() { # <sources...> -- <compiler and flags...>
  local sources=()
  while [ "$1" != -- ]; do
    sources+=("$1")
    shift
  done
  shift
  checked=$((checked + ${#sources[@]}))
  if ! "$@" -Wall -Wextra -Wpedantic -Wshadow -Werror -I "$include" -fsyntax-only "${sources[@]}" \
      >"$work/log" 2>&1; then
    fail "$*"
    head -40 "$work/log"
  fi
}

# Where there is no compiler of the plain name: clang-16 and its like.
newest() {
  command -v "$1" || compgen -c "$1-" | grep -E "^clang(\\+\\+)?-[0-9]+$" | sort -V | tail -1
}

# A header that is one #include and no more compiles alone if that one does.
forwards_only() {
  [ "$(grep -cvE '^(//.*|#pragma once|)$' "$include/$1")" = 1 ] && grep -q '^#include <' "$include/$1"
}

cd "$include" || exit 1
include=$PWD
mapfile -t headers < <(find . -type f | sed 's|^\./||' | sort)
[ "${#headers[@]}" -gt 0 ] || fail "no header under $include"
for header in "${headers[@]}"; do
  forwards_only "$header" || twice "$work/alone/${header//\//_}.cpp" "$header"
done
# Two tbb::filter cannot be in one file.
classic=(oneapi/tbb/pipeline.h tbb/pipeline.h)
mapfile -t others < <(printf '%s\n' "${headers[@]}" | grep -vxF "$(printf '%s\n' "${classic[@]}")")
mkdir "$work/all"
twice "$work/all/classic.cpp" "${classic[@]}"
twice "$work/all/others.cpp" "${others[@]}"

gxx=$(command -v g++) clangxx=$(newest clang++)
if [ -n "$gxx" ]; then check "$work"/alone/* -- "$gxx" -std=c++11; fi
if [ -n "$clangxx" ]; then check "$work"/alone/* -- "$clangxx" -std=c++17; fi
if [ -z "$gxx" ]; then check "$work"/alone/* -- "$clangxx" -std=c++11; fi
if [ -z "$clangxx" ]; then check "$work"/alone/* -- "$gxx" -std=c++17; fi
for cxx in $gxx $clangxx; do
  for standard in 11 14 17 20 23; do check "$work"/all/* -- "$cxx" "-std=c++$standard"; done
  check "$work"/all/* -- "$cxx" -std=c++17 -fno-exceptions -fno-rtti
done

for header in corbel/malloc.h corbel/malloc_proxy.h tbb/scalable_allocator.h \
  oneapi/tbb/scalable_allocator.h tbb/tbbmalloc_proxy.h tbb/version.h; do
  twice "$work/${header//\//_}.c" "$header"
done
for cc in $(command -v gcc) $(newest clang); do
  for standard in c99 c11 c17; do
    check "$work"/*.c -- "$cc" "-std=$standard" -Wstrict-prototypes
  done
done

# The forwards hold no logic, and little room for it.
for header in tbb/*.h oneapi/tbb/*.h oneapi/tbb/detail/*.h; do
  lines=$(wc -l <"$header")
  [ "$lines" -le 20 ] || fail "$header has $lines lines, more than 20"
done
echo "$checked compilations"
exit $failed
