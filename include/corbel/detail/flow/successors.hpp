// SPDX-License-Identifier: Apache-2.0
// The receivers that a node pushes its messages to. Not for programs to include.
//
// Messages are passed on without a lock. The usual one or two successors lie in the object itself.
// The second gives its place to a table once there are more, and lies in that then; the table grows
// by making a new one. Entries change in place: nullptr is free. A table that has been replaced
// stays until the end of the object, since threads may still read it; tables double, so all of them
// take less than twice the last one. Changes take the lock.
//
// A successor that rejects a message may take over the edge (messages.hpp). It is removed from here
// under the lock, so that a registration by the successor, which may find the sender empty at once,
// comes after the removal. So register_predecessor is called under the lock, and so may be
// remove_predecessor: they must not call the sender. The order of locks is: sender, then receiver.
//
// A thread that passes on a message while an edge is added or removed may miss the new successor,
// or still give the message to the old one. A receiver must not be destroyed while its predecessors
// may pass on messages.
#ifndef CORBEL_DETAIL_FLOW_SUCCESSORS_HPP
#define CORBEL_DETAIL_FLOW_SUCCESSORS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/flow/pointer_list.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

// The protocol, for entries of any type. Any thread may call any member at any time, except the
// destructor.
template <typename Entry, template <typename> class Atomic = plain_atomic,
          typename Lock = spinning_mutex>
class edge_list {
 public:
  edge_list() = default;
  edge_list(const edge_list&) = delete;
  edge_list& operator=(const edge_list&) = delete;
  ~edge_list() {
    // relaxed: no other thread uses the object
    for (table* t = table_of(second_.load(std::memory_order_relaxed)); t != nullptr;) {
      table* const older = t->older;
      deallocate_block(t, table::bytes_for(t->capacity));
      t = older;
    }
  }

  // Adds an entry. Throws bad_alloc.
  void add(Entry& entry) {
    const lock_scope lock(lock_);
    // relaxed loads: see find_in
    if (first_.load(std::memory_order_relaxed) == nullptr) {
      // (1) release: publishes what the entry points to to (2)
      first_.store(&entry, std::memory_order_release);
      return;
    }
    const std::uintptr_t second = second_.load(std::memory_order_relaxed);
    if (second == 0) {
      // (1) release: as above
      second_.store(reinterpret_cast<std::uintptr_t>(&entry), std::memory_order_release);
      return;
    }
    Atomic<Entry*>* const free = find_in(table_of(second), nullptr);
    // (1) release: as above
    (free != nullptr ? free : grow(second))->store(&entry, std::memory_order_release);
  }

  // Removes one entry of this value; returns false if there is none. Calls may_remove() under the
  // lock first, and does not remove the entry if that returns false.
  template <typename MayRemove>
  bool remove_if(const Entry& entry, const MayRemove& may_remove) {
    return remove_if(entry, may_remove, [] {});
  }
  // Calls otherwise() under the lock if there is no entry of this value.
  template <typename MayRemove, typename Otherwise>
  bool remove_if(const Entry& entry, const MayRemove& may_remove, const Otherwise& otherwise) {
    const lock_scope lock(lock_);
    // relaxed loads: see find_in. relaxed stores: publish nothing
    if (first_.load(std::memory_order_relaxed) == &entry) {
      if (!may_remove()) return false;
      first_.store(nullptr, std::memory_order_relaxed);
      return true;
    }
    const std::uintptr_t second = second_.load(std::memory_order_relaxed);
    if (second == reinterpret_cast<std::uintptr_t>(&entry)) {
      if (!may_remove()) return false;
      second_.store(0, std::memory_order_relaxed);
      return true;
    }
    Atomic<Entry*>* const found = find_in(table_of(second), &entry);
    if (found == nullptr) {
      otherwise();
      return false;
    }
    if (!may_remove()) return false;
    found->store(nullptr, std::memory_order_relaxed);
    return true;
  }

  // Calls f(entry) for all entries until it returns true. Returns whether one did.
  template <typename F>
  bool find_one(const F& f) const {
    // (2) acquire, both: see what (1) and (3) published
    Entry* const first = first_.load(std::memory_order_acquire);
    const std::uintptr_t second = second_.load(std::memory_order_acquire);  // (2)
    if (first != nullptr && f(*first)) return true;
    if (second == 0) return false;
    const table* const t = table_of(second);
    if (CORBEL_LIKELY(t == nullptr)) return f(*reinterpret_cast<Entry*>(second));
    for (std::uint32_t i = 0; i < t->capacity; ++i) {
      Entry* const entry = t->entry(i).load(std::memory_order_acquire);  // (2)
      if (entry != nullptr && f(*entry)) return true;
    }
    return false;
  }

  // The only entry; nullptr if there may be others, or none.
  Entry* get_only() const {
    // (2) acquire: see find_one. relaxed: only compared, what it points to is not read
    Entry* const first = first_.load(std::memory_order_acquire);
    return CORBEL_LIKELY(second_.load(std::memory_order_relaxed) == 0) ? first : nullptr;
  }

  bool empty() const {
    return !find_one([](Entry&) { return true; });
  }

  // Removes all entries.
  void clear() {
    find_one([this](Entry& entry) {
      remove_if(entry, [] { return true; });
      return false;
    });
  }

 private:
  struct table {
    table* older;
    std::uint32_t capacity;

