// SPDX-License-Identifier: Apache-2.0
// The table behind enumerable_thread_specific: from a thread to its element, and all elements in
// the order in which they were made. Not for programs to include.
#ifndef CORBEL_DETAIL_THREAD_SLOTS_HPP
#define CORBEL_DETAIL_THREAD_SLOTS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A number other than 0 that no other running thread has.
inline std::uintptr_t thread_key() noexcept {
  const std::thread::id id = std::this_thread::get_id();
  static_assert(sizeof(id) <= sizeof(std::uintptr_t), "an id is a word");
  std::uintptr_t key = 0;
  std::memcpy(&key, &id, sizeof(id));
  return key;
}

// A unit of the tables' memory.
union slot_word {
  std::uintptr_t number;
  void* pointer;
};

// Finding looks at the newest table alone and takes no lock: a thread's own entry is in it, as the
// thread itself has put it there, or whoever made the table has copied it. Adding takes a lock. A
// table that has become too small is kept until all are dropped, since others may be reading it:
// all of them together are as long as the newest.
//
// In a table, entries are never removed; a look-up that meets an empty one has therefore seen all
// places that this key could be at.
//
// The elements are the caller's; `Allocator`, of any type, serves the tables.
template <typename Allocator>
class thread_slots {
 public:
  thread_slots() = default;
  ~thread_slots() { clear(); }
  thread_slots(const thread_slots&) = delete;
  thread_slots& operator=(const thread_slots&) = delete;

  // The calling thread's element, or nullptr.
  void* find() const noexcept {
    const std::uintptr_t key = thread_key();
    // (1) acquire: sees the entries copied before (2)
    const table* const newest = newest_.load(std::memory_order_acquire);
    if (newest == nullptr) return nullptr;
    for (std::size_t i = newest->home(key);; i = newest->next(i)) {
      // (3) acquire: sees the element that was stored before (4)
      const std::uintptr_t found = newest->slots()[i].key.load(std::memory_order_acquire);
      if (found == key) return newest->slots()[i].element;
      if (found == 0) return nullptr;
    }
  }

  // Enters the element of the calling thread, or of the one whose key is given, which must have
  // none. What the allocator throws passes, and nothing has changed.
  void add(void* element) { add(thread_key(), element); }
  void add(std::uintptr_t key, void* element) {
    lock_guard lock(mutex_);
    // relaxed, both: only written under the lock
    table* newest = newest_.load(std::memory_order_relaxed);
    const std::size_t size = size_.load(std::memory_order_relaxed);
    if (newest == nullptr || size == newest->capacity()) newest = grow(newest);
    newest->elements()[size] = element;
    enter(*newest, key, element);
    size_.store(size + 1, std::memory_order_release);  // (6) release: with (5)
  }

  // So many have been entered. A thread that reads it may read the elements before that.
  std::size_t size() const noexcept {
    return size_.load(std::memory_order_acquire);  // (5) acquire: with (6)
  }

  // The element that was entered as the i-th; i is less than size().
  void* operator[](std::size_t i) const noexcept {
    return newest_.load(std::memory_order_acquire)->elements()[i];  // acquire: as (1)
  }

  // ---- not beside any other call ----------------------------------------------------------------

  // Forgets all entries.
  void clear() noexcept {
    table* old =
        newest_.load(std::memory_order_relaxed);  // relaxed, and below: nobody else is here
    newest_.store(nullptr, std::memory_order_relaxed);
    size_.store(0, std::memory_order_relaxed);
    while (old != nullptr) {
      table* const older = old->older;
      const std::size_t words = table::words(old->log);
      old->~table();
      word_traits::deallocate(allocator_, reinterpret_cast<slot_word*>(old), words);
      old = older;
    }
  }

