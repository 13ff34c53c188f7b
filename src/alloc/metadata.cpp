// SPDX-License-Identifier: Apache-2.0
#include "alloc/metadata.hpp"

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

void* take(std::size_t size) {
  sync::LockGuard guard(metadata_lock);
  if (size > unused_size) return nullptr;
  void* result = unused;
  unused += size;
  unused_size -= size;
  return result;
}

}  // namespace

void* allocate_metadata(std::size_t size) {
  size = align_up(size, kCacheLine);
  if (void* ready = take(size)) return ready;
  const std::size_t fresh_size = align_up(size, 4 * kUnit);
  void* fresh = os::map(fresh_size, kUnit, nullptr);
  if (fresh == nullptr) return nullptr;
  os::advise(fresh, fresh_size, os::HugePages::kSparse);
  mapped.fetch_add(fresh_size, std::memory_order_relaxed);  // relaxed: a statistic
  sync::LockGuard guard(metadata_lock);
  // What is left of the last piece is given up: less than one object, or the piece of a thread that
  // came here at the same time.
  unused = static_cast<char*>(fresh) + size;
  unused_size = fresh_size - size;
  return fresh;
}

std::size_t metadata_bytes() { return mapped.load(std::memory_order_relaxed); }  // statistic

}  // namespace corbel::alloc