    static std::size_t bytes_for(std::size_t capacity) {
      return sizeof(table) + capacity * sizeof(Atomic<Entry*>);
    }
    Atomic<Entry*>& entry(std::size_t i) const {
      return reinterpret_cast<Atomic<Entry*>*>(const_cast<table*>(this) + 1)[i];
    }
  };

  struct lock_scope {
    Lock& lock;
    explicit lock_scope(Lock& l) : lock(l) { lock.lock(); }
    ~lock_scope() { lock.unlock(); }
  };

  // Marks the address of a table in second_. Entries are aligned to more than one byte.
  static constexpr std::uintptr_t kIsTable = 1;

  static table* table_of(std::uintptr_t second) {
    return (second & kIsTable) != 0 ? reinterpret_cast<table*>(second - kIsTable) : nullptr;
  }

  // Returns where this value is; nullptr if nowhere. The lock is held, so all loads are relaxed:
  // only its holder changes entries.
  static Atomic<Entry*>* find_in(table* t, const Entry* entry) {
    for (std::uint32_t i = 0; t != nullptr && i < t->capacity; ++i) {
      if (t->entry(i).load(std::memory_order_relaxed) == entry) return &t->entry(i);
    }
    return nullptr;
  }

  // Makes a larger table in the place of `second`, which is an entry or a full table, and returns a
  // free entry in it. The lock is held: loads are relaxed as in find_in.
  CORBEL_NOINLINE Atomic<Entry*>* grow(std::uintptr_t second) {
    table* const old = table_of(second);
    const std::uint32_t used = old == nullptr ? 1 : old->capacity;
    const std::uint32_t capacity = old == nullptr ? 6 : 2 * used + 2;
    table* const t = ::new (allocate_block(table::bytes_for(capacity))) table{old, capacity};
    for (std::uint32_t i = 0; i < capacity; ++i) {
      Entry* moved = nullptr;
      if (i < used) {
        moved = old == nullptr ? reinterpret_cast<Entry*>(second)
                               : old->entry(i).load(std::memory_order_relaxed);
      }
      ::new (&t->entry(i)) Atomic<Entry*>(moved);
    }
    // (3) release: publishes the table, and what the moved entries point to, to (2)
    second_.store(reinterpret_cast<std::uintptr_t>(t) | kIsTable, std::memory_order_release);
    return &t->entry(used);
  }

  Atomic<Entry*> first_{nullptr};
  Atomic<std::uintptr_t> second_{0};  // an entry, a table (kIsTable) or 0
  Lock lock_;
};

// The successors of one output. `owner`, in all functions, is the sender whose successors these
// are.
template <typename T>
class successor_cache {
 public:
  using receiver_type = flow::receiver<T>;
  using sender_type = flow::sender<T>;

  // Adds an edge to `to`, which learns of it if it counts its predecessors. Throws bad_alloc.
  bool register_successor(sender_type& owner, receiver_type& to) {
    if (!to.is_continue_receiver()) {
      successors_.add(to);
      return true;
    }
    // First, so that no message comes over an edge that is not counted.
    struct counter {
      sender_type& owner;
      receiver_type* to;
      ~counter() {
        if (CORBEL_UNLIKELY(to != nullptr)) to->remove_predecessor(owner);
      }
    } counts{owner, &to};
    to.register_predecessor(owner);
    successors_.add(to);
    counts.to = nullptr;
    return true;
  }
  // Removes one edge to `to`. One that pulls is removed at the receiver, under the lock that an
  // edge needs to become another kind. Returns false if there is no edge that pushes.
  bool remove_successor(sender_type& owner, receiver_type& to) {
    const bool counts = to.is_continue_receiver();
    const bool found = successors_.remove_if(
        to, [] { return true; },
        [&] {
          if (!counts) to.remove_predecessor(owner);
        });
    if (found && counts) to.remove_predecessor(owner);
    return found;
  }
  // Removes all edges, for the reset of a graph: the successors forget them by themselves.
  void clear() { successors_.clear(); }
  bool empty() const { return successors_.empty(); }

  // Pushes the message to all successors. Edges to those that reject it may become pull edges.
  // Returns what try_put_task returns: nullptr if no successor has accepted the message. Throws
  // what they throw, and bad_alloc.
  graph_task* put_to_all(sender_type& owner, const T& message, const flow::message_metainfo& info) {
    if (receiver_type* const only = successors_.get_only()) return put(owner, *only, message, info);
    next_task all;
    successors_.find_one([&](receiver_type& to) {
      all.add(put(owner, to, message, info));
      return false;
    });
    return all.take();
  }

  // Pushes the message to the first successor that accepts it. Otherwise as above.
  graph_task* put_to_one(sender_type& owner, const T& message, const flow::message_metainfo& info) {
    graph_task* result = nullptr;
    successors_.find_one([&](receiver_type& to) {
      result = put(owner, to, message, info);
      return result != nullptr;
    });
    return result;
  }

 private:
  graph_task* put(sender_type& owner, receiver_type& to, const T& message,
                  const flow::message_metainfo& info) {
    graph_task* const next =
        CORBEL_LIKELY(info.empty()) ? to.try_put_task(message) : to.try_put_task(message, info);
    if (CORBEL_UNLIKELY(next == nullptr)) {
      // The receiver remembers the sender before it is removed here. If it has become free since it
      // rejected the message, it makes sure that it pulls.
      successors_.remove_if(to, [&] { return to.register_predecessor(owner); });
    }
    return next;
  }

  edge_list<receiver_type> successors_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_SUCCESSORS_HPP
