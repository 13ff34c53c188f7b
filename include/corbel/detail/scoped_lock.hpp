// SPDX-License-Identifier: Apache-2.0
// What the locks of these headers have in common: the scoped_lock classes of the TBB API, and the
// lock functions of the C++ standard over an algorithm. Not for programs to include.
#ifndef CORBEL_DETAIL_SCOPED_LOCK_HPP
#define CORBEL_DETAIL_SCOPED_LOCK_HPP

#include <corbel/detail/config.hpp>
#include <corbel/detail/held_locks.hpp>

namespace corbel {
namespace detail {

// Holds a Mutex that one thread holds at a time, and gives it back at its end. One scoped_lock
// belongs to one thread at a time.
template <typename Mutex>
class unique_scoped_lock {
 public:
  // Holds nothing.
  constexpr unique_scoped_lock() noexcept : mutex_(nullptr) {}
  // Waits for `mutex` and takes it.
  explicit unique_scoped_lock(Mutex& mutex) : mutex_(nullptr) { acquire(mutex); }
  ~unique_scoped_lock() {
    if (mutex_ != nullptr) release();
  }
  unique_scoped_lock(const unique_scoped_lock&) = delete;
  unique_scoped_lock& operator=(const unique_scoped_lock&) = delete;

  // Waits for `mutex` and takes it. No mutex may be held.
  void acquire(Mutex& mutex) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    mutex.lock();
    mutex_ = &mutex;
  }

  // Takes `mutex` if it is free; whether it was. No mutex may be held.
  bool try_acquire(Mutex& mutex) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    if (!mutex.try_lock()) return false;
    mutex_ = &mutex;
    return true;
  }

  // Gives the mutex back. One must be held.
  void release() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    Mutex* const mutex = mutex_;
    mutex_ = nullptr;
    mutex->unlock();
  }

 private:
  Mutex* mutex_;
};

// What a reader-writer mutex keeps in a scoped_lock; one with a queue has more.
struct rw_holder {
  bool is_writer = false;
};

// Holds a reader-writer Mutex in one of its two ways, and gives it back at its end. One scoped_lock
// belongs to one thread at a time. Of the Mutex it needs enter(holder), where holder.is_writer says
// in which way, try_enter(is_writer), leave(is_writer), upgrade(holder) and downgrade().
template <typename Mutex, typename Holder = rw_holder>
class rw_scoped_lock {
 public:
  // Holds nothing.
  constexpr rw_scoped_lock() noexcept : mutex_(nullptr) {}
  // Waits for `mutex` and takes it, as the only writer or as one of the readers.
  explicit rw_scoped_lock(Mutex& mutex, bool write = true) : mutex_(nullptr) {
    acquire(mutex, write);
  }
  ~rw_scoped_lock() {
    if (mutex_ != nullptr) release();
  }
  rw_scoped_lock(const rw_scoped_lock&) = delete;
  rw_scoped_lock& operator=(const rw_scoped_lock&) = delete;

  // Waits for `mutex` and takes it. No mutex may be held.
  void acquire(Mutex& mutex, bool write = true) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    holder_.is_writer = write;
    mutex.enter(holder_);
    mutex_ = &mutex;
  }

  // Takes `mutex` if that is possible at once; whether it was. No mutex may be held.
  bool try_acquire(Mutex& mutex, bool write = true) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    if (!mutex.try_enter(write)) return false;
    holder_.is_writer = write;
    mutex_ = &mutex;
    return true;
  }

  // Gives the mutex back. One must be held.
  void release() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    Mutex* const mutex = mutex_;
    mutex_ = nullptr;
    mutex->leave(holder_.is_writer);
  }

  // Makes a reader the writer. False when the mutex had to be given back for a while, so that what
  // it protects may have changed. True for a writer. A mutex must be held.
  bool upgrade_to_writer() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    if (holder_.is_writer) return true;
    holder_.is_writer = true;
    return mutex_->upgrade(holder_);
  }

  // Makes a writer a reader; true: never is another writer let in between. True for a reader. A
  // mutex must be held.
  bool downgrade_to_reader() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    if (holder_.is_writer) mutex_->downgrade();
    holder_.is_writer = false;
    return true;
  }

  // Whether the mutex is held as writer. A mutex must be held.
  bool is_writer() const {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    return holder_.is_writer;
  }

 private:
  Mutex* mutex_;
  Holder holder_;
};

