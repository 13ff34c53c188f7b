// SPDX-License-Identifier: Apache-2.0
// Polling with back-off before a thread parks.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/arena/arena.hpp"

namespace corbel::sched {

// Looking at the other threads' deques takes cache lines away from their owners, so an idle thread
// polls with back-off, down to once in about 2 us. After 100 us it parks; waking it takes about
// half as long.
class Spin {
 public:
  // Pauses before the next poll. Returns false when the thread should park.
  bool once_more();
  void reset() { *this = Spin(); }

  // What the next search is to be.
  Arena::Search search() const;

 private:
  static constexpr std::uint64_t kMaxSpin = 100'000;  // ns
  std::uint32_t rounds_ = 0;
  std::uint32_t pauses_ = 1;
  std::uint64_t begin_ = 0;
};

}  // namespace corbel::sched
