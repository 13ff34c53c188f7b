// SPDX-License-Identifier: Apache-2.0
// A stand-in for std::barrier: that of libstdc++ 12 loses wake-ups on Windows, since it compares
// before it takes the lock that it waits under.
#pragma once

#include <condition_variable>
#include <mutex>

namespace corbel::test {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}

  void arrive_and_wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const long phase = phase_;
    if (++arrived_ == threads_) {
      arrived_ = 0;
      ++phase_;
      all_arrived_.notify_all();
    } else {
      all_arrived_.wait(lock, [&] { return phase_ != phase; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  const int threads_;
  int arrived_ = 0;
  long phase_ = 0;
};

}  // namespace corbel::test
