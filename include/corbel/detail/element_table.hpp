// SPDX-License-Identifier: Apache-2.0
// The tables of enumerable_thread_specific: from a thread to its element, and all elements in the
// order in which they were made. Not for programs to include.
#ifndef CORBEL_DETAIL_ELEMENT_TABLE_HPP
#define CORBEL_DETAIL_ELEMENT_TABLE_HPP

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
#include <corbel/detail/swap_atomics.hpp>

namespace corbel {
namespace detail {

// Returns a nonzero number that no other running thread has.
inline std::uintptr_t thread_key() noexcept {
  const std::thread::id id = std::this_thread::get_id();
  static_assert(sizeof(id) <= sizeof(std::uintptr_t), "an id is a word");
  std::uintptr_t key = 0;
  std::memcpy(&key, &id, sizeof(id));
  return key;
}

// The unit in which the tables request memory from the allocator.
union table_word {
  std::uintptr_t number;
  void* pointer;
};

// A hash table with linear probing. find() reads only the newest table and takes no lock: a
// thread's own entry is there, because the thread inserted it, or the thread that made the table
// copied it. add() takes a lock. A table that has become too small is kept until clear(), since
// other threads may be reading it; all old tables together are as large as the newest.
//
// Entries are never removed from a table, so a look-up that reaches an empty entry has seen all
// positions that the key could be at.
//
// The caller owns the elements. `Allocator`, for any type, provides the memory of the tables.
template <typename Allocator>
class element_table {
 public:
  element_table() = default;
  ~element_table() { clear(); }
  element_table(const element_table&) = delete;
  element_table& operator=(const element_table&) = delete;

  // Returns the element of the calling thread, which has the given key, or nullptr.
  void* find(std::uintptr_t key) const noexcept {
    // (1) acquire: sees the entries that were copied before (2)
    const table* const newest = newest_.load(std::memory_order_acquire);
    if (newest == nullptr) return nullptr;
    for (std::size_t i = newest->home(key);; i = newest->next(i)) {
      // (3) acquire: sees the element that was stored before (4)
      const std::uintptr_t found = newest->entries()[i].key.load(std::memory_order_acquire);
      if (found == key) return newest->entries()[i].element;
      if (found == 0) return nullptr;
    }
  }

  // Adds the element of the thread with the given key, which must have none. Throws what the
  // allocator throws; nothing has changed then.
  void add(std::uintptr_t key, void* element) {
    lock_guard lock(mutex_);
    // relaxed, both: written only under the lock
    table* newest = newest_.load(std::memory_order_relaxed);
    const std::size_t size = size_.load(std::memory_order_relaxed);
    if (newest == nullptr || size == newest->capacity()) newest = grow(newest);
    newest->elements()[size] = element;
    insert(*newest, key, element);
    size_.store(size + 1, std::memory_order_release);  // (6) release: publishes the element to (5)
  }

  // Returns the number of elements. The calling thread may then read that many elements.
  std::size_t size() const noexcept {
    return size_.load(
        std::memory_order_acquire);  // (5) acquire: sees the elements added before (6)
  }

  // Returns the i-th element, in the order in which they were added; i < size().
  void* operator[](std::size_t i) const noexcept {
    // (7) acquire: sees the elements that were copied before (2)
    return newest_.load(std::memory_order_acquire)->elements()[i];
  }

  // ---- no other function may run at the same time -----------------------------------------------

  // Removes all entries and frees the tables.
  void clear() noexcept {
    // relaxed, all: no other thread uses the object now
    table* old = newest_.load(std::memory_order_relaxed);
    newest_.store(nullptr, std::memory_order_relaxed);
    size_.store(0, std::memory_order_relaxed);
    while (old != nullptr) {
      table* const older = old->older;
      const std::size_t words = table::words(old->log);
      old->~table();
      word_traits::deallocate(allocator_, reinterpret_cast<table_word*>(old), words);
      old = older;
    }
  }

