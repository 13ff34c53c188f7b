#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, twice in one file, without a warning: as each C++ standard
# from 11 on (memory_resource is empty before 17), without exceptions and RTTI, and those for C as
# C99; with gcc, and with clang where there is one. Usage: headers.sh <include folder>
set -u
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
checked=0

check() { # <language> <header> <compiler and flags...>
  local suffix=$1 header=$2
  shift 2
  printf '#include <%s>\n#include <%s>\nint anything;\n' "$header" "$header" \
    >"$work/alone.$suffix"
  checked=$((checked + 1))
  if ! "$@" -Wall -Wextra -Wpedantic -Wshadow -Werror -I "$include" -fsyntax-only \
      "$work/alone.$suffix" >"$work/log" 2>&1; then
    echo "FAILED: $header with $*"
    head -20 "$work/log"
    failed=1
  fi
}

# Where there is no compiler of the plain name: clang-16 and its like.
newest() {
  command -v "$1" >/dev/null || compgen -c "$1-" | grep -E "^clang(\\+\\+)?-[0-9]+$" | sort -V | tail -1
}

headers=$(cd "$include" && find . -name '*.h' -o -name '*.hpp' | sed 's|^\./||' | sort)
for cxx in g++ clang++ $(newest clang++); do
  command -v "$cxx" >/dev/null || continue
  for header in $headers; do
    for standard in 11 14 17 20; do check cpp "$header" "$cxx" "-std=c++$standard"; done
    check cpp "$header" "$cxx" -std=c++17 -fno-exceptions -fno-rtti
  done
done
for cc in gcc clang $(newest clang); do
  command -v "$cc" >/dev/null || continue
  for header in corbel/malloc.h corbel/malloc_proxy.h tbb/scalable_allocator.h \
    oneapi/tbb/scalable_allocator.h tbb/tbbmalloc_proxy.h tbb/version.h; do
    for standard in c99 c11 c17; do
      check c "$header" "$cc" "-std=$standard" -Wstrict-prototypes
    done
  done
done

# The forwards hold no logic, and little room for it.
for header in "$include"/tbb/*.h "$include"/oneapi/tbb/*.h "$include"/oneapi/tbb/detail/*.h; do
  lines=$(wc -l <"$header")
  if [ "$lines" -gt 20 ]; then
    echo "FAILED: $header has $lines lines, more than 20"
    failed=1
  fi
done
echo "$checked compilations"
[ "$checked" -gt 0 ] || failed=1
exit $failed
