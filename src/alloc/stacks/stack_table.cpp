// SPDX-License-Identifier: Apache-2.0
#include "alloc/stacks/stack_table.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>

#include "alloc/map/metadata.hpp"

namespace corbel::alloc {

namespace {

// ---- memory ---------------------------------------------------------------------------------
// Entries lie one after the other in chunks of metadata. An id is a position, in words, in the
// sequence of all chunks. Position 0 is never taken.

constexpr std::size_t kChunkWords = 8192;
constexpr std::size_t kMaxChunks = 16384;  // 1 GiB
constexpr std::size_t kWord = sizeof(void*);

constexpr unsigned kRootBits = 16;

// Made at the first use: a process that locks its memory would pay for it without an instrument.
struct Tables {
  std::atomic<char*> chunks[kMaxChunks];
  std::atomic<StackId> roots[1U << kRootBits];
};
constinit std::atomic<Tables*> made_tables{nullptr};
constinit std::atomic<char*> spare{nullptr};  // a chunk that two threads made at once
constinit std::atomic<std::uint32_t> next_position{1};

// Whether more memory may be taken, which needs the lock of the metadata.
enum class Memory { kAny, kReserved };

// Returns nullptr if there is no memory.
Tables* find_tables(Memory memory) {
  // (9) acquire: sees the zeroed tables published by (8)
  Tables* tables = made_tables.load(std::memory_order_acquire);
  if (tables != nullptr || memory == Memory::kReserved) return tables;
  auto* const fresh = static_cast<Tables*>(allocate_metadata(sizeof(Tables)));
  if (fresh == nullptr) return nullptr;
  // (8) release: publishes the tables to (9); (9) acquire on failure: those of another thread, and
  // the memory of `fresh` is lost
  const bool first = made_tables.compare_exchange_strong(tables, fresh, std::memory_order_acq_rel,
                                                         std::memory_order_acquire);
  return first ? fresh : tables;
}

// Requires: there are tables.
std::atomic<char*>& chunk_of(std::uint32_t position) {
  // (9) acquire
  return made_tables.load(std::memory_order_acquire)->chunks[position / kChunkWords];
}

char* chunk_at(std::uint32_t position) {
  // (2) acquire: sees the chunk published by (1)
  return chunk_of(position).load(std::memory_order_acquire);
}

bool add_chunk(std::uint32_t position) {
  // (4) acquire: the chunk left by (3)
  char* fresh = spare.exchange(nullptr, std::memory_order_acquire);
  if (fresh == nullptr) fresh = static_cast<char*>(allocate_metadata(kChunkWords * kWord));
  if (fresh == nullptr) return false;
  char* none = nullptr;
  // (1) release: publishes the zeroed chunk to (2); relaxed on failure: (2) comes again
  if (!chunk_of(position).compare_exchange_strong(none, fresh, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
    // (3) release: hands the chunk to (4). If there is another spare one, that one is lost.
    spare.store(fresh, std::memory_order_release);
  }
  return true;
}

// Takes `words` words of one chunk. 0 if there is no memory.
std::uint32_t take_words(std::uint32_t words, Memory memory) {
  // relaxed here and below: the position only divides the words among the threads
  std::uint32_t position = next_position.load(std::memory_order_relaxed);
  for (;;) {
    std::uint32_t start = position;
    if (start % kChunkWords + words > kChunkWords) start += kChunkWords - start % kChunkWords;
    if (start / kChunkWords >= kMaxChunks) return 0;
    if (chunk_at(start) == nullptr && (memory == Memory::kReserved || !add_chunk(start))) return 0;
    if (next_position.compare_exchange_weak(position, start + words, std::memory_order_relaxed)) {
      return start;
    }
  }
}

// ---- entries --------------------------------------------------------------------------------
// The table is a forest of hash tries (C. Wellons, "An easy-to-implement, arena-friendly hash map",
// 2023): the hash chooses a root, then, two bits at a time, a child of each entry that is not the
// right one. No entry ever moves, and one store adds an entry, so a look-up never waits.

struct Entry {
  std::uint64_t hash;
  std::atomic<StackId> children[4];
  std::uint32_t count;
  std::uint32_t unused;
  void* frames[1];  // `count` of them
};

Entry* entry_of(StackId id) {
  return reinterpret_cast<Entry*>(chunk_at(id) + id % kChunkWords * kWord);
}

bool is_entry_of(const Entry& entry, std::uint64_t hash, void* const* frames, unsigned count) {
  return entry.hash == hash && entry.count == count &&
         std::memcmp(entry.frames, frames, count * sizeof(void*)) == 0;
}

std::uint64_t hash_of(void* const* frames, unsigned count) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  std::uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i) {
    hash = (std::rotl(hash, 29) ^ reinterpret_cast<std::uintptr_t>(frames[i])) * kFactor;
  }
  hash ^= hash >> 32;
  hash *= kFactor;
  return hash ^ hash >> 29;
}

StackId make_entry(std::uint64_t hash, void* const* frames, unsigned count, Memory memory) {
  const std::size_t size = offsetof(Entry, frames) + count * sizeof(void*);
  const StackId id = take_words(std::uint32_t(size / kWord), memory);
  if (id == 0) return 0;
  auto* const entry = new (chunk_at(id) + id % kChunkWords * kWord) Entry;
  entry->hash = hash;
  entry->count = count;
  std::memcpy(entry->frames, frames, count * sizeof(void*));
  return id;
}

StackId intern(void* const* frames, unsigned count, Memory memory) {
  if (count > kMaxFrames) count = kMaxFrames;
  const std::uint64_t hash = hash_of(frames, count);
  Tables* const tables = find_tables(memory);
  if (tables == nullptr) return 0;
  std::atomic<StackId>* link = &tables->roots[hash >> (64 - kRootBits)];
  StackId made = 0;
  for (std::uint64_t rest = hash << kRootBits;; rest <<= 2) {
    // (6) acquire: sees the entry published by (5)
    StackId id = link->load(std::memory_order_acquire);
    if (id == 0) {
      if (made == 0) made = make_entry(hash, frames, count, memory);
      if (made == 0) return 0;
      // (5) release: publishes the entry to (6) and (7);
      // (7) acquire on failure: sees the entry that came first
      if (link->compare_exchange_strong(id, made, std::memory_order_release,
                                        std::memory_order_acquire)) {
        return made;
      }
    }
    Entry& entry = *entry_of(id);
    // If another thread added the same stack meanwhile, the memory of `made` is lost.
    if (is_entry_of(entry, hash, frames, count)) return id;
    link = &entry.children[rest >> 62];
  }
}

// ---- hidden code ----------------------------------------------------------------------------

constexpr unsigned kMaxHidden = 8;
struct HiddenCode {
  std::atomic<std::uintptr_t> low, high;
};
constinit HiddenCode hidden_code[kMaxHidden]{};

}  // namespace

