// SPDX-License-Identifier: Apache-2.0
// The locks whose operations are in the library. The program makes the objects, zeroed.
#include <corbel/detail/backoff.hpp>
#include <corbel/detail/basic_rw_mutex.hpp>

#include <cstddef>

#include "tbb12/layout.hpp"
#include "tbb12/queuing_lock.hpp"

namespace tbb::detail {

namespace d1 {

class queuing_rw_mutex {
 public:
  // The members of a QueuingLock's Holder; the program's code reads only `lock`.
  class scoped_lock {
   public:
    corbel::tbb12::QueuingLock::Holder holder;
  };

  corbel::tbb12::QueuingLock own;
};
static_assert(sizeof(queuing_rw_mutex) == 8);

// The program's code reads whether a lock is held (`state` is not 0).
class rtm_mutex {
 public:
  class scoped_lock {
   public:
    rtm_mutex* lock;
    int state;
  };

  std::atomic<bool> is_locked;
};

// The program's code reads from `state` whether a lock is held and whether it is a writer's.
class rtm_rw_mutex {
 public:
  class scoped_lock {
   public:
    rtm_rw_mutex* lock;
    int state;
  };

  corbel::detail::basic_rw_mutex<std::atomic, corbel::detail::spinning_wait> own;
};
static_assert(sizeof(rtm_rw_mutex) <= 8, "the program sets no more than eight bytes to 0");

}  // namespace d1

namespace r1 {

namespace {

using Queue = corbel::tbb12::QueuingLock;

enum RtmState : int { kNotLocked = 0, kLocked = 2 };                 // of an rtm_mutex
enum RtmRwState : int { kNotInside = 0, kReader = 3, kWriter = 4 };  // of an rtm_rw_mutex

}  // namespace

// ---- queuing_rw_mutex

CORBEL_TBB12 void acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& l,
                          bool write) {
  l.holder.lock = &m.own;
  m.own.enter(l.holder, write);
}

CORBEL_TBB12 bool try_acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& l,
                              bool write) {
  if (!m.own.try_enter(l.holder, write)) return false;
  l.holder.lock = &m.own;
  return true;
}

CORBEL_TBB12 void release(d1::queuing_rw_mutex::scoped_lock& l) {
  l.holder.lock->leave(l.holder);
  l.holder.lock = nullptr;
}

CORBEL_TBB12 bool is_writer(const d1::queuing_rw_mutex::scoped_lock& l) {
  // relaxed: the thread's own
  return l.holder.state.load(std::memory_order_relaxed) == Queue::kWriter;
}

CORBEL_TBB12 bool upgrade_to_writer(d1::queuing_rw_mutex::scoped_lock& l) {
  return is_writer(l) || l.holder.lock->upgrade(l.holder);
}

CORBEL_TBB12 bool downgrade_to_reader(d1::queuing_rw_mutex::scoped_lock& l) {
  if (is_writer(l)) l.holder.lock->downgrade(l.holder);
  return true;
}

// ---- the speculative locks, which do not speculate here

CORBEL_TBB12 bool try_acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& l) {
  // relaxed: the exchange decides. (1) acquire: sees what the last holder did, published by (2)
  if (m.is_locked.load(std::memory_order_relaxed) ||
      m.is_locked.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  l.lock = &m;
  l.state = kLocked;
  return true;
}

CORBEL_TBB12 void acquire(d1::rtm_mutex& m, d1::rtm_mutex::scoped_lock& l, bool) {
  corbel::detail::spin_until([&] { return try_acquire(m, l); });
}

CORBEL_TBB12 void release(d1::rtm_mutex::scoped_lock& l) {
  l.state = kNotLocked;
  l.lock->is_locked.store(false, std::memory_order_release);  // (2) release: to (1)
  l.lock = nullptr;
}

CORBEL_TBB12 void acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& l, bool) {
  m.own.lock();
  l.lock = &m;
  l.state = kWriter;
}

CORBEL_TBB12 void acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& l, bool) {
  m.own.lock_shared();
  l.lock = &m;
  l.state = kReader;
}

CORBEL_TBB12 bool try_acquire_writer(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& l) {
  if (!m.own.try_lock()) return false;
  l.lock = &m;
  l.state = kWriter;
  return true;
}

CORBEL_TBB12 bool try_acquire_reader(d1::rtm_rw_mutex& m, d1::rtm_rw_mutex::scoped_lock& l) {
  if (!m.own.try_lock_shared()) return false;
  l.lock = &m;
  l.state = kReader;
  return true;
}

CORBEL_TBB12 void release(d1::rtm_rw_mutex::scoped_lock& l) {
  d1::rtm_rw_mutex& m = *l.lock;
  const bool writes = l.state == kWriter;
  l.lock = nullptr;
  l.state = kNotInside;
  writes ? m.own.unlock() : m.own.unlock_shared();
}

CORBEL_TBB12 bool upgrade(d1::rtm_rw_mutex::scoped_lock& l) {
  if (l.state == kWriter) return true;
  l.state = kWriter;
  return l.lock->own.upgrade();
}

CORBEL_TBB12 bool downgrade(d1::rtm_rw_mutex::scoped_lock& l) {
  if (l.state == kReader) return true;
  l.lock->own.downgrade();
  l.state = kReader;
  return true;
}

}  // namespace r1
}  // namespace tbb::detail
