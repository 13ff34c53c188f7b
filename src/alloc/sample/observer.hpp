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

// Called by the thread that allocates or frees, outside of all locks, before record_sample(),
// record_lifetime() or end_lifetime().
void prepare_to_record();

// The next four require samples_lock.

// Records a sampled block. Returns false if there is no memory for that: then the block must not be
// sampled.
bool record_sample(const Sample& sample);

// Forgets a sampled block that is freed. Returns false if it is not recorded.
bool forget_sample(const void* block);

// The same for the lifetimes. The last thing that happens before the program gets the block.
bool record_lifetime(const Sample& sample);

// How a sampled block is freed. To be made by begin_free() before anything else is done.
struct FreeOfSample {
  std::uint64_t at = 0;      // the time
  StackId stack = 0;         // of the free, if another thread has allocated the block
  bool is_by_other = false;  // whether that is so
};
bool end_lifetime(const void* block, const FreeOfSample& how);

// The caller holds no lock.
FreeOfSample begin_free(const void* block);

// Forgets a sampled block for all of them. Returns false if none has recorded it. Defined in
// src/alloc/sample. Requires: samples_lock.
bool forget_samples(const void* block, const FreeOfSample& how);

// A realloc has made a block larger. `block` is the new or resized one, and sampled.
void record_growth(const void* block, std::size_t copied);

// ---- defined in src/alloc/guard -----------------------------------------------------------------

// Whether a slot is free that the request fits into. It may have gone by the time it is taken.
bool can_guard(const BlockRequest& request);

// Serves the request with a block in a slot of the guard pool. nullptr if that is not possible. The
// caller holds no lock.
void* take_guarded(const BlockRequest& request, StackId stack);

}  // namespace corbel::alloc
