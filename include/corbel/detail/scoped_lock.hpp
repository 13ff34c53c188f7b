// SPDX-License-Identifier: Apache-2.0
// The common parts of the locks: the scoped_lock classes of the TBB API, and the lock functions of
// the C++ standard on top of an algorithm. Not for programs to include.
#ifndef CORBEL_DETAIL_SCOPED_LOCK_HPP
#define CORBEL_DETAIL_SCOPED_LOCK_HPP

#include <corbel/detail/config.hpp>
#include <corbel/detail/held_locks.hpp>

namespace corbel {
namespace detail {

// Holds an exclusive Mutex for the lifetime of the object. One thread at a time may use a
// scoped_lock. The functions throw what those of the Mutex throw.
template <typename Mutex>
class unique_scoped_lock {
 public:
  // Holds no mutex.
  constexpr unique_scoped_lock() noexcept : mutex_(nullptr) {}
  // Waits for `mutex` and acquires it.
  explicit unique_scoped_lock(Mutex& mutex) : mutex_(nullptr) { acquire(mutex); }
  ~unique_scoped_lock() {
    if (mutex_ != nullptr) release();
  }
  unique_scoped_lock(const unique_scoped_lock&) = delete;
  unique_scoped_lock& operator=(const unique_scoped_lock&) = delete;

  // Waits for `mutex` and acquires it. The scoped_lock must hold no mutex.
  void acquire(Mutex& mutex) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    mutex.lock();
    mutex_ = &mutex;
  }

  // Acquires `mutex` if it is free; returns whether it did. The scoped_lock must hold no mutex.
  bool try_acquire(Mutex& mutex) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    if (!mutex.try_lock()) return false;
    mutex_ = &mutex;
    return true;
  }

  // Releases the mutex. The scoped_lock must hold one.
  void release() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    Mutex* const mutex = mutex_;
    mutex_ = nullptr;
    mutex->unlock();
  }

 private:
  Mutex* mutex_;
};

// The part of a scoped_lock that a reader-writer mutex uses. A mutex with a queue adds members.
struct rw_holder {
  bool is_writer = false;
};

// Holds a reader-writer Mutex as the writer or as a reader for the lifetime of the object. One
// thread at a time may use a scoped_lock. The Mutex provides enter(holder), where holder.is_writer
// selects the mode, try_enter(is_writer), leave(is_writer), upgrade(holder) and downgrade().
template <typename Mutex, typename Holder = rw_holder>
class rw_scoped_lock {
 public:
  // Holds no mutex.
  constexpr rw_scoped_lock() noexcept : mutex_(nullptr) {}
  // Waits for `mutex` and acquires it, as the writer or as a reader.
  explicit rw_scoped_lock(Mutex& mutex, bool write = true) : mutex_(nullptr) {
    acquire(mutex, write);
  }
  ~rw_scoped_lock() {
    if (mutex_ != nullptr) release();
  }
  rw_scoped_lock(const rw_scoped_lock&) = delete;
  rw_scoped_lock& operator=(const rw_scoped_lock&) = delete;

  // Waits for `mutex` and acquires it, as the writer or as a reader. The scoped_lock must hold no
  // mutex.
  void acquire(Mutex& mutex, bool write = true) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    holder_.is_writer = write;
    mutex.enter(holder_);
    mutex_ = &mutex;
  }

  // Acquires `mutex` if that is possible at once; returns whether it did. The scoped_lock must hold
  // no mutex.
  bool try_acquire(Mutex& mutex, bool write = true) {
    CORBEL_ASSERT(mutex_ == nullptr, "the scoped_lock already holds a mutex");
    if (!mutex.try_enter(write)) return false;
    holder_.is_writer = write;
    mutex_ = &mutex;
    return true;
  }

  // Releases the mutex. The scoped_lock must hold one.
  void release() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    Mutex* const mutex = mutex_;
    mutex_ = nullptr;
    mutex->leave(holder_.is_writer);
  }

  // Makes a reader the writer. Returns false if the mutex was released in between, so that what it
  // protects may have changed; true otherwise, and for a writer. The scoped_lock must hold a mutex.
  bool upgrade_to_writer() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    if (holder_.is_writer) return true;
    holder_.is_writer = true;
    return mutex_->upgrade(holder_);
  }

  // Makes a writer a reader, without letting another writer in between. Returns true. The
  // scoped_lock must hold a mutex.
  bool downgrade_to_reader() {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    if (holder_.is_writer) mutex_->downgrade();
    holder_.is_writer = false;
    return true;
  }

  // Returns whether it holds the mutex as the writer. The scoped_lock must hold a mutex.
  bool is_writer() const {
    CORBEL_ASSERT(mutex_ != nullptr, "the scoped_lock holds no mutex");
    return holder_.is_writer;
  }

 private:
  Mutex* mutex_;
  Holder holder_;
};

// `Algorithm` padded to a cache line, so that two aligned objects share no line.
template <typename Algorithm>
struct padded_algorithm : Algorithm {
  char padding[kCacheLine - sizeof(Algorithm)];
};

// The common part of unique_mutex and shared_mutex.
template <typename ScopedLock, bool kIsRw, typename Algorithm>
class lockable {
 public:
  using scoped_lock = ScopedLock;

  static constexpr bool is_rw_mutex = kIsRw;
  static constexpr bool is_recursive_mutex = false;
  static constexpr bool is_fair_mutex = false;

  // An unlocked mutex.
  constexpr lockable() noexcept {}
  lockable(const lockable&) = delete;
  lockable& operator=(const lockable&) = delete;

  // Waits until no thread holds the lock, in either mode, and acquires it exclusively.
  void lock() {
    algorithm_.lock();
    note_lock_held(+1);
  }
  // Acquires the lock exclusively if no thread holds it; returns whether it did.
  bool try_lock() {
    if (!algorithm_.try_lock()) return false;
    note_lock_held(+1);
    return true;
  }
  // Releases the lock, which the calling thread must hold exclusively.
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

// An exclusive Mutex based on `Algorithm`. Meets the mutex requirements of the C++ standard
// ([thread.mutex.requirements.mutex]): std::lock_guard, std::unique_lock and std::scoped_lock work
// with it. Any thread may call the functions, unlock() only the thread that holds the lock. A
// thread that locks a mutex it holds deadlocks. No function throws.
template <typename Mutex, typename Algorithm>
class unique_mutex : public lockable<unique_scoped_lock<Mutex>, false, Algorithm> {};

// A reader-writer Mutex based on `Algorithm`. Meets the shared mutex requirements of the C++
// standard ([thread.sharedmutex.requirements]): std::shared_lock works with it too. Any thread may
// call the functions, those that unlock only a thread that holds the lock in that mode. A thread
// that locks a mutex it holds, in either mode, may deadlock. No function throws.
template <typename Mutex, typename Algorithm>
class shared_mutex : public lockable<rw_scoped_lock<Mutex>, true, Algorithm> {
 public:
  // Waits until no writer is inside or waits, and enters as a reader.
  void lock_shared() {
    this->algorithm_.lock_shared();
    note_lock_held(+1);
  }
  // Enters as a reader if no writer is inside or waits; returns whether it did.
  bool try_lock_shared() {
    if (!this->algorithm_.try_lock_shared()) return false;
    note_lock_held(+1);
    return true;
  }
  // Leaves; the calling thread must be inside as a reader.
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
