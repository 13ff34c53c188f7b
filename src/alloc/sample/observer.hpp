// SPDX-License-Identifier: Apache-2.0
// What happens to the sampled blocks: the sampler decides which blocks are sampled, the heap
// profile records them, and the guards watch them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/heap/sampling.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

// ---- defined in src/alloc/profile ---------------------------------------------------------------

struct Sample {
  void* block;
  std::size_t size;  // of the block
  double weight;     // how many blocks it stands for: the inverse of its probability
  StackId stack;     // of the allocation
};

// Called by the thread that allocates, outside of all locks, before record_sample().
void prepare_to_record();

// Records a sampled block. Returns false if there is no memory for that: then the block must not be
// sampled. The caller holds samples_lock.
bool record_sample(const Sample& sample);

// Forgets a sampled block that is freed. Returns false if it is not recorded. The caller holds
// samples_lock.
bool forget_sample(const void* block);

// ---- defined in src/alloc/guard -----------------------------------------------------------------

// Whether a slot is free that the request fits into. It may have gone by the time it is taken.
bool can_guard(const BlockRequest& request);

// Serves the request with a block in a slot of the guard pool. nullptr if that is not possible. The
// caller holds no lock.
void* take_guarded(const BlockRequest& request, StackId stack);

}  // namespace corbel::alloc
