// SPDX-License-Identifier: Apache-2.0
// The four ways of the 2007 article to write the same recursion on classic tbb::task: plain (spawn
// the children and wait), +C, +CB and +CBR. The way is a template parameter, so that each is
// compiled as if the others did not exist.
#pragma once

#include <type_traits>

#include "harness.hpp"

namespace bench {

enum class Tricks {
  kPlain,         // the parent waits for its children
  kContinuation,  // C: a continuation takes the parent's place
  kBypass,        // CB: and one child is returned from execute() instead of spawned
  kRecycling      // CBR: and that child is the parent's own task object
};

template <Tricks kTricks>
using TricksConstant = std::integral_constant<Tricks, kTricks>;

// Calls `call` with the TricksConstant for variant=`name`.
template <typename Call>
auto with_tricks(const std::string& name, Call&& call) {
  if (name == "C") return call(TricksConstant<Tricks::kContinuation>{});
  if (name == "CB") return call(TricksConstant<Tricks::kBypass>{});
  if (name == "CBR") return call(TricksConstant<Tricks::kRecycling>{});
  check(name.empty() || name == "plain", "variant= is one of plain, C, CB and CBR");
  return call(TricksConstant<Tricks::kPlain>{});
}

// For Kernel::variants of a kernel whose classic.cpp has all four.
inline std::vector<Variant> four_tricks() {
  return {{"classic", "plain"}, {"classic", "C"}, {"classic", "CB"}, {"classic", "CBR"}};
}

}  // namespace bench
