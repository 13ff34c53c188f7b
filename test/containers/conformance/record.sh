#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the conformance programs with oneTBB and records what they print in expected/:
#   ./dev bench peers onetbb && test/containers/conformance/record.sh build/bench/peers/onetbb
# The programs are left in the given folder. With -v each prints its whole log, to be compared with
# that of build/release/bin/conformance_<name> -v.
set -eu
peer=$(cd "$1" && pwd)
cd "$(dirname "$0")"
for name in hash_map ordered queues unordered vector; do
  program=$peer/conformance_$name
  "${CXX:-c++}" -std=c++17 -O1 -I"$peer/tbb-devel/include" "$name.cpp" -o "$program" \
    -L"$peer/tbb/lib" -l:libtbb.so.12 -Wl,-rpath,"$peer/tbb/lib" -pthread
  "$program" >"expected/$name.txt" || echo "$name: oneTBB leaks memory"
done
