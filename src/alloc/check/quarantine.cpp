// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/quarantine.hpp"

#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/metadata.hpp"
#include "base/thread_variable.hpp"

namespace corbel::alloc {

constinit sync::Lock quarantine_locks[kQuarantineLocks] = {
    sync::Lock{lock_rank::kQuarantine}, sync::Lock{lock_rank::kQuarantine},
    sync::Lock{lock_rank::kQuarantine}, sync::Lock{lock_rank::kQuarantine}};
constinit Quarantine quarantine;

struct Quarantine::Chunk {
  static constexpr std::uint32_t kEntries = 254;
  Chunk* next;
  std::uint32_t begin, end;
  Entry entries[kEntries];
};

namespace {

// relaxed: threads only need to be spread over the queues
constinit std::atomic<unsigned> threads{0};
CORBEL_THREAD_VARIABLE(unsigned, own_queue) = 0;  // its index, plus 1

unsigned queue_of_thread() {
  if (own_queue == 0) {
    own_queue = threads.fetch_add(1, std::memory_order_relaxed) % kQuarantineLocks + 1;
  }
  return own_queue - 1;
}

}  // namespace

// relaxed throughout: the figures decide how much is kept, and order nothing
void Quarantine::add(char* raw, std::size_t bytes) {
  const unsigned index = queue_of_thread();
  Queue& queue = queues_[index];
  Chunk* fresh = nullptr;
  for (;;) {
    {
      sync::LockGuard guard(quarantine_locks[index]);
      Chunk* last = queue.last;
      if (last == nullptr || last->end == Chunk::kEntries) {
        if (queue.spare != nullptr) {
          last = queue.spare;
          queue.spare = last->next;
        } else if (fresh != nullptr) {
          last = fresh;
          fresh = nullptr;
        } else {
          last = nullptr;
        }
        if (last != nullptr) {
          last->next = nullptr;
          last->begin = last->end = 0;
          (queue.last != nullptr ? queue.last->next : queue.first) = last;
          queue.last = last;
        }
      }
      if (last != nullptr) {
        last->entries[last->end++] = {raw, bytes};
        queue.bytes.store(queue.bytes.load(std::memory_order_relaxed) + bytes,
                          std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        return;
      }
    }
    fresh = static_cast<Chunk*>(allocate_metadata(sizeof(Chunk)));
    // Without memory, the block stays in quarantine for good.
    if (fresh == nullptr) return;
  }
}

char* Quarantine::take_first(unsigned index, char** next) {
  sync::LockGuard guard(quarantine_locks[index]);
  Queue& queue = queues_[index];
  Chunk* const chunk = queue.first;
  if (chunk == nullptr) return nullptr;
  const Entry entry = chunk->entries[chunk->begin++];
  queue.bytes.store(queue.bytes.load(std::memory_order_relaxed) - entry.bytes,
                    std::memory_order_relaxed);
  bytes_.fetch_sub(entry.bytes, std::memory_order_relaxed);
  if (chunk->begin != chunk->end) {
    *next = chunk->entries[chunk->begin].raw;
  } else {
    queue.first = chunk->next;
    if (queue.first == nullptr) queue.last = nullptr;
    chunk->next = queue.spare;
    queue.spare = chunk;
  }
  return entry.raw;
}

char* Quarantine::take_excess(std::size_t limit, char** next) {
  *next = nullptr;
  const unsigned own = queue_of_thread();
  if (bytes_.load(std::memory_order_relaxed) <= limit) return nullptr;
  // A thread that frees seldom must not lose its blocks at once because others have freed many.
  for (unsigned i = 0; i < kQuarantineLocks; ++i) {
    const unsigned index = (own + i) % kQuarantineLocks;
    if (queues_[index].bytes.load(std::memory_order_relaxed) <= limit / kQuarantineLocks) continue;
    if (char* const raw = take_first(index, next)) return raw;
  }
  return take_first(own, next);
}

}  // namespace corbel::alloc
