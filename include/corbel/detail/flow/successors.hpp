// SPDX-License-Identifier: Apache-2.0
// The receivers that a node pushes its messages to. Not for programs to include.
//
// Messages are passed on without a lock. The usual one or two successors lie in the object itself.
// The second gives its place to a table once there are more, and lies in that then; the table grows
// by making a new one. Entries change in place: nullptr is free. A table that has been replaced
// stays until the end of the object, since threads may still read it; tables double, so all of them
// take less than twice the last one. Changes take the lock.
//
// A successor that rejects a message may take over the edge (messages.hpp). It is set aside here
// under the lock, so that a registration by the successor, which may find the sender empty at once,
// comes after that. So register_predecessor is called under the lock, and so may be
// remove_predecessor: they must not call the sender. The order of locks is: sender, then receiver.
//
// An edge that comes back gets its old place, which a mark keeps for it. Otherwise two such edges
// could change places, and a thread that has given its message to one of them would meet it again.
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

  // Adds an entry, at its old place if it was set aside. Throws bad_alloc.
  void add(Entry& entry) {
    const mutex_guard<Lock> lock(lock_);
    place* p = find(mark_of(entry));
    if (p == nullptr) p = find(0);
    // (1) release: publishes what the entry points to to (2)
    (p != nullptr ? p : grow())->store(bits_of(entry), std::memory_order_release);
  }

  // Adds an entry that is set aside. Throws bad_alloc.
  void add_aside(Entry& entry) {
    const mutex_guard<Lock> lock(lock_);
    place* p = find(0);
    // relaxed: publishes nothing; grow() has published its table
    (p != nullptr ? p : grow())->store(mark_of(entry), std::memory_order_relaxed);
  }
  // Adds an entry that is set aside, if it still is, unless stays_aside() returns true, which is
  // called under the lock.
  template <typename StaysAside>
  void add_back_unless(Entry& entry, const StaysAside& stays_aside) {
    const mutex_guard<Lock> lock(lock_);
    place* const p = find(mark_of(entry));
    if (p == nullptr || stays_aside()) return;
    p->store(bits_of(entry), std::memory_order_release);  // (1) release: as in add
  }

  // Removes one entry of this value; returns false if there is none, or it is set aside.
  bool remove(Entry& entry) {
    return remove(entry, [] {});
  }
  // Calls otherwise() under the lock if it returns false.
  template <typename Otherwise>
  bool remove(Entry& entry, const Otherwise& otherwise) {
    const mutex_guard<Lock> lock(lock_);
    place* p = find(bits_of(entry));
    const bool found = p != nullptr;
    if (!found) p = find(mark_of(entry));
    if (p != nullptr) p->store(0, std::memory_order_relaxed);  // relaxed: publishes nothing
    if (!found) otherwise();
    return found;
  }

  // Sets one entry of this value aside until it is added again, if there is one and may_set_aside()
  // returns true, which is called under the lock.
  template <typename MaySetAside>
  CORBEL_NOINLINE void set_aside_if(Entry& entry, const MaySetAside& may_set_aside) {
    const mutex_guard<Lock> lock(lock_);
    place* const p = find(bits_of(entry));
    if (p == nullptr || !may_set_aside()) return;
    p->store(mark_of(entry), std::memory_order_relaxed);  // relaxed: publishes nothing
  }

  // Calls f(entry) for all entries until it returns true. Returns whether one did.
  template <typename F>
  bool find_one(const F& f) const {
    // (2) acquire, both: see what (1) and (3) published
    const std::uintptr_t first = first_.load(std::memory_order_acquire);
    const std::uintptr_t second = second_.load(std::memory_order_acquire);  // (2)
    if (is_entry(first) && f(entry_of(first))) return true;
    const table* const t = table_of(second);
    if (CORBEL_LIKELY(t == nullptr)) return is_entry(second) && f(entry_of(second));
    for (std::uint32_t i = 0; i < t->capacity; ++i) {
      const std::uintptr_t entry = t->entry(i).load(std::memory_order_acquire);  // (2)
      if (is_entry(entry) && f(entry_of(entry))) return true;
    }
    return false;
  }

  // The only entry; nullptr if there may be others, or none.
  Entry* get_only() const {
    // (2) acquire: see find_one. relaxed: only compared, what it points to is not read
    const std::uintptr_t first = first_.load(std::memory_order_acquire);
    const std::uintptr_t second = second_.load(std::memory_order_relaxed);
    return CORBEL_LIKELY((second | (first & kIsMark)) == 0) ? reinterpret_cast<Entry*>(first)
                                                            : nullptr;
  }

  bool empty() const {
    return !find_one([](Entry&) { return true; });
  }

  // Removes all entries.
  void clear() {
    const mutex_guard<Lock> lock(lock_);
    // relaxed, all: publish nothing; see find
    first_.store(0, std::memory_order_relaxed);
    table* const t = table_of(second_.load(std::memory_order_relaxed));
    if (t == nullptr) second_.store(0, std::memory_order_relaxed);
    for (std::uint32_t i = 0; t != nullptr && i < t->capacity; ++i)
      t->entry(i).store(0, std::memory_order_relaxed);
  }

 private:
  // 0, an entry, the mark of one that is set aside (kIsMark), or, only in second_, a table
  // (kIsTable). Entries are aligned to four bytes or more.
  using place = Atomic<std::uintptr_t>;
  static constexpr std::uintptr_t kIsMark = 1;
  static constexpr std::uintptr_t kIsTable = 2;

  struct table {
    table* older;
    std::uint32_t capacity;

    static std::size_t bytes_for(std::size_t capacity) {
      return sizeof(table) + capacity * sizeof(place);
    }
    place& entry(std::size_t i) const {
      return reinterpret_cast<place*>(const_cast<table*>(this) + 1)[i];
    }
  };

  static std::uintptr_t bits_of(Entry& entry) { return reinterpret_cast<std::uintptr_t>(&entry); }
  static std::uintptr_t mark_of(Entry& entry) { return bits_of(entry) | kIsMark; }
  static bool is_entry(std::uintptr_t bits) { return bits != 0 && (bits & kIsMark) == 0; }
  static Entry& entry_of(std::uintptr_t bits) { return *reinterpret_cast<Entry*>(bits); }
  static table* table_of(std::uintptr_t second) {
    return (second & kIsTable) != 0 ? reinterpret_cast<table*>(second - kIsTable) : nullptr;
  }

  // Returns a place with these bits; nullptr if there is none. The lock is held, so all loads are
  // relaxed: only its holder changes places.
  place* find(std::uintptr_t bits) {
    if (first_.load(std::memory_order_relaxed) == bits) return &first_;
    const std::uintptr_t second = second_.load(std::memory_order_relaxed);
    table* const t = table_of(second);
    if (t == nullptr) return second == bits ? &second_ : nullptr;
    for (std::uint32_t i = 0; i < t->capacity; ++i) {
      if (t->entry(i).load(std::memory_order_relaxed) == bits) return &t->entry(i);
    }
    return nullptr;
  }

  // Makes a larger table, into which the second entry or the full table moves, and returns a free
  // place in it. The lock is held: loads are relaxed as in find.
  CORBEL_NOINLINE place* grow() {
    const std::uintptr_t second = second_.load(std::memory_order_relaxed);
    table* const old = table_of(second);
    const std::uint32_t used = old == nullptr ? 1 : old->capacity;
    const std::uint32_t capacity = old == nullptr ? 6 : 2 * used + 2;
    table* const t = ::new (allocate_block(table::bytes_for(capacity))) table{old, capacity};
    for (std::uint32_t i = 0; i < capacity; ++i) {
      std::uintptr_t moved = 0;
      if (i < used) moved = old == nullptr ? second : old->entry(i).load(std::memory_order_relaxed);
      ::new (&t->entry(i)) place(moved);
    }
    // (3) release: publishes the table, and what the moved entries point to, to (2)
    second_.store(reinterpret_cast<std::uintptr_t>(t) | kIsTable, std::memory_order_release);
    return &t->entry(used);
  }

  place first_{0};
  place second_{0};
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
  // Removes one edge to `to`; returns false if there is none. One that pulls is removed at the
  // receiver, under the lock that an edge needs to become another kind.
  bool remove_successor(sender_type& owner, receiver_type& to) {
    const bool counts = to.is_continue_receiver();
    bool pulled = false;
    const bool found = successors_.remove(to, [&] {
      if (!counts) pulled = to.remove_predecessor(owner);
    });
    if (found && counts) to.remove_predecessor(owner);
    return found || pulled;
  }
  // Adds an edge that is neither of the two kinds until end_aside. Throws bad_alloc.
  void add_aside(receiver_type& to) { successors_.add_aside(to); }
  // Lets the successor take over such an edge, or makes it a push edge. Does nothing if it has been
  // removed: that is decided under the lock, so that no removal comes in between. Throws what
  // register_predecessor throws.
  void end_aside(sender_type& owner, receiver_type& to) {
    successors_.add_back_unless(to, [&] { return to.register_predecessor(owner); });
  }
  void end_aside_as_push(receiver_type& to) {
    successors_.add_back_unless(to, [] { return false; });
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
      // The receiver remembers the sender before it is set aside here. If it has become free since
      // it rejected the message, it makes sure that it pulls.
      successors_.set_aside_if(to, [&] { return to.register_predecessor(owner); });
    }
    return next;
  }

  edge_list<receiver_type> successors_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_SUCCESSORS_HPP
