// SPDX-License-Identifier: Apache-2.0
// The small blocks of all threads: where a thread's block_cache gets its blocks from, and gives
// them back to, several at a time.
#pragma once

#include <corbel/detail/task.hpp>

#include <cstddef>

#include "sync/lock.hpp"

namespace corbel::sched {

using detail::block_cache;

// Returns a block of class c, and puts more into the cache, which has none; `cache` may be null.
// Throws bad_alloc.
void* take_blocks(block_cache* cache, std::size_t c);

// Takes a block of class c back, and part of the cache, which is full; `cache` may be null.
void give_back_blocks(block_cache* cache, void* block, std::size_t c) noexcept;

// Takes all blocks of the cache back.
void give_back_all_blocks(block_cache& cache) noexcept;

// For the fork handlers.
sync::Lock& block_pool_lock();

}  // namespace corbel::sched
