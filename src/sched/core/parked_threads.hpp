// SPDX-License-Identifier: Apache-2.0
// The parked threads of the process: one list.
#pragma once

#include "os/os.hpp"
#include "sched/core/lock_ranks.hpp"
#include "sched/core/parking.hpp"
#include "sched/core/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

struct ParkingSystem {
  struct Lock : sync::Lock {
    constexpr Lock() : sync::Lock(kParkedThreads) {}
  };
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    os::wait(word, expected);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) { os::wake_one(word); }
  static void process_barrier() { os::process_barrier(); }
};

using WakeFlag = BasicWakeFlag<std::atomic, ParkingSystem>;

class ParkedThreads : public BasicParkedThreads<Thread, std::atomic, ParkingSystem> {
 public:
  // Wakes one worker that is in no arena. False if there is none.
  bool unpark_idle();
};

extern ParkedThreads parked_threads;

}  // namespace corbel::sched
