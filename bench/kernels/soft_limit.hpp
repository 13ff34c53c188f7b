// SPDX-License-Identifier: Apache-2.0
// Shared by the three tests of the article on the soft heap limit: how the limit is set, and where
// a thread keeps its pointers.
//
// The article: "Controlling memory consumption with Intel Threading Building Blocks scalable
// allocator" (Intel, 2014). Its program prints the elapsed time of a test that every thread runs at
// once, and VmPeak. Its table has a column without a limit and limits of 500, 400 and 300 MB, on
// machines that run 4 and 8 threads.
//
// A case states its limit for four threads. Live memory grows with the number of threads, so each
// run sets a quarter of that limit per thread: the limit is equally tight in a row of one, two or
// four.
// `--full --threads 4` has the article's sizes and its 500, 400 and 300 MB.
//
// The smaller scales keep the proportion of limit to live memory. Four threads of test 1 have up to
// 4 x 1,000 x 100 KiB = 390 MiB alive. The limits are 1.28, 1.02 and 0.77 times that: the first
// leaves some room for buffers, the second almost none, and the third cannot be kept.
// With 1/n of the blocks, the limits are therefore 1/n of the article's. The other tests' live
// memory is of the same order, and their limits follow the same rule.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness.hpp"

namespace soft_limit {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

// The allocators with a soft limit.
inline const std::vector<std::string> kHaveLimit = {"tbbmalloc", "corbel"};

inline constexpr std::uint64_t kStatedFor = 4;  // threads

// Sets the limit of the run, if there is one. `limit` is in MiB, for four threads. The contestant
// provides the function.
inline void set(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t stated = arguments.number("limit", 0);
  if (stated == 0) return;
  const std::uint64_t bytes = stated * kMiB * arguments.threads() / kStatedFor;
  constexpr int kSetSoftHeapLimit = 1;  // TBBMALLOC_SET_SOFT_HEAP_LIMIT
  using Mode = int (*)(int, std::intptr_t);
  const auto mode = reinterpret_cast<Mode>(dlsym(RTLD_DEFAULT, "scalable_allocation_mode"));
  bench::check(mode != nullptr, "a limit was asked for, and this allocator has none to set");
  bench::check(mode(kSetSoftHeapLimit, static_cast<std::intptr_t>(bytes)) == 0,
               "the limit could not be set");
  result.extra["limit_mib"] = static_cast<double>(bytes) / static_cast<double>(kMiB);
}

// Whether blocks of `size` bytes at `a` and `b` do not overlap.
inline bool apart(const void* a, const void* b, std::size_t size) {
  const auto x = reinterpret_cast<std::uintptr_t>(a);
  const auto y = reinterpret_cast<std::uintptr_t>(b);
  return (x < y ? y - x : x - y) >= size;
}

// The article's array of pointers is on the thread's stack, which a million of them would fill.
// Here it is mapped directly, so that it is not in the allocator's heap and does not count in its
// limit.
class Slots {
 public:
  explicit Slots(std::size_t count) : count_(count) {
    void* const mapped = mmap(nullptr, count * sizeof(void*), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench::check(mapped != MAP_FAILED, "no memory for the pointers");
    blocks_ = static_cast<void**>(mapped);
    std::fill(begin(), end(), nullptr);
  }
  Slots(Slots&& other) noexcept : count_(other.count_), blocks_(other.blocks_) {
    other.blocks_ = nullptr;
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  Slots& operator=(Slots&&) = delete;
  ~Slots() {
    if (blocks_ != nullptr) munmap(blocks_, count_ * sizeof(void*));
  }

  void** begin() { return blocks_; }
  void** end() { return blocks_ + count_; }
  void*& operator[](std::size_t i) { return blocks_[i]; }
  std::size_t size() const { return count_; }

  // Whether the blocks of `size` bytes at the last recorded addresses, all alive at once, do not
  // overlap. For blocks that the article's test never writes to, so that they cannot hold a mark.
  // Must be called after the clock has stopped.
  bool were_apart(std::size_t size) {
    std::sort(begin(), end());
    for (std::size_t i = 1; i < count_; ++i) {
      if (!apart(blocks_[i - 1], blocks_[i], size)) return false;
    }
    return count_ == 0 || blocks_[0] != nullptr;
  }

 private:
  std::size_t count_;
  void** blocks_ = nullptr;
};

inline std::vector<Slots> slots_for(unsigned threads, std::size_t count) {
  std::vector<Slots> slots;
  slots.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) slots.emplace_back(count);
  return slots;
}

}  // namespace soft_limit
