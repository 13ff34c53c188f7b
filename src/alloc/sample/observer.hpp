// SPDX-License-Identifier: Apache-2.0
// What happens to the sampled blocks: the sampler decides which blocks are sampled, and the heap
// profile records them. These functions are defined in src/alloc/profile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

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

}  // namespace corbel::alloc
