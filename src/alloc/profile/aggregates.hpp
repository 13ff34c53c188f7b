// SPDX-License-Identifier: Apache-2.0
// What the heap profile knows: sums over the sampled blocks of each call stack and thread.
//
// The peak of a sum is its value at the moment when the live bytes of the whole process were most.
// That moment moves whenever the process grows beyond its peak, too often to copy all sums. So the
// moments have numbers, and a sum keeps its value at a moment only when it is next changed: until
// then the value has stayed the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/sampled_threads.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

// An estimate, in integers: what a block adds and what it takes away later are equal, so the live
// estimate is exactly 0 when all blocks are freed.
struct Estimate {
  static constexpr unsigned kFractionBits = 20;

  std::uint64_t parts = 0;  // of blocks: 2^-kFractionBits
  std::uint64_t bytes = 0;

  std::uint64_t blocks() const { return (parts + (1U << (kFractionBits - 1))) >> kFractionBits; }
  void add(const Estimate& other) {
    parts += other.parts;
    bytes += other.bytes;
  }
  void subtract(const Estimate& other) {
    parts -= other.parts;
    bytes -= other.bytes;
  }
};

struct Aggregate {
  Aggregate* next;
  SampledThread* thread;
  StackId stack;
  std::uint64_t peak_number;  // of the last moment at or before which `peak` was set
  Estimate allocated;
  Estimate live;
  Estimate peak;
};

// All functions require samples_lock.

// Called at most once for a block of the calling thread. False if there is no memory.
bool add_block(const void* block, StackId stack, const Estimate& estimate);

// False if the block has not been added.
bool remove_block(const void* block);

// The value of the aggregate at the peak.
Estimate at_peak(const Aggregate& aggregate);

// Calls visit(context, block, stack, estimate) for the blocks that have not been removed.
void for_each_live_block(void (*visit)(void* context, const void* block, StackId stack,
                                       const Estimate& estimate),
                         void* context);
template <class Call>
void for_each_live_block(Call call) {
  for_each_live_block(
      [](void* c, const void* block, StackId stack, const Estimate& estimate) {
        (*static_cast<Call*>(c))(block, stack, estimate);
      },
      static_cast<void*>(&call));
}

Aggregate* first_aggregate();
std::size_t recorded_blocks();

}  // namespace corbel::alloc
