// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/metadata.hpp"

#include "alloc/map/footprint.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/size_class.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock metadata_lock{lock_rank::kMetadata};

namespace {

constinit char* unused = nullptr;  // this and unused_size are under metadata_lock
constinit std::size_t unused_size = 0;
constinit std::atomic<std::size_t> mapped{0};
constinit std::atomic<std::size_t> committed{0};

// The pieces, those that touch each other as one. When the first table is full, each further one is
// the beginning of a piece. Under metadata_lock.
struct Pieces {
  static constexpr std::size_t kMax = 255;
  struct Range {
    std::uintptr_t start, end;
  };
  Range ranges[kMax];
  std::size_t count;
  Pieces* next;
};
constinit Pieces first_pieces{};
constinit Pieces* last_pieces = &first_pieces;

// Notes a new piece and returns how many bytes of it are in use for that.
std::size_t note_piece(char* piece, std::size_t size) {
  const std::uintptr_t start = address_of(piece);
  for (std::size_t i = 0; i < last_pieces->count; ++i) {
    Pieces::Range& range = last_pieces->ranges[i];
    if (range.end != start && range.start != start + size) continue;
    (range.end == start ? range.end : range.start) = range.end == start ? start + size : start;
    return 0;
  }
  std::size_t used = 0;
  if (last_pieces->count == Pieces::kMax) {
    last_pieces = last_pieces->next = reinterpret_cast<Pieces*>(piece);
    used = align_up(sizeof(Pieces), kCacheLine);
  }
  last_pieces->ranges[last_pieces->count++] = {start, start + size};
  return used;
}

// The bytes of the pages that are in use after the next `size` bytes from `first` on are taken, but
// not before.
std::size_t pages_to_commit(const char* first, std::size_t size) {
  const std::size_t page = os::page_size();
  return align_up(address_of(first) + size, page) - align_up(address_of(first), page);
}

// False, and counts nothing, when the hard limit leaves no room for the bytes.
bool commit(std::size_t bytes) {
  if (!footprint.try_commit_table(bytes)) return false;
  committed.fetch_add(bytes, std::memory_order_relaxed);  // relaxed: a statistic
  return true;
}

enum class Taken { kYes, kEmpty, kOverLimit };

Taken take(std::size_t size, void** result) {
  sync::LockGuard guard(metadata_lock);
  if (size > unused_size) return Taken::kEmpty;
  if (!commit(pages_to_commit(unused, size))) return Taken::kOverLimit;
  *result = unused;
  unused += size;
  unused_size -= size;
  return Taken::kYes;
}

// Replaces the piece that metadata is taken from by a new one. When several threads call this at
// the same time, one of them adds its piece and the others discard theirs. The rest of the old
// piece, smaller than the request, is wasted. False if the system has no more memory.
bool add_piece(std::size_t size) {
  // A process with few threads needs no more than the first piece.
  std::size_t fresh_size = align_up(size, metadata_bytes() == 0 ? kUnit : 4 * kUnit);
  void* fresh = os::map(fresh_size, kUnit, nullptr);
  if (fresh == nullptr) {
    unlock_page_map();
    fresh_size = align_up(size, kUnit);
    fresh = os::map(fresh_size, kUnit, nullptr);
  }
  if (fresh == nullptr) return false;
  os::advise(fresh, fresh_size, os::PageAdvice::kSparse);
  {
    sync::LockGuard guard(metadata_lock);
    if (size > unused_size) {
      const std::size_t used = note_piece(static_cast<char*>(fresh), fresh_size);
      unused = static_cast<char*>(fresh) + used;
      unused_size = fresh_size - used;
      mapped.fetch_add(fresh_size, std::memory_order_relaxed);  // relaxed: a statistic
      return true;
    }
  }
  os::unmap(fresh, fresh_size);
  return true;
}

}  // namespace

void* allocate_metadata(std::size_t size) {
  size = align_up(size, kCacheLine);
  void* result = nullptr;
  while (take(size, &result) == Taken::kEmpty) {
    if (!add_piece(size)) return nullptr;
  }
  return result;
}

void for_each_metadata_range(void (*visit)(void*, std::uintptr_t, std::uintptr_t), void* context) {
  for (const Pieces* table = &first_pieces; table != nullptr; table = table->next) {
    for (std::size_t i = 0; i < table->count; ++i) {
      visit(context, table->ranges[i].start, table->ranges[i].end);
    }
  }
}

std::size_t metadata_ranges() {
  std::size_t count = 0;
  for (const Pieces* table = &first_pieces; table != nullptr; table = table->next) {
    count += table->count;
  }
  return count;
}

// relaxed both: statistics
std::size_t metadata_bytes() { return mapped.load(std::memory_order_relaxed); }
std::size_t metadata_committed() { return committed.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
