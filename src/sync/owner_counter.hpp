// SPDX-License-Identifier: Apache-2.0
// A count that one thread writes and any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sync {

// Only the owner writes, so an increment is a plain load and a plain store. Readers get a recent
// value.
//
// Compilers turn `--n` into one instruction on memory, but not if `n` is an atomic object, and this
// is the hot path of free. An aligned 32-bit access is indivisible on every processor Corbel
// supports, so the plain form behaves like a relaxed atomic there. Under the thread sanitizer,
// which checks the source, the counter uses atomic accesses.
class OwnerCounter {
 public:
  std::uint32_t get() const { return value_; }

  // For threads other than the owner. relaxed: orders nothing; the value may be out of date. Hidden
  // from the thread sanitizer, because the memory may have been reused for something else.
  __attribute__((no_sanitize("thread"))) std::uint32_t peek() const {
    return __atomic_load_n(&value_, __ATOMIC_RELAXED);
  }

  void set(std::uint32_t n) {
#if defined(__SANITIZE_THREAD__)
    __atomic_store_n(&value_, n, __ATOMIC_RELAXED);  // relaxed: orders nothing; a protocol that
                                                     // reads it brings its own order
#else
    value_ = n;
#endif
  }

  void add(std::uint32_t n) { set(get() + n); }

  // Returns the new value.
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
