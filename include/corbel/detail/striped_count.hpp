// SPDX-License-Identifier: Apache-2.0
// A count that many threads raise. Not for programs to include.
#ifndef CORBEL_DETAIL_STRIPED_COUNT_HPP
#define CORBEL_DETAIL_STRIPED_COUNT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <corbel/detail/config.hpp>
#include <corbel/detail/swap_atomics.hpp>
#include <corbel/detail/thread_number.hpp>

namespace corbel {
namespace detail {

// Starts as one word. When the owner has provided memory for stripes, each thread counts in one of
// those: threads then do not take a cache line from each other with each element that they count.
// The total is exact when no thread counts.
class striped_count {
 public:
  static constexpr std::size_t kStripes = 16;
  // The memory that spread_out() takes, in bytes: any place in it may be the start of a cache line.
  static constexpr std::size_t kMemory = (kStripes + 1) * kCacheLine;

  // Adds one. Returns whether the total is over the limit; with stripes only one call of `period`,
  // a power of two, looks.
  bool raise(std::size_t limit, std::size_t period) noexcept {
    // (1) acquire: sees the stripes made before (2)
    stripe* const stripes = stripes_.load(std::memory_order_acquire);
    // relaxed, all: only a number
    if (stripes == nullptr) return shared_.fetch_add(1, std::memory_order_relaxed) + 1 > limit;
    stripe& mine = stripes[thread_number() % kStripes];
    const std::size_t count = mine.count.fetch_add(1, std::memory_order_relaxed) + 1;
    return (count & (period - 1)) == 0 && total() > limit;
  }

  std::size_t total() const noexcept {
    const stripe* const stripes = stripes_.load(std::memory_order_acquire);  // (1) as above
    // relaxed, all: only a number. A stripe alone may be less than 0; the sum is right
    std::size_t sum = shared_.load(std::memory_order_relaxed);
    if (stripes != nullptr) {
      for (std::size_t i = 0; i < kStripes; ++i) {
        sum += stripes[i].count.load(std::memory_order_relaxed);
      }
    }
    return sum;
  }

  bool has_stripes() const noexcept {
    return stripes_.load(std::memory_order_relaxed) != nullptr;  // relaxed: for the owner
  }

  // Makes the stripes in the memory. The owner frees the memory when no thread counts.
  void spread_out(void* memory) noexcept {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(memory);
    stripe* const stripes = reinterpret_cast<stripe*>((address + kCacheLine - 1) & -kCacheLine);
    for (std::size_t i = 0; i < kStripes; ++i) ::new (static_cast<void*>(stripes + i)) stripe;
    stripes_.store(stripes, std::memory_order_release);  // (2) release: publishes them to (1)
  }

  // ---- no other function may run at the same time ----------------------------------------------

  // Sets the total, and forgets the stripes.
  void assign(std::size_t total) noexcept {
    // relaxed, both: no other thread counts
    shared_.store(total, std::memory_order_relaxed);
    stripes_.store(nullptr, std::memory_order_relaxed);
  }

  void lower(std::size_t n) noexcept {
    shared_.fetch_sub(n, std::memory_order_relaxed);  // relaxed: only a number
  }

  void swap(striped_count& other) noexcept {
    swap_atomics(shared_, other.shared_);
    swap_atomics(stripes_, other.stripes_);
  }

 private:
  struct stripe {
    std::atomic<std::size_t> count{0};
    char line[kCacheLine - sizeof(std::atomic<std::size_t>)];
  };

  std::atomic<std::size_t> shared_{0};
  std::atomic<stripe*> stripes_{nullptr};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_STRIPED_COUNT_HPP
