// SPDX-License-Identifier: Apache-2.0
// How threads grow a concurrent_vector at the same time. Not for programs to include.
#ifndef CORBEL_DETAIL_VECTOR_GROWTH_HPP
#define CORBEL_DETAIL_VECTOR_GROWTH_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Two numbers: how many elements threads have claimed, and for how many there is memory. A thread
// claims elements with one addition and never gives them back. If they have memory, which one load
// tells, the thread constructs them. Else it takes the lock, and unless another thread has done so
// meanwhile, adds memory up to its last element, for all elements in order. So any thread can add
// what it needs: none waits for a thread that has claimed lower elements but does not run. Threads
// that wait for the lock sleep.
//
// Memory is published by its amount: a thread that has read an amount with acquire sees the table
// of the segments that the thread which stored it, or an earlier one, wrote. The table itself may
// be replaced by a longer one meanwhile, which has the same entries, and more.
//
// If an allocation fails, the lock is released and the object is broken: from then on the amount
// stays as it is, and every thread that needs more is refused. As the lock is released, no thread
// waits for the one that failed.
//
// The atomics and the lock's system are parameters so that a model checker can run this very source
// (test/model/vector_growth_model.cpp).
//
// The two numbers are in two classes so that the owner can keep them a cache line apart: every
// growing thread writes the number of claimed elements, while the rest changes seldom.
template <template <typename> class Atomic>
class basic_vector_claims {
 public:
  // Claims `n` elements and returns the index of the first.
  std::size_t claim(std::size_t n) noexcept {
    return claimed_.fetch_add(n, std::memory_order_relaxed);  // relaxed: only hands out numbers
  }

  // Claims all elements below `n` that are not claimed yet and returns the index of the first; `n`
  // if there are none.
  std::size_t claim_up_to(std::size_t n) noexcept {
    std::size_t first = claimed();
    while (first < n) {
      // relaxed, both: only hands out numbers
      if (claimed_.compare_exchange_weak(first, n, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return first;
      }
    }
    return n;
  }

  std::size_t claimed() const noexcept {
    return claimed_.load(std::memory_order_relaxed);  // relaxed: (1) is what a reader needs
  }

  // No other function may run at the same time.
  void set_claimed(std::size_t n) noexcept {
    claimed_.store(n, std::memory_order_relaxed);  // relaxed: no other thread uses the object now
  }

 private:
  Atomic<std::size_t> claimed_{0};
};

// The memory of the elements. The table has kShort entries at first, which lie in this object.
template <template <typename> class Atomic, typename System, typename Entry, int kShort>
class basic_vector_memory {
 public:
  basic_vector_memory() : short_table_() {
    table_.store(short_table_, std::memory_order_relaxed);  // relaxed: no other thread knows it yet
  }
  basic_vector_memory(const basic_vector_memory&) = delete;
  basic_vector_memory& operator=(const basic_vector_memory&) = delete;

  // ---- any thread may call these at any time ----------------------------------------------------

  // Returns the number of elements that have memory, from the first on. The caller may then read
  // their entries of the table.
  std::size_t capacity() const noexcept {
    // (1) acquire: sees the entries written before (2)
    return capacity_.load(std::memory_order_acquire);
  }

  // The table, with at least the entries for the capacity that the thread has read.
  Entry* table() const noexcept {
    return table_.load(std::memory_order_acquire);  // (3) acquire: sees the copies made before (4)
  }

  // Makes sure that there is memory for the first `n` elements. Returns false if the object is
  // broken. Calls add(capacity, n), under the lock, until there is enough: it adds memory, writes
  // the entries and returns the new capacity. If it throws, or returns the old capacity, the object
  // is broken if `breaks`.
  template <typename Add>
  bool reach(std::size_t n, const Add& add, bool breaks = true) {
    if (n <= capacity()) return true;
    critical_section section(*this, breaks);
    std::size_t now = capacity_.load(std::memory_order_relaxed);  // relaxed: the lock
    while (now < n) {
      if (broken_) return false;
      section.fails = true;
      const std::size_t more = add(now, n);
      if (more == now) return false;
      section.fails = false;
      now = more;
      capacity_.store(now, std::memory_order_release);  // (2) release: publishes the entries to (1)
    }
    return true;
  }

  // For `add`: makes `longer` the table, which has the same entries as the old one, and more.
  void set_table(Entry* longer) noexcept {
    table_.store(longer, std::memory_order_release);  // (4) release: publishes the copies to (3)
  }

  // ---- no other function may run at the same time -----------------------------------------------

  void set_capacity(std::size_t n) noexcept {
    capacity_.store(n, std::memory_order_relaxed);  // relaxed: no other thread uses the object now
  }
  void mend() noexcept { broken_ = false; }

  Entry* short_table() noexcept { return short_table_; }
  bool has_short_table() const noexcept { return table() == short_table_; }

 private:
  // Holds the lock. At the end, the object is broken if `fails`.
  class critical_section {
   public:
    critical_section(basic_vector_memory& object, bool breaks) : object_(object), breaks_(breaks) {
      object_.lock_.lock();
    }
    ~critical_section() {
      if (fails && breaks_) object_.broken_ = true;
      object_.lock_.unlock();
    }
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;

    bool fails = false;

   private:
    basic_vector_memory& object_;
    const bool breaks_;
  };

  Atomic<std::size_t> capacity_{0};
  Atomic<Entry*> table_{nullptr};
  Entry short_table_[kShort];
  basic_mutex<Atomic, System> lock_;
  bool broken_ = false;  // under the lock
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_VECTOR_GROWTH_HPP
