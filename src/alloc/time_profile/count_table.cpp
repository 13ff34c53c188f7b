// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/count_table.hpp"

#include <bit>

#include "alloc/map/metadata.hpp"

namespace corbel::alloc {

namespace {

// Each part is twice as large as the one before. A key has kWindow places in each part, and takes
// the first that is free, in the first part that has one. As no row is ever removed, a key that is
// in the table is found before a free place.
constexpr unsigned kMaxParts = 12;
constexpr unsigned kFirstBits = 11;
constexpr unsigned kWindow = 8;

// (1) release, (2) acquire: a part's zeroed rows
constinit std::atomic<CountRow*> count_parts[kMaxParts]{};
// relaxed: a hint
constinit std::atomic<std::uint32_t> rows_in_part[kMaxParts]{};

std::uint64_t hash_of(const CountKey& key) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  std::uint64_t hash = (std::uint64_t(key.thread) << 32 | key.stack) * kFactor;
  hash = (std::rotl(hash, 29) ^ key.address) * kFactor;
  hash = (std::rotl(hash, 29) ^ key.size) * kFactor;
  hash ^= hash >> 32;
  return hash != 0 ? hash : 1;
}

}  // namespace

// The hash stands for the key: among a million rows, two of the 2^64 values are equal with a
// probability of 1 in 10^7.
CountRow* find_count(const CountKey& key) {
  const std::uint64_t hash = hash_of(key);
  for (unsigned part = 0; part < kMaxParts; ++part) {
    CountRow* const rows = count_parts[part].load(std::memory_order_acquire);  // (2)
    if (rows == nullptr) return nullptr;
    const std::size_t mask = (std::size_t(1) << (kFirstBits + part)) - 1;
    for (unsigned i = 0; i < kWindow; ++i) {
      CountRow& row = rows[(hash + i) & mask];
      std::uint64_t found = row.hash.load(std::memory_order_relaxed);
      if (found == hash) return &row;
      if (found != 0) continue;
      // relaxed both: the hash alone says whose row it is
      if (row.hash.compare_exchange_strong(found, hash, std::memory_order_relaxed)) {
        row.key = key;
        row.is_ready.store(true, std::memory_order_release);  // (3) publishes the key to (4)
        rows_in_part[part].fetch_add(1, std::memory_order_relaxed);
        return &row;
      }
      if (found == hash) return &row;
    }
  }
  return nullptr;
}

// The last part is kept nearly empty: only there can a key find all its places taken.
void reserve_counts() {
  constexpr unsigned kMaxShare = 64;
  for (unsigned part = 0; part < kMaxParts; ++part) {
    const std::size_t size = std::size_t(1) << (kFirstBits + part);
    if (count_parts[part].load(std::memory_order_relaxed) !=
        nullptr) {  // relaxed: only this thread sets
      if (rows_in_part[part].load(std::memory_order_relaxed) < size / kMaxShare) return;
      continue;
    }
    auto* const rows = static_cast<CountRow*>(allocate_metadata(size * sizeof(CountRow)));
    if (rows != nullptr) count_parts[part].store(rows, std::memory_order_release);  // (1)
    return;
  }
}

void for_each_count(void (*visit)(void* context, const CountRow& row), void* context) {
  for (unsigned part = 0; part < kMaxParts; ++part) {
    const CountRow* const rows = count_parts[part].load(std::memory_order_acquire);  // (2)
    if (rows == nullptr) return;
    for (std::size_t i = 0; i < std::size_t(1) << (kFirstBits + part); ++i) {
      // (4) acquire: sees the key published by (3)
      if (rows[i].is_ready.load(std::memory_order_acquire)) visit(context, rows[i]);
    }
  }
}

}  // namespace corbel::alloc
