// SPDX-License-Identifier: Apache-2.0
// Blocks are cut from chunks, each of blocks of one class. A chunk counts its free blocks and is
// given back to operator new's memory when all of them are free, except for a few, which are used
// again once the others are full. A thread that only allocates and one that only frees, as on the
// two sides of a queue of tasks, take the lock once for many blocks. (J. Bonwick's slabs, "The Slab
// Allocator", USENIX 1994, with the exchange in batches of "Magazines and Vmem", USENIX 2001.)
#include "sched/core/block_pool.hpp"

#include <cstdint>
#include <new>

#include "sched/core/lock_ranks.hpp"

namespace corbel::sched {
namespace {

using Block = block_cache::block;

constexpr std::size_t kChunkBytes = 32 << 10;  // also the alignment: a block leads to its chunk
constexpr std::size_t kBatchBytes = 8 << 10;   // what a cache takes or gives back at a time
constexpr std::uint32_t kMaxSpares = 8;        // free chunks that a class keeps

struct alignas(2 * detail::kCacheLine) Chunk {
  Chunk* next;
  Chunk* previous;
  Block* free;         // blocks that were used before
  std::uint32_t cut;   // the number of blocks that have been used, from the front
  std::uint32_t used;  // of these, the number of those that are not free
};

// libtbb.so.12 promises the first, and by the second tells these blocks from others
// (src/tbb12/task.cpp).
static_assert(sizeof(Chunk) == 128 && block_cache::kStep * block_cache::kClasses == 256,
              "blocks of the largest class are aligned to 128 bytes, but none to 256");
static_assert(block_cache::kStep % detail::kCacheLine == 0, "a block is aligned to a cache line");

constexpr std::size_t block_bytes(std::size_t c) { return (c + 1) * block_cache::kStep; }

constexpr std::uint32_t blocks_of_chunk(std::size_t c) {
  return std::uint32_t((kChunkBytes - sizeof(Chunk)) / block_bytes(c));
}

Chunk* chunk_of(const void* block) {
  return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunkBytes - 1));
}

Chunk* new_chunk() {
  void* const memory = ::operator new(kChunkBytes, std::align_val_t{kChunkBytes});
  return ::new (memory) Chunk{nullptr, nullptr, nullptr, 0, 0};
}

void delete_chunks(Chunk* chunks) noexcept {
  while (chunks != nullptr) {
    Chunk* const next = chunks->next;
    ::operator delete(chunks, kChunkBytes, std::align_val_t{kChunkBytes});
    chunks = next;
  }
}

// The blocks of one class. All functions are called under the lock.
class Pool {
 public:
  // Returns a block of a chunk that has one; nullptr if there is none.
  void* take(std::size_t c) {
    if (first_ == nullptr && !use_spare()) return nullptr;
    Chunk* const chunk = first_;
    void* block = chunk->free;
    if (block != nullptr) {
      chunk->free = chunk->free->next;
    } else {
      block = reinterpret_cast<char*>(chunk + 1) + chunk->cut++ * block_bytes(c);
    }
    ++chunk->used;
    if (is_full(*chunk, c)) {
      unlink(first_, *chunk);
      link(first_full_, *chunk);
    }
    return block;
  }

  // Adds a chunk, all of which is free.
  void add(Chunk& chunk) {
    ++spares_;
    link(first_spare_, chunk);
  }

  // Takes a block back; returns its chunk if that is to be deleted.
  Chunk* give_back(void* memory, std::size_t c) {
    Chunk* const chunk = chunk_of(memory);
    if (is_full(*chunk, c)) {
      unlink(first_full_, *chunk);
      link(first_, *chunk);
    }
    chunk->free = ::new (memory) Block{chunk->free, 0};
    if (--chunk->used != 0) return nullptr;
    unlink(first_, *chunk);
    if (spares_ == kMaxSpares) return chunk;
    add(*chunk);
    return nullptr;
  }

 private:
  bool use_spare() {
    Chunk* const chunk = first_spare_;
    if (chunk == nullptr) return false;
    --spares_;
    unlink(first_spare_, *chunk);
    link(first_, *chunk);
    return true;
  }

  static bool is_full(const Chunk& chunk, std::size_t c) {
    return chunk.free == nullptr && chunk.cut == blocks_of_chunk(c);
  }

  static void link(Chunk*& first, Chunk& chunk) {
    chunk.previous = nullptr;
    chunk.next = first;
    if (first != nullptr) first->previous = &chunk;
    first = &chunk;
  }
  static void unlink(Chunk*& first, Chunk& chunk) {
    (chunk.previous == nullptr ? first : chunk.previous->next) = chunk.next;
    if (chunk.next != nullptr) chunk.next->previous = chunk.previous;
  }

  Chunk* first_ = nullptr;        // the chunks with free blocks and others
  Chunk* first_full_ = nullptr;   // those with no free block, for tools that look for leaks
  Chunk* first_spare_ = nullptr;  // those with nothing but free blocks
  std::uint32_t spares_ = 0;      // how many of them
};

constinit sync::Lock lock{kBlockPool};
constinit Pool pools[block_cache::kClasses];

// Takes blocks back under the lock, and deletes chunks at the end of the scope, without the lock.
class Return {
 public:
  Return() = default;
  ~Return() { delete_chunks(deleted_); }
  Return(const Return&) = delete;
  Return& operator=(const Return&) = delete;

  void add(void* block, std::size_t c) {
    if (Chunk* const chunk = pools[c].give_back(block, c)) {
      chunk->next = deleted_;
      deleted_ = chunk;
    }
  }

 private:
  Chunk* deleted_ = nullptr;
};

// Takes up to a batch of blocks; returns the first and puts the others into the cache. Returns
// nullptr if there are none.
void* take_batch(block_cache* cache, std::size_t c, Return& back) {
  void* const first = pools[c].take(c);
  if (first == nullptr || cache == nullptr) return first;
  for (std::size_t taken = block_bytes(c); taken < kBatchBytes; taken += block_bytes(c)) {
    void* const block = pools[c].take(c);
    if (block == nullptr) break;
    if (!cache->keep(block, c)) {
      // A new-handler of the program has filled the cache.
      back.add(block, c);
      break;
    }
  }
  return first;
}

}  // namespace

sync::Lock& block_pool_lock() { return lock; }

void* take_blocks(block_cache* cache, std::size_t c) {
  Return back;
  {
    const sync::LockGuard guard(lock);
    if (void* const block = take_batch(cache, c, back)) return block;
  }
  Chunk* const chunk = new_chunk();
  const sync::LockGuard guard(lock);
  pools[c].add(*chunk);
  return take_batch(cache, c, back);
}

void give_back_blocks(block_cache* cache, void* block, std::size_t c) noexcept {
  Return back;
  const sync::LockGuard guard(lock);
  back.add(block, c);
  if (cache == nullptr) return;
  for (std::size_t given = block_bytes(c); given < kBatchBytes; given += block_bytes(c)) {
    void* const kept = cache->take(c);
    if (kept == nullptr) break;
    back.add(kept, c);
  }
}

void give_back_all_blocks(block_cache& cache) noexcept {
  Return back;
  const sync::LockGuard guard(lock);
  for (std::size_t c = 0; c < block_cache::kClasses; ++c) {
    while (void* const block = cache.take(c)) back.add(block, c);
  }
}

}  // namespace corbel::sched
