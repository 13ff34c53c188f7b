// SPDX-License-Identifier: Apache-2.0
// Where threads sleep that have nothing to do: one list for the whole process.
#pragma once

#include "os/os.hpp"
#include "sched/lock_ranks.hpp"
#include "sched/parking.hpp"
#include "sched/thread.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

struct ParkingSystem {
  struct Lock : sync::Lock {
    constexpr Lock() : sync::Lock(kSleepers) {}
  };
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    os::wait(word, expected);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) { os::wake_one(word); }
  static void process_barrier() { os::process_barrier(); }
};

using Bell = BasicBell<std::atomic, ParkingSystem>;

class Sleepers : public BasicBeds<Thread, std::atomic, ParkingSystem> {
 public:
  // Wakes one thread in the arena for which there is something to do. False if there is none.
  bool wake_in(const Arena& arena);

  // Wakes one that is in no arena.
  bool wake_idle();
};

extern Sleepers sleepers;

}  // namespace corbel::sched
