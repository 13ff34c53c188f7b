// SPDX-License-Identifier: Apache-2.0
// When an object that was unlinked from a container may be freed: when every thread that may still
// read it has left its reading section (epoch-based reclamation: K. Fraser, "Practical
// lock-freedom", 2004; with the fence on the reclaimer's side as in P1202, "Asymmetric Fences").
// Not for programs to include.
//
//   reader                            writer
//   {                                 unlink objects
//     reading_section section;        const epoch_number epoch = retire_epoch();
//     follow pointers                 ... later, once for many objects:
//   }                                 if (has_passed(epoch)) free the objects
//
// A section costs its reader two plain stores. A container keeps its own list of retired objects,
// and frees the rest of them when it is destroyed: then no thread may be using it.
#ifndef CORBEL_DETAIL_EPOCH_HPP
#define CORBEL_DETAIL_EPOCH_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

using epoch_number = std::uint64_t;

// A thread that reads. The thread alone writes it.
template <template <typename> class Atomic>
struct basic_epoch_reader {
  Atomic<epoch_number> since{0};  // the epoch in which its section began; 0: it is in none
};

// The epochs of all containers of the process. `System` has compiler_barrier() and
// process_barrier(), a full fence that every running thread passes.
//
// The argument. The objects of epoch e were unlinked before has_passed(e) passes its process
// barrier: by the caller, or by a thread whose (2) the caller has seen (6). Take any section of
// another thread. Its store (1) comes before the barrier in that thread, or after it.
//  - After: all that the section reads comes after the barrier, so it finds the objects unlinked.
//  - Before: the look (3) sees the store, or a later one of that thread. If it sees the section's
//    own epoch n, then either n < e, and the answer is no; or n >= e, and the section read n from
//    (2) or later, so it finds unlinked what was unlinked before (2). If it sees a later store, the
//    section has ended: that store is a release, and (3) acquires what the section did.
template <template <typename> class Atomic, typename System>
class basic_epochs {
 public:
  using reader = basic_epoch_reader<Atomic>;

  // Begins a section of `r`, which is in none.
  void enter(reader& r) {
    // acquire: sees what was unlinked before (2). (1) release: publishes the end of the section
    // before, as (4) does; if the thread enters again before a look, (3) sees only this store.
    r.since.store(current_.load(std::memory_order_acquire), std::memory_order_release);
    System::compiler_barrier();  // no pointer is followed before the store, see the argument
  }

  void leave(reader& r) {
    r.since.store(0, std::memory_order_release);  // (4) release: publishes the end to (3)
  }

  // Returns the epoch of the objects that the calling thread has unlinked.
  epoch_number retire() {
    // (2) acq_rel: publishes the unlinking to the sections of this epoch and of later ones
    return current_.fetch_add(1, std::memory_order_acq_rel) + 1;
  }

  // Returns whether every section that may read an object of the given epoch has ended. If the
  // answer is no, it may be asked again later. `each_reader` calls its argument with every
  // reader; none is added or removed meanwhile.
  template <typename EachReader>
  bool has_passed(epoch_number epoch, const EachReader& each_reader) {
    if (is_known_passed(epoch)) return true;
    // (6) acquire: sees what was unlinked before (2), by any thread. So it precedes the barrier,
    // and the answer holds for the objects of all threads up to this epoch.
    epoch_number oldest = current_.load(std::memory_order_acquire);
    System::process_barrier();
    each_reader(look{&oldest});
    // relaxed: the exchange compares
    epoch_number known = passed_.load(std::memory_order_relaxed);
    // (5) release: publishes the ends of the sections to the acquire load above; relaxed if it
    // fails: the loop compares again
    while (known < oldest &&
           !passed_.compare_exchange_weak(known, oldest, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
    return oldest >= epoch;
  }

  // The same, without looking: false if no call of has_passed() has found it.
  bool is_known_passed(epoch_number epoch) const {
    // acquire: sees the ends of the sections that the thread saw which stored the number (5)
    return passed_.load(std::memory_order_acquire) >= epoch;
  }

 private:
  struct look {
    epoch_number* oldest;

    void operator()(const reader& r) const {
      // (3) acquire: sees what the section did that has ended
      const epoch_number since = r.since.load(std::memory_order_acquire);
      if (since != 0 && since < *oldest) *oldest = since;
    }
  };

  Atomic<epoch_number> current_{1};
  Atomic<epoch_number> passed_{0};  // objects of this epoch and older ones are no longer read
};

using epochs = basic_epochs<plain_atomic, deque_system>;

// The calling thread as a reader.
struct epoch_reader : basic_epoch_reader<plain_atomic> {
  enum mode_type : std::uint8_t { kNew, kListed, kFencing, kUnlisted };

  unsigned depth = 0;  // of nested sections
  mode_type mode = kNew;
  epoch_reader* next = nullptr;  // in the list of all readers
  epoch_reader** link = nullptr;
};

CORBEL_LIBRARY_THREAD_VARIABLE(CORBEL_INITIAL_EXEC, epoch_reader, this_epoch_reader,
                               own_epoch_reader);
extern CORBEL_EXPORT epochs all_epochs;

// The first section of a thread, and every section where the system has no process barrier or the
// thread is not listed. Never fails.
CORBEL_EXPORT void enter_slowly(epoch_reader& reader) noexcept;
CORBEL_EXPORT void leave_slowly(epoch_reader& reader) noexcept;

// While it exists, no object is freed that its thread could reach in a container when it began.
// Sections nest. A thread that waits or sleeps in one keeps all containers from freeing memory.
class reading_section {
 public:
  reading_section() noexcept : reader_(own_epoch_reader()) {
    if (reader_.depth++ != 0) return;
    if (CORBEL_LIKELY(reader_.mode == epoch_reader::kListed)) {
      all_epochs.enter(reader_);
    } else {
      enter_slowly(reader_);
    }
  }
  ~reading_section() {
    if (--reader_.depth != 0) return;
    if (CORBEL_LIKELY(reader_.mode != epoch_reader::kUnlisted)) {
      all_epochs.leave(reader_);
    } else {
      leave_slowly(reader_);
    }
  }
  reading_section(const reading_section&) = delete;
  reading_section& operator=(const reading_section&) = delete;

 private:
  epoch_reader& reader_;
};

// Returns the epoch of the objects that the calling thread has unlinked.
inline epoch_number retire_epoch() noexcept { return all_epochs.retire(); }

// Returns whether the objects of an epoch may be freed. Costs a process barrier (less than a
// microsecond) and a look at each thread that reads, unless a later epoch is known to have passed:
// to be called once for many objects. Not in a reading section, which would wait for itself.
CORBEL_EXPORT bool has_passed(epoch_number epoch) noexcept;
// The same if an earlier call has found it. Costs a load.
inline bool is_known_passed(epoch_number epoch) noexcept {
  return all_epochs.is_known_passed(epoch);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_EPOCH_HPP
