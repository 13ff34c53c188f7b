// SPDX-License-Identifier: Apache-2.0
// Locks.
#include "client.hpp"

namespace {

template <typename Mutex>
void use_lock(const char* name) {
  Mutex mutex;
  long count = 0;
  tbb::parallel_for(0, 10000, [&](int) {
    typename Mutex::scoped_lock lock(mutex);
    ++count;
  });
  typename Mutex::scoped_lock lock;
  const bool taken = lock.try_acquire(mutex);
  say(name, taken ? count : -1);
}

template <typename Mutex>
void use_rw_lock(const char* name) {
  Mutex mutex;
  long count = 0, upgrades = 0;
  std::atomic<bool> is_wrong{false};
  tbb::parallel_for(0, 10000, [&](int i) {
    typename Mutex::scoped_lock lock(mutex, i % 5 == 0);
    if (i % 5 == 0) {
      ++count;
      if (i % 10 == 0) {
        lock.downgrade_to_reader();
        if (count == 0) is_wrong = true;
      }
    } else if (i % 5 == 1) {
      const long before = count;
      if (lock.upgrade_to_writer() && count != before) is_wrong = true;
      ++upgrades;
    } else if (count < 0) {
      is_wrong = true;
    }
  });
  say(name, is_wrong ? -1 : count + upgrades);
}

void locks() {
  use_lock<tbb::mutex>("mutex");
  use_lock<tbb::spin_mutex>("spin_mutex");
  use_lock<tbb::queuing_mutex>("queuing_mutex");
  use_lock<tbb::speculative_spin_mutex>("speculative_spin_mutex");
  use_rw_lock<tbb::rw_mutex>("rw_mutex");
  use_rw_lock<tbb::spin_rw_mutex>("spin_rw_mutex");
  use_rw_lock<tbb::queuing_rw_mutex>("queuing_rw_mutex");
  use_rw_lock<tbb::speculative_spin_rw_mutex>("speculative_spin_rw_mutex");
}

template <typename Mutex>
void contend(const char* name) {
  Mutex mutex;
  long shared = 0;
  std::atomic<long> tried{0}, got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        typename Mutex::scoped_lock lock;
        if (i % 3 == 0) {
          ++tried;
          if (!lock.try_acquire(mutex)) continue;
          ++got;
        } else {
          lock.acquire(mutex);
        }
        ++shared;
        lock.release();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  say(name, shared - got + tried);
}

template <typename Mutex>
void change(const char* name) {
  Mutex mutex;
  // A writer excludes, readers share.
  typename Mutex::scoped_lock first(mutex, true);
  bool wrong = false;
  std::thread([&] {
    typename Mutex::scoped_lock l;
    wrong = l.try_acquire(mutex, false) || l.try_acquire(mutex, true);
  }).join();
  wrong = !first.downgrade_to_reader() || wrong;
  std::thread([&] {
    typename Mutex::scoped_lock l;
    l.acquire(mutex, false);
  }).join();
  wrong = !first.upgrade_to_writer() || wrong;
  std::thread([&] {
    typename Mutex::scoped_lock l;
    wrong = l.try_acquire(mutex, false) || wrong;
  }).join();
  first.release();
  // Readers that upgrade at once: those that did not keep their lock see the others' changes.
  long value = 0;
  std::atomic<long> stale{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        typename Mutex::scoped_lock lock(mutex, false);
        const long before = value;
        if (lock.upgrade_to_writer() && value != before) ++stale;
        ++value;
        const long mine = value;
        if (i % 2 == 0 && lock.downgrade_to_reader() && value != mine) ++stale;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  say(name, wrong || stale != 0 ? -1 : value);
}

// A thread sleeps until the lock is free.
template <typename Mutex>
void sleep_for(const char* name) {
  Mutex mutex;
  long passed = 0;
  mutex.lock();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      mutex.lock();
      ++passed;
      mutex.unlock();
    });
  }
  nap(20);
  mutex.unlock();
  for (std::thread& t : threads) t.join();
  say(name, passed);
}

void contended() {
  contend<tbb::mutex>("mutex");
  contend<tbb::spin_mutex>("spin_mutex");
  contend<tbb::queuing_mutex>("queuing_mutex");
  contend<tbb::speculative_spin_mutex>("speculative_spin_mutex");
  contend<tbb::rw_mutex>("rw_mutex");
  contend<tbb::spin_rw_mutex>("spin_rw_mutex");
  contend<tbb::queuing_rw_mutex>("queuing_rw_mutex");
  contend<tbb::speculative_spin_rw_mutex>("speculative_spin_rw_mutex");
  change<tbb::rw_mutex>("rw_mutex");
  change<tbb::spin_rw_mutex>("spin_rw_mutex");
  change<tbb::queuing_rw_mutex>("queuing_rw_mutex");
  change<tbb::speculative_spin_rw_mutex>("speculative_spin_rw_mutex");
  sleep_for<tbb::mutex>("slept for mutex");
  sleep_for<tbb::rw_mutex>("slept for rw_mutex");
  tbb::rw_mutex shared;
  shared.lock_shared();
  say("tried", shared.try_lock());
  std::thread writer([&] {
    shared.lock();
    shared.unlock();
  });
  nap(10);
  shared.unlock_shared();
  writer.join();
  say("tried", shared.try_lock());
}

}  // namespace

int main() {
  locks();
  contended();
  std::puts("end");
  return 0;
}
