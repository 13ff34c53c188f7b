#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every public header compiles without a warning when a file includes it twice:
#  - each header alone, in the oldest standard, C++11, with gcc; and each that asks for the standard,
#    in the newest that any header distinguishes, C++17, with clang (both with one compiler if the
#    other is missing);
#  - all headers in one file: with gcc in every standard from C++11 on (memory_resource is empty
#    before C++17), with clang in the oldest, the newest and C++17, and without exceptions and RTTI;
#  - the C headers as C99 to C17;
#  - what each header brings along is there when only that header is included.
# Where ccache is installed the sources are compiled to object files, because it stores only those.
# Usage: headers.sh <include folder> <work folder>
set -u
include=$1 work=${2:?}
rm -rf "$work"
mkdir -p "$work/alone"
trap 'rm -rf "$work"' EXIT
cached=
if command -v ccache >/dev/null && [ -z "${CCACHE_DISABLE:-}" ]; then cached=1; fi
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

compile() { # <compiler and flags...>, all of ${sources[@]}
  local source good=0
  if [ -z "$cached" ]; then
    "$@" -fsyntax-only "${sources[@]}"
    return
  fi
  for source in "${sources[@]}"; do
    (cd "$work" && ccache "$@" -c "$source" -o object) || good=1
  done
  return $good
}