bool is_hidden_code(const void* frame) {
#if !defined(CORBEL_STATIC)
  if (unwind::own_code().has_return(frame)) return true;
#endif
  for (const HiddenCode& code : hidden_code) {
    // relaxed: while only one of them is seen, the range is empty
    const unwind::CodeRange range{code.low.load(std::memory_order_relaxed),
                                  code.high.load(std::memory_order_relaxed)};
    if (range.has_return(frame)) return true;
  }
  return false;
}

void hide_code(unwind::CodeRange code) {
  for (HiddenCode& hidden : hidden_code) {
    std::uintptr_t none = 0;
    // relaxed both: as in is_hidden_code()
    if (!hidden.low.compare_exchange_strong(none, code.low, std::memory_order_relaxed)) continue;
    hidden.high.store(code.high, std::memory_order_relaxed);
    return;
  }
}

StackId intern_stack(void* const* frames, unsigned count) {
  return intern(frames, count, Memory::kAny);
}

StackId intern_stack_in_handler(void* const* frames, unsigned count) {
  return intern(frames, count, Memory::kReserved);
}

void reserve_stacks() {
  constexpr std::uint32_t kChunksAhead = 16;  // 1 MiB
  if (find_tables(Memory::kAny) == nullptr) return;
  // relaxed: another thread may take words meanwhile, and reserves its own then
  std::uint32_t position = next_position.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kChunksAhead; ++i, position += kChunkWords) {
    if (position / kChunkWords >= kMaxChunks) return;
    if (chunk_at(position) == nullptr && !add_chunk(position)) return;
  }
}

Stack stack_of(StackId id) {
  if (id == 0) return {nullptr, 0};
  const Entry& entry = *entry_of(id);
  return {entry.frames, entry.count};
}

__attribute__((noinline)) StackId capture_stack(const void* caller, unsigned max) {
  constexpr unsigned kMaxOwn = 8;
  void* frames[kMaxFrames + kMaxOwn];
  if (max > kMaxFrames) max = kMaxFrames;
  const unsigned count = unwind::capture(frames, max + kMaxOwn, 0);
  unsigned first = 0;
  if (caller != nullptr) {
    while (first < count && first < kMaxOwn && frames[first] != caller) ++first;
    if (first == count || first == kMaxOwn) first = 0;
  }
  while (first < count && is_hidden_code(frames[first])) ++first;
  return intern_stack(frames + first, count - first < max ? count - first : max);
}

StackId capture_stack_at(const unwind::ReturnPlace& place, unsigned max) {
  void* frames[kMaxFrames];
  if (max > kMaxFrames) max = kMaxFrames;
  return intern_stack(frames, unwind::capture_at(place, frames, max, is_hidden_code));
}

}  // namespace corbel::alloc
