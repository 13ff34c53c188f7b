// SPDX-License-Identifier: Apache-2.0
// The reader-writer lock of classic TBB that notices when its writer wants it again. C++11 upwards.
// Needs libcorbel.
#ifndef CORBEL_READER_WRITER_LOCK_HPP
#define CORBEL_READER_WRITER_LOCK_HPP

#include <corbel/detail/lock_owner.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/rw_mutex.hpp>

namespace corbel {

// Writers before readers: readers that come while a writer waits stay behind it. All functions may
// be called from any thread; unlock() only from one that is inside. A reader that wants to write
// waits for ever.
class reader_writer_lock {
 public:
  // Inside as the writer, or as one of the readers, while the object lives. Its constructor waits;
  // it throws what lock() and lock_read() throw.
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

  // Waits until nobody is inside, and enters as the writer. Throws improper_lock if the caller is
  // the writer.
  void lock() {
    if (writer_.is_this_thread()) detail::raise(improper_lock());
    mutex_.lock();
    writer_.set_this_thread();
  }
  // Enters as the writer if nobody is inside; whether so. False for the writer itself.
  bool try_lock() {
    if (writer_.is_this_thread() || !mutex_.try_lock()) return false;
    writer_.set_this_thread();
    return true;
  }

  // Waits until no writer is inside or waits, and enters as a reader. Throws improper_lock if the
  // caller is the writer.
  void lock_read() {
    if (writer_.is_this_thread()) detail::raise(improper_lock());
    mutex_.lock_shared();
  }
  // Enters as a reader if no writer is inside or waits; whether so. False for the writer itself.
  bool try_lock_read() { return !writer_.is_this_thread() && mutex_.try_lock_shared(); }

  // Leaves, as what the caller has entered.
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

#endif  // CORBEL_READER_WRITER_LOCK_HPP
