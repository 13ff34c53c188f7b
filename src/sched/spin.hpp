// SPDX-License-Identifier: Apache-2.0
// How a thread that finds nothing to do passes the time before it sleeps.
#pragma once

#include <cstdint>

#include "arch/arch.hpp"
#include "os/os.hpp"

namespace corbel::sched {

// A look at the other threads' deques takes their cache lines away, so looks become rarer, up to
// one in some 2 us. After 100 us it is time to sleep: waking takes about half as long.
class Spin {
 public:
  // Passes some time. False when there has been enough of it.
  bool once_more();
  void reset() { *this = Spin(); }

  // Whether somebody has been at it long enough that it is no hurry to take what is just there.
  bool is_long() const { return rounds_ > 0; }

 private:
  static constexpr std::uint64_t kLongest = 100'000;  // ns
  std::uint32_t rounds_ = 0;
  std::uint32_t pauses_ = 1;
  std::uint64_t begin_ = 0;
};

}  // namespace corbel::sched
