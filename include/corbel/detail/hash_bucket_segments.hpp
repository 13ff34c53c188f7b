// SPDX-License-Identifier: Apache-2.0
// The memory of the buckets of a concurrent hash map, which grows and does not move. Not for
// programs to include.
#ifndef CORBEL_DETAIL_HASH_BUCKET_SEGMENTS_HPP
#define CORBEL_DETAIL_HASH_BUCKET_SEGMENTS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/detail/hash_bucket.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/swap_atomics.hpp>

namespace corbel {
namespace detail {

// An array of buckets in segments. Segment 0 has the first buckets; segment s has as many as all
// before it together. Threads may read buckets while one adds a segment; which of the buckets exist
// is for the owner to know.
template <template <typename> class Atomic, typename Sizes>
class basic_bucket_segments {
 public:
  using bucket = basic_bucket<Atomic>;

  static constexpr std::size_t kFirst = std::size_t{1} << Sizes::kFirstBits;
  static constexpr std::size_t kMax = kFirst << (Sizes::kSegments - 1);

  // Makes the first buckets.
  basic_bucket_segments() noexcept {
    // relaxed: published with the object
    for (Atomic<std::uintptr_t>& base : bases_) base.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kFirst; ++i) ::new (first_ + i) bucket(0);
    bases_[0].store(reinterpret_cast<std::uintptr_t>(first_), std::memory_order_relaxed);
  }
  basic_bucket_segments(const basic_bucket_segments&) = delete;
  basic_bucket_segments& operator=(const basic_bucket_segments&) = delete;

  // Bucket i, whose segment exists.
  bucket& at(std::size_t i) const noexcept {
    const auto top = static_cast<unsigned>(highest_bit(i | (kFirst >> 1)));
    // relaxed: what publishes the number of buckets has published it
    const std::uintptr_t base = bases_[top + 1 - Sizes::kFirstBits].load(std::memory_order_relaxed);
    return *reinterpret_cast<bucket*>(base + i * sizeof(bucket));
  }

  // Makes the memory of the segment that begins with bucket i, if there is none. One thread calls
  // it at a time. Throws what the source throws.
  template <typename Source>
  void add(std::size_t i, const Source& source) {
    const std::size_t s = highest_bit(i) - Sizes::kFirstBits + 1;
    // relaxed, both: the number of buckets publishes it
    if (bases_[s].load(std::memory_order_relaxed) != 0) return;
    static_assert((sizeof(bucket) & (sizeof(bucket) - 1)) == 0, "buckets fill cache lines");
    const auto memory = reinterpret_cast<std::uintptr_t>(source.allocate_buckets(i + 1));
    const std::uintptr_t aligned = (memory + sizeof(bucket) - 1) & ~(sizeof(bucket) - 1);
    const std::uintptr_t base = aligned - i * sizeof(bucket);
    *offset_of(base, i) = aligned - memory;
    bases_[s].store(base, std::memory_order_relaxed);
  }

  // Frees all segments but the first. No other thread uses the object.
  template <typename Source>
  void free_added(const Source& source) noexcept {
    for (std::size_t s = 1; s < Sizes::kSegments; ++s) {
      // relaxed, both: no other thread uses the object
      const std::uintptr_t base = bases_[s].load(std::memory_order_relaxed);
      if (base == 0) break;
      const std::size_t n = kFirst << (s - 1);
      const std::uintptr_t offset = *offset_of(base, n);
      source.free_buckets(reinterpret_cast<bucket*>(base + n * sizeof(bucket) - offset), n + 1);
      bases_[s].store(0, std::memory_order_relaxed);
    }
  }

  // Exchanges all buckets. No other thread uses either object.
  void swap(basic_bucket_segments& other) noexcept {
    for (std::size_t s = 1; s < Sizes::kSegments; ++s) swap_atomics(bases_[s], other.bases_[s]);
    for (std::size_t i = 0; i < kFirst; ++i) {
      swap_atomics(first_[i].state, other.first_[i].state);
      for (std::size_t s = 0; s < hash_tags::kSlots; ++s) {
        swap_atomics(first_[i].slots[s], other.first_[i].slots[s]);
      }
    }
  }

 private:
  // Of a segment of n buckets with this base: how far it begins after the start of its memory. It
  // is aligned to a cache line, which allocators before C++17 cannot do; so there is room for a
  // word at the end.
  static std::uintptr_t* offset_of(std::uintptr_t base, std::size_t n) noexcept {
    return reinterpret_cast<std::uintptr_t*>(base + 2 * n * sizeof(bucket));
  }

  // Where bucket 0 would be in the array of each segment; 0: there is none.
  Atomic<std::uintptr_t> bases_[Sizes::kSegments];
  union {
    bucket first_[kFirst];
  };
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_BUCKET_SEGMENTS_HPP
