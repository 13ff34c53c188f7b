// SPDX-License-Identifier: Apache-2.0
#include "alloc/metadata.hpp"

#include "alloc/footprint.hpp"
#include "alloc/lock_ranks.hpp"
#include "alloc/size_class.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock metadata_lock{lock_rank::kMetadata};

namespace {

constinit char* unused = nullptr;  // both under metadata_lock
constinit std::size_t unused_size = 0;
constinit std::atomic<std::size_t> mapped{0};
constinit std::atomic<std::size_t> committed{0};

// The pages that are entered with the next `size` bytes of a piece.
std::size_t pages_entered(const char* first, std::size_t size) {
  const std::size_t page = os::page_size();
  return align_up(address_of(first) + size, page) - align_up(address_of(first), page);
}

// False, and nothing is counted, when the hard limit has no room for the bytes.
bool commit(std::size_t bytes) {
  if (!footprint.try_commit_table(bytes)) return false;
  committed.fetch_add(bytes, std::memory_order_relaxed);  // relaxed: a statistic
  return true;
}

enum class Taken { kYes, kEmpty, kOverLimit };

Taken take(std::size_t size, void** result) {
  sync::LockGuard guard(metadata_lock);
  if (size > unused_size) return Taken::kEmpty;
  if (!commit(pages_entered(unused, size))) return Taken::kOverLimit;
  *result = unused;
  unused += size;
  unused_size -= size;
  return Taken::kYes;
}

// Of the threads that come here at the same time one brings a piece for all. What is left of the
// last one is less than any of them needs, and is given up. False where the system has no more.
bool add_piece(std::size_t size) {
  const std::size_t fresh_size = align_up(size, 4 * kUnit);
  void* fresh = os::map(fresh_size, kUnit, nullptr);
  if (fresh == nullptr) return false;
  os::advise(fresh, fresh_size, os::HugePages::kSparse);
  {
    sync::LockGuard guard(metadata_lock);
    if (size > unused_size) {
      unused = static_cast<char*>(fresh);
      unused_size = fresh_size;
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

// relaxed both: statistics
std::size_t metadata_bytes() { return mapped.load(std::memory_order_relaxed); }
std::size_t metadata_committed() { return committed.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
