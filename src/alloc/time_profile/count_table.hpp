// SPDX-License-Identifier: Apache-2.0
// The sums of the time profile: for each call stack and thread, and for each place in a cache line
// that threads share.
//
// Signal handlers add to the table, in any thread and whatever they have interrupted, so it takes
// no lock and no memory. The profiler's thread makes room in advance. A row is never removed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

struct CountKey {
  StackId stack;
  std::uint32_t thread;    // the number of its record (profiled_threads.hpp)
  std::uintptr_t address;  // of the access to a shared line; 0: the row is of no line
  std::uint32_t size;      // of the access, in bytes
};

// relaxed throughout, but for `is_ready`: sums, which are read when the profile ends
struct CountRow {
  std::atomic<std::uint64_t> hash;  // of the key; 0: the row is free
  CountKey key;
  std::atomic<bool> is_ready;  // the key is complete
  std::atomic<std::uint64_t> cpu_ns;
  std::atomic<std::uint64_t> wait_ns;
  std::atomic<std::uint64_t> faults;
  std::atomic<std::uint64_t> sharing;
  std::atomic<std::uint64_t> writes;
  std::atomic<std::uint64_t> block;  // the size of the block around the address
};

// The row of this key, a new one if there is none. nullptr if there is no room for it.
CountRow* find_count(const CountKey& key);

// Makes sure that there is room for many more rows. For the profiler's thread.
void reserve_counts();

// Visits all rows.
void for_each_count(void (*visit)(void* context, const CountRow& row), void* context);

}  // namespace corbel::alloc