check() { # <sources...> -- <compiler and flags...>
  local sources=()
  while [ "$1" != -- ]; do
    sources+=("$1")
    shift
  done
  shift
  checked=$((checked + ${#sources[@]}))
  set -- "$@" -Wall -Wextra -Wpedantic -Wshadow -Werror -I "$include"
  if ! compile "$@" >"$work/log" 2>&1; then
    fail "$*"
    head -40 "$work/log"
  fi
}

# Finds a versioned compiler, such as clang-16, if the plain name does not exist.
newest() {
  command -v "$1" || compgen -c "$1-" | grep -E "^clang(\\+\\+)?-[0-9]+$" | sort -V | tail -1
}

# A header with nothing but one #include compiles if the included one does.
forwards_only() {
  [ "$(grep -cvE '^(//.*|#pragma once|)$' "$include/$1")" = 1 ] && grep -q '^#include <' "$include/$1"
}

cd "$include" || exit 1
include=$PWD
mapfile -t headers < <(find . -type f | sed 's|^\./||' | sort)
[ "${#headers[@]}" -gt 0 ] || fail "no header under $include"
newer=() # those that ask for the standard
for header in "${headers[@]}"; do
  forwards_only "$header" && continue
  twice "$work/alone/${header//\//_}.cpp" "$header"
  grep -qE '__cplusplus|__cpp_' "$header" && newer+=("$work/alone/${header//\//_}.cpp")
done
# Two definitions of tbb::filter cannot be in one file.
classic=(oneapi/tbb/pipeline.h tbb/pipeline.h)
mapfile -t others < <(printf '%s\n' "${headers[@]}" | grep -vxF "$(printf '%s\n' "${classic[@]}")")
mkdir "$work/all"
twice "$work/all/classic.cpp" "${classic[@]}"
twice "$work/all/others.cpp" "${others[@]}"

gxx=$(command -v g++) clangxx=$(newest clang++)
check "$work"/alone/* -- "${gxx:-$clangxx}" -std=c++11
check "${newer[@]}" -- "${clangxx:-$gxx}" -std=c++17
for cxx in $gxx $clangxx; do
  standards="11 14 17 20 23"
  [ "$cxx" = "$clangxx" ] && [ -n "$gxx" ] && standards="11 17 23"
  for standard in $standards; do check "$work"/all/* -- "$cxx" "-std=c++$standard"; done
  check "$work"/all/* -- "$cxx" -std=c++17 -fno-exceptions -fno-rtti
done

# brings <folder> <header> <names in the namespace tbb...>
mkdir "$work/brings" "$work/classic"
brings() {
  local folder=$1 header=$2
  shift 2
  {
    printf '#include <tbb/%s.h>\n' "$header"
    printf 'using tbb::%s;\n' "$@"
  } >"$work/$folder/${header//\//_}.cpp"
}
brings brings combinable enumerable_thread_specific cache_aligned_allocator
brings brings critical_section tbb_thread tick_count improper_lock split
brings brings enumerable_thread_specific tbb_allocator cache_aligned_allocator tbb_hash
brings brings concurrent_hash_map tbb_hash_compare tbb_hasher tbb_allocator split
brings brings concurrent_map concurrent_multimap tbb_allocator split
brings brings concurrent_priority_queue cache_aligned_allocator tbb_allocator zero_allocator
brings brings concurrent_queue concurrent_bounded_queue strict_ppl::concurrent_queue \
  cache_aligned_allocator user_abort bad_last_alloc
brings brings concurrent_set concurrent_multiset tbb_allocator split
brings brings concurrent_unordered_map concurrent_unordered_multimap tbb_allocator split \
  tbb_hash tbb_hasher tbb_hash_compare
brings brings concurrent_unordered_set concurrent_unordered_multiset tbb_allocator split \
  tbb_hash tbb_hasher tbb_hash_compare
brings brings concurrent_vector blocked_range cache_aligned_allocator bad_last_alloc \
  tbb_allocator zero_allocator
brings brings flow_graph flow::graph flow::function_node flow::join_node flow::key_matching \
  flow::tagged_msg flow::make_edge flow::resource_limiter flow::async_node task_group_context
brings brings memory_pool scalable_allocator
brings brings mutex profiling::set_name
brings brings parallel_do task empty_task aligned_space
brings brings parallel_for blocked_range auto_partitioner split
brings brings parallel_for_each parallel_for
brings brings parallel_invoke task_group_context
brings brings parallel_reduce auto_partitioner split
brings brings parallel_scan auto_partitioner
brings brings parallel_sort parallel_for blocked_range
brings brings partitioner task_arena
brings brings pipeline task tbb_allocator atomic
brings brings queuing_mutex profiling::set_name
brings brings queuing_rw_mutex profiling::set_name
brings brings reader_writer_lock tbb_thread tbb_allocator atomic improper_lock
brings brings recursive_mutex aligned_space split profiling::set_name
brings brings spin_mutex profiling::set_name
brings brings spin_rw_mutex profiling::set_name
brings brings task empty_task task_list priority_t
brings brings task_group structured_task_group missing_wait
brings brings task_scheduler_init split
brings brings task_scheduler_observer task_arena
brings brings tbb_allocator zero_allocator
brings brings tbb_thread tick_count split
brings brings tbb zero_allocator tbb_hash critical_section reader_writer_lock
check "$work"/brings/* -- "${gxx:-$clangxx}" -std=c++11
# For a program that wants the names of TBB 2020:
brings classic parallel_for task blocked_range auto_partitioner user_abort
brings classic parallel_for_each parallel_do parallel_do_feeder task
brings classic parallel_invoke task task_group_context
brings classic parallel_reduce task auto_partitioner aligned_space split
brings classic parallel_scan task auto_partitioner aligned_space
brings classic parallel_sort task blocked_range
brings classic partitioner task task_arena
brings classic task_arena task user_abort
brings classic task_group task missing_wait
brings classic task_scheduler_observer task_arena task
check "$work"/classic/* -- "${gxx:-$clangxx}" -std=c++11 -DTBB_CLASSIC_NAMES=1

for header in corbel/malloc.h corbel/malloc_proxy.h tbb/scalable_allocator.h \
  oneapi/tbb/scalable_allocator.h tbb/tbbmalloc_proxy.h tbb/version.h; do
  twice "$work/${header//\//_}.c" "$header"
done
for cc in $(command -v gcc) $(newest clang); do
  for standard in c99 c11 c17; do
    check "$work"/*.c -- "$cc" "-std=$standard" -Wstrict-prototypes
  done
done

# The forwarding headers are short and contain no logic.
for header in tbb/*.h oneapi/tbb/*.h oneapi/tbb/detail/*.h; do
  lines=$(grep -vc '^#include' "$header")
  [ "$lines" -le 20 ] || fail "$header has $lines lines without #include, more than 20"
done
echo "$checked compilations"
exit $failed
