# SPDX-License-Identifier: Apache-2.0
# libtbb.so.12's part of run.sh, while the prefix is at $work/second: a program that was linked to
# another libtbb.so.12 keeps it with Corbel's libraries on its library path, and has Corbel's when
# `corbel run --tbb` starts it.
# shellcheck shell=bash
mkdir "$work/another"
"$CC" -shared -x c /dev/null -Wl,-soname,libtbb.so.12 -o "$work/another/libtbb.so.12"
"$CC" "$here/src/which_tbb.c" -Wl,--no-as-needed "$work/another/libtbb.so.12" -o "$work/which_tbb"
second_libdir=$(dirname "$(find "$work/second" -name 'libcorbelmalloc.so.1')")

loads() {  # <path> <what> <command...>
  local expected=$1 what=$2
  shift 2
  echo "-- $what"
  local found
  found=$("$@" 2>"$work/log") || { cat "$work/log" >&2; fail "$what"; }
  [[ $found == "$expected" ]] || fail "$what: it loads $found, not $expected"
}

loads "$work/another/libtbb.so.12" "Corbel's folder on the library path shadows no libtbb.so.12" \
  env LD_LIBRARY_PATH="$second_libdir:$work/another" "$work/which_tbb"
loads "$second_libdir/corbel/libtbb.so.12" "bin/corbel run --tbb from a moved prefix" \
  env LD_LIBRARY_PATH="$work/another" "$work/second/bin/corbel" run --tbb -- "$work/which_tbb"
quiet "bin/corbel check --tbb from a moved prefix" \
  env LD_LIBRARY_PATH="$work/another" "$work/second/bin/corbel" check --tbb -- "$work/which_tbb"
