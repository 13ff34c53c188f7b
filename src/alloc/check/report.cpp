// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/report.hpp"

#include <string.h>

#include "alloc/heap/watch.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/stacks/stack_table.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"
#include "unwind/modules.hpp"
#include "unwind/unwind.hpp"

namespace corbel::alloc {

namespace {

constinit std::atomic<std::uint32_t> reporter{0};

// Lets one thread report. Another one waits for the end of the process. The same one, which finds
// something while it reports, or whose handler of SIGABRT calls malloc, ends the process at once.
// So does one that finds that the end of the process has ended the thread that reported.
void begin_report() {
  const std::uint32_t self = os::thread_id();
  std::uint32_t other = 0;
  // relaxed: nothing is published
  if (reporter.compare_exchange_strong(other, self, std::memory_order_relaxed)) return;
  if (other == self || os::other_threads_are_gone()) os::abort();
  for (;;) os::wait_for(reporter, other, 1000);
}

using ReportLine = Text<400>;

void write_line(const ReportLine& line) { os::write_error(line.data(), line.size()); }

// Where a frame's code comes from. The dynamic linker would know names, but may wait for a lock.
struct FramePlace {
  static constexpr std::size_t kMaxPath = 160;
  std::uint64_t offset;  // the address that the file's symbols have
  char path[kMaxPath];   // empty: not known
};

// Not on the stack, which may be that of a signal handler. Only the thread that reports uses it.
std::uint64_t address_in_file(std::uintptr_t address, const unwind::Module& module) {
  os::CodeObject object;
  if (!os::find_code(address - 1, &object)) return address - module.start + module.offset;
  // The beginning of the file is mapped there. Only a program that is not position-independent has
  // the type ET_EXEC, and lies where its symbols say.
  std::uint16_t type;
  memcpy(&type, static_cast<const char*>(pointer_to(object.low)) + 16, sizeof type);
  constexpr std::uint16_t kFixed = 2;
  return type == kFixed ? address : address - object.low;
}

constinit FramePlace places[kMaxFrames]{};

void find_places(const Stack& stack) {
  for (FramePlace& place : places) place.path[0] = '\0';
  unwind::for_each_module([&](const unwind::Module& module) {
    for (unsigned i = 0; i < stack.count && i < kMaxFrames; ++i) {
      // A frame is a return address, which may be the end of its function.
      const auto address = reinterpret_cast<std::uintptr_t>(stack.frames[i]);
      if (address - 1 < module.start || address - 1 >= module.end) continue;
      places[i].offset = address_in_file(address, module);
      TextInto path(places[i].path, FramePlace::kMaxPath);
      path.add(module.path).finish();
    }
    return true;
  });
}

// A line a frame: its address, and the file with the offset in it.
void write_stack(const Stack& stack) {
  find_places(stack);
  for (unsigned i = 0; i < stack.count && i < kMaxFrames; ++i) {
    ReportLine line;
    line.add("    #").add_decimal(i).add(i < 10 ? "  " : " ");
    line.add_hex(reinterpret_cast<std::uintptr_t>(stack.frames[i]));
    if (places[i].path[0] != '\0') {
      line.add(" (").add(places[i].path).add("+").add_hex(places[i].offset).add(")");
    }
    write_line(line.add("\n"));
  }
  if (stack.count == 0) write_line(ReportLine{}.add("    (the stack is not known)\n"));
}

void write_recorded(const char* what, std::uint32_t thread, StackId stack) {
  write_line(ReportLine{}.add("  ").add(what).add(" by thread ").add_decimal(thread).add(":\n"));
  write_stack(stack_of(stack));
}

// Not inlined, so that a known number of frames is left out.
__attribute__((noinline)) void write_own(const Occasion& occasion) {
  write_line(ReportLine{}
                 .add("  ")
                 .add(occasion.doing)
                 .add(" by thread ")
                 .add_decimal(os::thread_id())
                 .add(":\n"));
  void* frames[kMaxFrames];
  const unsigned count = occasion.context != nullptr
                             ? unwind::capture_from(occasion.context, frames, kMaxFrames)
                             : unwind::capture(frames, kMaxFrames, 0);
  unsigned first = 0;
  while (occasion.context == nullptr && first < count && is_hidden_code(frames[first])) ++first;
  if (first == count) first = 0;
  write_stack({frames + first, count - first});
}

void write_history(const BlockRef& block) {
  const BlockRecord& record = *block.record;
  const BlockState state = block.state();
  write_recorded("allocated", record.allocated_by, record.allocated_at);
  if (state == BlockState::kQuarantined || state == BlockState::kReleased) {
    write_recorded("freed", record.freed_by, record.freed_at);
  }
}

}  // namespace

void report(const Finding& finding, const void* address, const BlockRef& block,
            const Occasion& occasion) {
  begin_report();
  ReportLine line;
  Finding text = finding;
  line.add("corbel: ").add(text.c_str()).add(" (block ");
  line.add_hex(reinterpret_cast<std::uintptr_t>(address)).add(")\n");
  write_line(line);
  if (occasion.doing != nullptr) write_own(occasion);
  if (block) write_history(block);
  os::abort();
}

void add_block(Finding& finding, const BlockRef& block) {
  const BlockState state = block.state();
  const bool is_freed = state == BlockState::kQuarantined || state == BlockState::kReleased;
  finding.add(is_freed ? "a freed block of " : "a block of ");
  finding.add_decimal(block.record->size).add(block.record->size == 1 ? " byte" : " bytes");
}

void add_to_death(const void* block) {
  if (!watches()) return;
  begin_report();
  write_own({.doing = "called"});
  if (const BlockRef known = ledger.find(block)) {
    Finding finding;
    finding.add("  the address belonged to ");
    add_block(finding, known);
    write_line(ReportLine{}.add(finding.add("\n").c_str()));
    write_history(known);
  }
}

}  // namespace corbel::alloc