  void swap(thread_slots& other) noexcept {
    // relaxed, all: nobody else is here
    table* const mine = newest_.load(std::memory_order_relaxed);
    newest_.store(other.newest_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    other.newest_.store(mine, std::memory_order_relaxed);
    const std::size_t size = size_.load(std::memory_order_relaxed);
    size_.store(other.size_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    other.size_.store(size, std::memory_order_relaxed);
    std::swap(allocator_, other.allocator_);
  }

  // Whose the i-th element is.
  std::uintptr_t key_of(std::size_t i) const noexcept {
    const table* const newest = newest_.load(std::memory_order_relaxed);  // relaxed: as in clear()
    const slot* found = newest->slots();
    while (found->element != newest->elements()[i]) ++found;
    return found->key.load(std::memory_order_relaxed);
  }

 private:
  struct slot {
    std::atomic<std::uintptr_t> key;  // 0: empty
    void* element;
  };

  using word_allocator =
      typename std::allocator_traits<Allocator>::template rebind_alloc<slot_word>;
  using word_traits = std::allocator_traits<word_allocator>;

  // Room for 2^log elements, in twice as many slots: one block of memory, the table itself first,
  // then the slots, then the elements.
  struct table {
    explicit table(int log_of_capacity, table* older_table)
        : older(older_table), log(log_of_capacity) {
      for (std::size_t i = 0; i < 2 * capacity(); ++i) {
        slot* const empty = ::new (static_cast<void*>(slots() + i)) slot;
        empty->key.store(0, std::memory_order_relaxed);  // relaxed: (2) publishes it
        empty->element = nullptr;
      }
    }

    std::size_t capacity() const noexcept { return std::size_t(1) << log; }
    slot* slots() const noexcept { return reinterpret_cast<slot*>(const_cast<table*>(this) + 1); }
    void** elements() const noexcept { return reinterpret_cast<void**>(slots() + 2 * capacity()); }

    // Multiplied by 2^64 divided by the golden ratio; the upper bits depend on all of the key's.
    std::size_t home(std::uintptr_t key) const noexcept {
      return static_cast<std::size_t>((std::uint64_t{key} * 0x9E3779B97F4A7C15U) >> (63 - log));
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & (2 * capacity() - 1); }

    static std::size_t words(int log) {
      return (sizeof(table) + (sizeof(slot) * 2 + sizeof(void*)) * (std::size_t(1) << log)) /
             sizeof(slot_word);
    }

    table* older;
    int log;
  };
  static_assert(sizeof(table) % sizeof(slot_word) == 0 && sizeof(slot) % sizeof(slot_word) == 0,
                "what follows a table in memory is aligned");

  static constexpr int kFirstLog = 3;

  // Makes the table twice as long.
  table* grow(table* old) {
    const int log = old == nullptr ? kFirstLog : old->log + 1;
    slot_word* const memory = word_traits::allocate(allocator_, table::words(log));
    table* const grown = ::new (static_cast<void*>(memory)) table(log, old);
    if (old != nullptr) {
      for (std::size_t i = 0; i < old->capacity(); ++i) grown->elements()[i] = old->elements()[i];
      for (std::size_t i = 0; i < 2 * old->capacity(); ++i) {
        const slot& from = old->slots()[i];
        const std::uintptr_t key = from.key.load(std::memory_order_relaxed);  // relaxed: the lock
        if (key != 0) enter(*grown, key, from.element);
      }
    }
    newest_.store(grown, std::memory_order_release);  // (2) release: with (1)
    return grown;
  }

  static void enter(table& into, std::uintptr_t key, void* element) {
    std::size_t i = into.home(key);
    // relaxed: only written under the lock
    while (into.slots()[i].key.load(std::memory_order_relaxed) != 0) i = into.next(i);
    into.slots()[i].element = element;
    into.slots()[i].key.store(key, std::memory_order_release);  // (4) release: with (3)
  }

  class lock_guard {
   public:
    explicit lock_guard(spinning_mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    ~lock_guard() { mutex_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

   private:
    spinning_mutex& mutex_;
  };

  std::atomic<table*> newest_{nullptr};
  std::atomic<std::size_t> size_{0};
  spinning_mutex mutex_;
  word_allocator allocator_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_THREAD_SLOTS_HPP