// `Algorithm` with a cache line's length, so that two of them share none where they are aligned.
template <typename Algorithm>
struct padded_algorithm : Algorithm {
  char padding[kCacheLine - sizeof(Algorithm)];
};

// What unique_mutex and shared_mutex have in common.
template <typename ScopedLock, bool kIsRw, typename Algorithm>
class lockable {
 public:
  using scoped_lock = ScopedLock;

  static constexpr bool is_rw_mutex = kIsRw;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = false;

  // Free.
  constexpr lockable() noexcept {}
  lockable(const lockable&) = delete;
  lockable& operator=(const lockable&) = delete;

  // Waits until nobody holds the lock, in either way, and takes it for this thread alone.
  void lock() {
    algorithm_.lock();
    note_lock_held(+1);
  }
  // Takes the lock if nobody holds it; whether so.
  bool try_lock() {
    if (!algorithm_.try_lock()) return false;
    note_lock_held(+1);
    return true;
  }
  // Gives the lock back.
  void unlock() {
    note_lock_held(-1);
    algorithm_.unlock();
  }

 protected:
  Algorithm algorithm_;
};

template <typename ScopedLock, bool kIsRw, typename Algorithm>
constexpr bool lockable<ScopedLock, kIsRw, Algorithm>::is_rw_mutex;
template <typename ScopedLock, bool kIsRw, typename Algorithm>
constexpr bool lockable<ScopedLock, kIsRw, Algorithm>::is_recursive_mutex;
template <typename ScopedLock, bool kIsRw, typename Algorithm>
constexpr bool lockable<ScopedLock, kIsRw, Algorithm>::is_fair_mutex;

// Mutex over `Algorithm`. Meets Mutex of the C++ standard ([thread.mutex.requirements.mutex]):
// std::lock_guard, std::unique_lock and std::scoped_lock work with it. All functions may be called
// from any thread; unlock() only from the one that holds the lock. A thread that locks what it
// holds waits for ever.
template <typename Mutex, typename Algorithm>
class unique_mutex : public lockable<unique_scoped_lock<Mutex>, false, Algorithm> {};

// Mutex over `Algorithm`. Meets SharedMutex of the C++ standard
// ([thread.sharedmutex.requirements]): std::shared_lock works with it too. All functions may be
// called from any thread; those that unlock only from one that holds the lock that way. A thread
// that locks what it holds, in either way, may wait for ever.
template <typename Mutex, typename Algorithm>
class shared_mutex : public lockable<rw_scoped_lock<Mutex>, true, Algorithm> {
 public:
  // Waits until no writer is inside or about to come, and enters as reader.
  void lock_shared() {
    this->algorithm_.lock_shared();
    note_lock_held(+1);
  }
  // Enters as reader if no writer is inside or about to come; whether so.
  bool try_lock_shared() {
    if (!this->algorithm_.try_lock_shared()) return false;
    note_lock_held(+1);
    return true;
  }
  // Leaves as reader.
  void unlock_shared() {
    note_lock_held(-1);
    this->algorithm_.unlock_shared();
  }

 private:
  friend class rw_scoped_lock<Mutex>;
  void enter(const rw_holder& holder) { holder.is_writer ? this->lock() : lock_shared(); }
  bool try_enter(bool as_writer) { return as_writer ? this->try_lock() : try_lock_shared(); }
  void leave(bool as_writer) { as_writer ? this->unlock() : unlock_shared(); }
  bool upgrade(const rw_holder&) { return this->algorithm_.upgrade(); }
  void downgrade() { this->algorithm_.downgrade(); }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SCOPED_LOCK_HPP
