// SPDX-License-Identifier: Apache-2.0
#include "profile/time_stack.hpp"

#include "symbols/task_label.hpp"

namespace corbel::cli {
namespace {

// Without the mark of a copy that the compiler has made of a function: " [clone .constprop.0]".
// That of a body of OpenMP stays.
std::string without_clone(const std::string& name) {
  const std::size_t at = name.find(" [clone .");
  const bool is_body = at == std::string::npos || name.compare(at + 9, 4, "_omp") == 0 ||
                       name.compare(at + 9, 4, "omp_") == 0;
  return is_body ? name : name.substr(0, at);
}

std::vector<Place> places_of(const Profile& profile, const Sample& sample) {
  std::vector<Place> places;
  for (const std::uint32_t index : sample.stack) {
    const Location& location = profile.locations[index];
    const std::string& module = location.mapping == kNoMapping
                                    ? profile.texts[0]
                                    : profile.texts[profile.mappings[location.mapping].file];
    for (std::size_t i = 0; i < location.lines.size(); ++i) {
      const Function& function = profile.functions[location.lines[i].function];
      places.push_back({without_clone(profile.texts[function.name]), profile.texts[function.file],
                        module, location.lines[i].line, i + 1 < location.lines.size()});
    }
  }
  return places;
}

// Functions that work for their callers: those of the C and C++ libraries.
bool is_helper(const Place& place) {
  return is_system_module(place.module) ||
         kind_of({&place.function, &place.file}) == FrameKind::kStandard;
}

MemoryFunction function_of(const Place& place) {
  return memory_function(place.function, place.module);
}

}  // namespace

TimeStack read_time_stack(const Profile& profile, const Sample& sample) {
  TimeStack stack;
  stack.places = places_of(profile, sample);
  const std::vector<Place>& places = stack.places;
  const std::size_t size = places.size();

  // All that a memory function calls is memory management, whatever it is: a replacement of
  // operator new may be the program's.
  std::size_t begin = 0;
  while (begin < size && function_of(places[begin]) == MemoryFunction::kNone) ++begin;
  std::size_t end = begin;  // what the memory function works for
  if (begin < size) {
    stack.function = MemoryFunction::kInside;
    for (std::size_t i = begin; i < size; ++i) {
      const MemoryFunction function = function_of(places[i]);
      if (function == MemoryFunction::kNone) {
        // realloc is below reallocarray, malloc below operator new; between them may be the C
        // library.
        if (is_system_module(places[i].module)) continue;
        break;
      }
      end = i + 1;
      if (function != MemoryFunction::kInside) stack.function = function;
    }
    for (std::size_t i = 0; i < begin; ++i) {
      stack.copies |= i == 0 && is_copy(places[i].function);
    }
    for (std::size_t i = 0; i < end; ++i) {
      stack.waits |= is_lock_wait(places[i].function);
      if (stack.slow == SlowWork::kNone) stack.slow = slow_work(places[i].function);
    }
    for (std::size_t i = end; i > begin && stack.function == MemoryFunction::kInside; --i) {
      stack.function = purpose_inside(places[i - 1].function);
    }
    stack.is_unclear = stack.function == MemoryFunction::kInside;
  } else {
    end = 0;
    for (std::size_t i = 0; i < size && (i == 0 || is_helper(places[i - 1])); ++i) {
      if (places[i].function.find("cond_wait") != std::string::npos) break;
      const bool own = !is_helper(places[i]);
      stack.locks |=
          is_lock_function(places[i].function) &&
          (!own || kind_of({&places[i].function, &places[i].file}) == FrameKind::kScheduler);
    }
  }
  stack.starts = size > 0 && is_loader_module(places[0].module);

  const bool allocates = stack.function != MemoryFunction::kNone;
  for (std::size_t i = end; i < size; ++i) {
    const std::string_view container = growing_container(places[i].function, allocates);
    if (!container.empty()) {
      stack.container = container;
      break;
    }
    if (!is_helper(places[i])) break;
  }

  std::vector<Frame> frames;
  std::vector<std::size_t> numbers;
  for (std::size_t i = end; i < size; ++i) {
    if (is_system_module(places[i].module)) continue;
    frames.push_back({&places[i].function, &places[i].file});
    numbers.push_back(i);
  }
  stack.site =
      frames.empty() ? std::min(end, size == 0 ? 0 : size - 1) : numbers[own_frame(frames)];
  return stack;
}

Kind kind_of_value(const TimeStack& stack, TimeType type) {
  switch (type) {
    case kCpu:
    case kWaited:
      if (stack.function == MemoryFunction::kNone) {
        if (stack.starts) return Kind::kStart;
        if (type == kWaited) return stack.locks ? Kind::kLock : Kind::kWait;
        return stack.container.empty() ? Kind::kOther : Kind::kGrowth;
      }
      if (type == kWaited || stack.waits) return Kind::kAllocatorLock;
      // That the growth of a container has met fragments is not its fault.
      if (!stack.container.empty() && stack.slow != SlowWork::kMerging) return Kind::kGrowth;
      if (stack.function == MemoryFunction::kFree) return Kind::kFree;
      if (stack.function == MemoryFunction::kReallocate) {
        return stack.copies ? Kind::kReallocCopy : Kind::kRealloc;
      }
      return Kind::kAllocation;
    case kFaults:
      return stack.starts && stack.function == MemoryFunction::kNone ? Kind::kStart
                                                                     : Kind::kPageFault;
    case kShared:
      return Kind::kSharing;
    case kReceived:
      return Kind::kFree;
    case kGrowths:
    case kCopied:
      return Kind::kRealloc;
    default:
      return stack.container.empty() ? Kind::kAllocation : Kind::kGrowth;
  }
}

}  // namespace corbel::cli
