// SPDX-License-Identifier: Apache-2.0
// A lock for work without a call of the system. The longest is a search for free addresses through
// all reservations, which have a bit for each 64 KiB. It knows the end of the process, at which all
// threads but one vanish, with what they hold.
#pragma once

#include "os/os.hpp"

namespace corbel::os {

class ExitLock {
 public:
  // Returns false if the thread that holds the lock has vanished: then what the lock protects may
  // be half changed.
  bool lock() {
    // (1) acquire: sees what the last holder wrote before (2)
    while (taken_.test_and_set(std::memory_order_acquire)) {
      if (other_threads_are_gone()) return false;
      yield();
    }
    return true;
  }
  void unlock() { taken_.clear(std::memory_order_release); }  // (2) release: publishes it to (1)

 private:
  std::atomic_flag taken_{};
};

}  // namespace corbel::os
