// SPDX-License-Identifier: Apache-2.0
// The locks of TBB 2020 that detect a second lock by their holder, and the names that locks are
// given.
#include <gtest/gtest.h>
#include <tbb/critical_section.h>
#include <tbb/mutex.h>
#include <tbb/null_mutex.h>
#include <tbb/reader_writer_lock.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/tbb_exception.h>
#include <tbb/tbb_profiling.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace {

template <typename Function>
void in_another_thread(const Function& function) {
  std::thread thread(function);
  thread.join();
}

TEST(CriticalSection, OneHolderAtATime) {
  tbb::critical_section section;
  long count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (i % 2 == 0) {
          const tbb::critical_section::scoped_lock lock(section);
          ++count;
        } else {
          const std::lock_guard<tbb::critical_section> lock(section);
          ++count;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 20000);
}

TEST(CriticalSection, DetectsItsHolder) {
  tbb::critical_section section;
  section.lock();
  EXPECT_THROW(section.lock(), tbb::improper_lock);
  EXPECT_FALSE(section.try_lock());
  in_another_thread([&] { EXPECT_FALSE(section.try_lock()); });
  section.unlock();
  in_another_thread([&] {
    EXPECT_TRUE(section.try_lock());
    section.unlock();
  });
  section.lock();
  section.unlock();
}

TEST(ReaderWriterLock, DetectsItsWriter) {
  tbb::reader_writer_lock lock;
  lock.lock();
  EXPECT_THROW(lock.lock(), tbb::improper_lock);
  EXPECT_THROW(lock.lock_read(), tbb::improper_lock);
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_read());
  in_another_thread([&] { EXPECT_FALSE(lock.try_lock_read()); });
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinRwMutex, ClassicNames) {
  tbb::spin_rw_mutex lock;
  lock.lock_read();
  EXPECT_TRUE(lock.try_lock_read());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  lock.lock();
  EXPECT_FALSE(lock.try_lock_read());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(ReaderWriterLock, ReadersShareAndUnlockUndoesTheLock) {
  tbb::reader_writer_lock lock;
  lock.lock_read();
  in_another_thread([&] {
    EXPECT_TRUE(lock.try_lock_read());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  });
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(ReaderWriterLock, AWriterIsAlone) {
  tbb::reader_writer_lock lock;
  long value = 0;
  std::atomic<bool> torn{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        if (t == 0) {
          const tbb::reader_writer_lock::scoped_lock writer(lock);
          ++value;
          ++value;
        } else {
          const tbb::reader_writer_lock::scoped_lock_read reader(lock);
          if (value % 2 != 0) torn.store(true, std::memory_order_relaxed);  // the join orders it
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 6000);
  EXPECT_FALSE(torn.load(std::memory_order_relaxed));  // relaxed: after the join
}

TEST(Profiling, NamesAreAccepted) {
  tbb::mutex mutex;
  tbb::spin_rw_mutex rw_mutex;
  tbb::profiling::set_name(mutex, "mutex");
  tbb::profiling::set_name(rw_mutex, "rw_mutex");
  // Found by its argument, or by a using-declaration, or both.
  set_name(mutex, "mutex");
  tbb::null_mutex null_mutex;
  set_name(null_mutex, "null_mutex");
  {
    using tbb::profiling::set_name;
    set_name(rw_mutex, "rw_mutex");
  }
  tbb::profiling::event event("begin");
  event.emit();
  tbb::profiling::event::emit("end");
}

}  // namespace
