// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock that reports an attempt of its writer to lock it again. C++11 and later.
// Follows TBB 2020 (reader_writer_lock). Needs libcorbel.
#ifndef CORBEL_CLASSIC_READER_WRITER_LOCK_HPP
#define CORBEL_CLASSIC_READER_WRITER_LOCK_HPP

#include <corbel/detail/context_node.hpp>
#include <corbel/detail/lock_owner.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/rw_mutex.hpp>

namespace corbel {

// Prefers writers: a waiting writer makes new readers wait. Any thread may call the functions,
// unlock() only a thread that holds the lock. A reader that calls lock() deadlocks.
class reader_writer_lock {
 public:
  // Hold the lock as the writer, or as a reader, for the lifetime of the object. The constructors
  // wait, and throw what lock() and lock_read() throw.
  class scoped_lock {
   public:
    explicit scoped_lock(reader_writer_lock& lock) : lock_(lock) { lock_.lock(); }
    ~scoped_lock() { lock_.unlock(); }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

   private:
    reader_writer_lock& lock_;
  };
  class scoped_lock_read {
   public:
    explicit scoped_lock_read(reader_writer_lock& lock) : lock_(lock) { lock_.lock_read(); }
    ~scoped_lock_read() { lock_.unlock(); }
    scoped_lock_read(const scoped_lock_read&) = delete;
    scoped_lock_read& operator=(const scoped_lock_read&) = delete;

   private:
    reader_writer_lock& lock_;
  };

  reader_writer_lock() = default;
  reader_writer_lock(const reader_writer_lock&) = delete;
  reader_writer_lock& operator=(const reader_writer_lock&) = delete;

  // Waits until no thread is inside, and enters as the writer. Throws improper_lock if the caller
  // is the writer.
  void lock() {
    if (writer_.is_this_thread()) detail::raise_own(improper_lock());
    mutex_.lock();
    writer_.set_this_thread();
  }
  // Enters as the writer if no thread is inside; returns whether it did.
  bool try_lock() {
    if (writer_.is_this_thread() || !mutex_.try_lock()) return false;
    writer_.set_this_thread();
    return true;
  }

  // Waits until no writer is inside or waits, and enters as a reader. Throws improper_lock if the
  // caller is the writer.
  void lock_read() {
    if (writer_.is_this_thread()) detail::raise_own(improper_lock());
    mutex_.lock_shared();
  }
  // Enters as a reader if no writer is inside or waits; returns whether it did. Returns false for
  // the writer itself.
  bool try_lock_read() { return !writer_.is_this_thread() && mutex_.try_lock_shared(); }

  // Releases the lock, which the caller holds as the writer or as a reader.
  void unlock() {
    if (writer_.is_this_thread()) {
      writer_.clear();
      mutex_.unlock();
    } else {
      mutex_.unlock_shared();
    }
  }

 private:
  rw_mutex mutex_;
  detail::lock_owner writer_;
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_READER_WRITER_LOCK_HPP
