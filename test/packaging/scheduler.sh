# SPDX-License-Identifier: Apache-2.0
# The scheduler's part of run.sh: all ways in which a program written for TBB finds it.
# shellcheck shell=bash
needs() { readelf -d "$1" | grep -q "NEEDED.*$2" || fail "$1 does not load $2"; }

for program in scheduler_shared scheduler_static both_static; do
  quiet "cmake_corbel: run $program" "$work/cmake_corbel/$program"
done
needs "$work/cmake_corbel/scheduler_shared" libcorbel.so.1
for program in scheduler tbb; do
  quiet "fetch_content: run $program" "$work/fetch_content/$program"
done

for arguments in "-DBY_CONFIG=OFF" "-DBY_CONFIG=ON -DCMAKE_BUILD_TYPE=Debug"; do
  rm -rf "$work/cmake_tbb_scheduler"
  configure_and_build cmake_tbb_scheduler "-DCMAKE_PREFIX_PATH=$prefix" $arguments
  for program in program alone; do
    quiet "cmake_tbb_scheduler $arguments: run $program" "$work/cmake_tbb_scheduler/$program"
    needs "$work/cmake_tbb_scheduler/$program" libcorbel.so.1
  done
done

for type in Release Debug; do
  rm -rf "$work/cmake_find_module"
  configure_and_build cmake_find_module "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_BUILD_TYPE=$type
  quiet "cmake_find_module, $type: run program" "$work/cmake_find_module/program"
  needs "$work/cmake_find_module/program" libcorbel.so.1
done

for libraries in "-DLIBTBB_ALONE -ltbb" "-ltbb -ltbbmalloc"; do
  quiet "by hand: build with $libraries" "$CXX" -std=c++17 "$here/src/use_tbb.cpp" \
    -o "$work/by_hand" "-I$prefix/include" "-L$libdir" $libraries
  quiet "by hand: run" env LD_LIBRARY_PATH="$libdir" "$work/by_hand"
  needs "$work/by_hand" libcorbel.so.1
done

for library in corbel tbb; do
  flags $library
  source=use_scheduler.cpp
  if [[ $library == tbb ]]; then source=use_tbb.cpp; fi
  quiet "pkg-config: build with $library" \
    "$CXX" -std=c++17 -DLIBTBB_ALONE "$here/src/$source" -o "$work/scheduler" "${words[@]}"
  quiet "pkg-config: run" env LD_LIBRARY_PATH="$libdir" "$work/scheduler"
done
