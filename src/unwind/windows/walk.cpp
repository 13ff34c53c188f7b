// SPDX-License-Identifier: Apache-2.0
// Call stacks by the tables of the system.
#include "unwind/walk.hpp"
#include "os/os.hpp"
#include "unwind/unwind.hpp"

namespace corbel::unwind {

namespace {

struct Walk {
  FrameList list;
  std::uintptr_t first_stack;  // frames below it are left out: those of this library
};

bool add_frame(std::uintptr_t pc, std::uintptr_t stack, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  return stack < walk.first_stack || walk.list.add(pc);
}

unsigned walk_from(const void* context, const FrameList& list, std::uintptr_t first_stack) {
  Walk walk{list, first_stack};
  os::walk_stack(context, add_frame, &walk);
  return walk.list.count();
}

}  // namespace

__attribute__((noinline)) unsigned capture(void** frames, unsigned max, unsigned skip) {
  if (max == 0) return 0;
  return walk_from(nullptr, FrameList(frames, max, skip), own_return_place().stack);
}

unsigned capture_at(const ReturnPlace& place, void** frames, unsigned max,
                    bool (*is_left_out)(const void* frame)) {
  if (max == 0) return 0;
  return walk_from(nullptr, FrameList(frames, max, is_left_out), place.stack);
}

unsigned capture_from(const void* context, void** frames, unsigned max) {
  return max == 0 ? 0 : walk_from(context, FrameList(frames, max, 0U), 0);
}

// For the scan for leaks, which there is not.
bool find_frame(CodeRange, arch::Registers*) { return false; }
bool find_caller(CodeRange, arch::Registers*) { return false; }

}  // namespace corbel::unwind