  void swap(element_table& other) noexcept {
    swap_atomics(newest_, other.newest_);
    swap_atomics(size_, other.size_);
    std::swap(allocator_, other.allocator_);
  }

  // Returns the key of the thread whose element is the i-th.
  std::uintptr_t key_of(std::size_t i) const noexcept {
    // relaxed, both: no other thread uses the object now
    const table* const newest = newest_.load(std::memory_order_relaxed);
    const entry* found = newest->entries();
    while (found->element != newest->elements()[i]) ++found;
    return found->key.load(std::memory_order_relaxed);
  }

 private:
  struct entry {
    std::atomic<std::uintptr_t> key;  // 0: empty
    void* element;
  };

  using word_allocator =
      typename std::allocator_traits<Allocator>::template rebind_alloc<table_word>;
  using word_traits = std::allocator_traits<word_allocator>;

  // Space for 2^log elements, with twice as many hash entries. One block of memory holds the table
  // itself, then the hash entries, then the elements.
  struct table {
    explicit table(int log_of_capacity, table* older_table)
        : older(older_table), log(log_of_capacity) {
      for (std::size_t i = 0; i < 2 * capacity(); ++i) {
        entry* const empty = ::new (static_cast<void*>(entries() + i)) entry;
        empty->key.store(0, std::memory_order_relaxed);  // relaxed: (2) publishes it
        empty->element = nullptr;
      }
    }

    std::size_t capacity() const noexcept { return std::size_t(1) << log; }
    entry* entries() const noexcept {
      return reinterpret_cast<entry*>(const_cast<table*>(this) + 1);
    }
    void** elements() const noexcept {
      return reinterpret_cast<void**>(entries() + 2 * capacity());
    }

    // Fibonacci hashing: multiplies by 2^64 divided by the golden ratio, after which the upper bits
    // depend on all bits of the key.
    std::size_t home(std::uintptr_t key) const noexcept {
      return static_cast<std::size_t>((std::uint64_t{key} * 0x9E3779B97F4A7C15U) >> (63 - log));
    }
    std::size_t next(std::size_t i) const noexcept { return (i + 1) & (2 * capacity() - 1); }

    static std::size_t words(int log) {
      return (sizeof(table) + (sizeof(entry) * 2 + sizeof(void*)) * (std::size_t(1) << log)) /
             sizeof(table_word);
    }

    table* older;
    int log;
  };
  static_assert(sizeof(table) % sizeof(table_word) == 0 && sizeof(entry) % sizeof(table_word) == 0,
                "what follows a table in memory is aligned");

  static constexpr int kFirstLog = 3;

  // Makes a table of twice the size, with the entries and elements of the old one.
  table* grow(table* old) {
    const int log = old == nullptr ? kFirstLog : old->log + 1;
    table_word* const memory = word_traits::allocate(allocator_, table::words(log));
    table* const grown = ::new (static_cast<void*>(memory)) table(log, old);
    if (old != nullptr) {
      for (std::size_t i = 0; i < old->capacity(); ++i) grown->elements()[i] = old->elements()[i];
      for (std::size_t i = 0; i < 2 * old->capacity(); ++i) {
        const entry& from = old->entries()[i];
        const std::uintptr_t key = from.key.load(std::memory_order_relaxed);  // relaxed: the lock
        if (key != 0) insert(*grown, key, from.element);
      }
    }
    newest_.store(grown,
                  std::memory_order_release);  // (2) release: publishes the copies to (1), (7)
    return grown;
  }

  static void insert(table& into, std::uintptr_t key, void* element) {
    std::size_t i = into.home(key);
    // relaxed: written only under the lock
    while (into.entries()[i].key.load(std::memory_order_relaxed) != 0) i = into.next(i);
    into.entries()[i].element = element;
    // (4) release: publishes the element to (3)
    into.entries()[i].key.store(key, std::memory_order_release);
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

#endif  // CORBEL_DETAIL_ELEMENT_TABLE_HPP
