// SPDX-License-Identifier: Apache-2.0
// What a stack tells about the time that was spent there.
#pragma once

#include <string>
#include <vector>

#include "profile/hot_spots.hpp"
#include "profile/memory_functions.hpp"

namespace corbel::cli {

struct TimeStack {
  std::vector<Place> places;  // innermost first
  // The memory function that the program called; kNone when there is none.
  MemoryFunction function = MemoryFunction::kNone;
  bool is_unclear = false;          // it is the allocator's, and no name says more
  SlowWork slow = SlowWork::kNone;  // in it
  bool copies = false;              // below realloc
  bool waits = false;               // for a lock below a memory function
  bool locks = false;               // for a lock of the program
  bool starts = false;              // the loader's
  std::string container;            // what grows
  std::size_t site = 0;             // of `places`: the program's line that all of this is for
};

TimeStack read_time_stack(const Profile& profile, const Sample& sample);

// The kind of a value of `type` at this stack.
Kind kind_of_value(const TimeStack& stack, TimeType type);

}  // namespace corbel::cli
