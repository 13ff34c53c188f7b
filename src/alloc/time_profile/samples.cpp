// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/samples.hpp"

#include <algorithm>
#include <atomic>

#include "alloc/time_profile/count_table.hpp"
#include "alloc/time_profile/profiled_threads.hpp"
#include "alloc/time_profile/shared_lines.hpp"
#include "arch/arch.hpp"
#include "os/os.hpp"
#include "unwind/unwind.hpp"

namespace corbel::alloc {

namespace {

// relaxed throughout: a handler may miss the beginning or the end by a moment, and the rest are
// figures
constinit std::atomic<bool> is_sampling{false};
constinit std::atomic<std::uint64_t> longest_ns{0};
constinit std::atomic<std::uint64_t> without_room{0};
constinit std::atomic<std::uint64_t> lost_wait_ns{0};
constinit std::atomic<std::uint64_t> handler_ns{0};

void add_to(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
  sum.fetch_add(more, std::memory_order_relaxed);
}

// 0, and a sample is lost, if there is no room.
StackId stack_at(const void* context) {
  void* frames[kMaxFrames];
  const unsigned count = unwind::capture_from(context, frames, kMaxFrames);
  const StackId stack = intern_stack_in_handler(frames, count);
  if (stack == 0 && count != 0) add_to(without_room, 1);
  return stack;
}

// nullptr, and a sample is lost, if there is no room.
CountRow* row_of(StackId stack, std::uint32_t thread) {
  CountRow* const row = find_count({stack, thread, 0, 0});
  if (row == nullptr) add_to(without_room, 1);
  return row;
}

// The time since the last sample belongs to the stack. If it is much more than a period, the thread
// has blocked the signal: of what it did meanwhile, nothing is known.
void add_time(std::uint32_t number, StackId stack, std::uint64_t time) {
  const std::uint64_t known = std::min(time, longest_ns.load(std::memory_order_relaxed));
  if (CountRow* const row = row_of(stack, number)) add_to(row->cpu_ns, known);
  if (known == time) return;
  if (CountRow* const row = row_of(0, number)) add_to(row->cpu_ns, time - known);
}

void add_faults(ProfiledTask& task, std::uint32_t number, StackId stack, std::uint64_t now,
                bool is_fault_signal) {
  const std::uint64_t more = task.has_faults_seen ? now - task.faults_seen
                             : is_fault_signal    ? os::kFaultsPerSample
                                                  : 0;
  if (more == 0) return;
  if (CountRow* const row = row_of(stack, number)) add_to(row->faults, more);
}

// The registers that memory operands use, by the numbers of arch::MemoryAccess.
constexpr unsigned kOperandRegisters =
    arch::kStackRegister + 1 > 16 ? arch::kStackRegister + 1 : 16;

std::uintptr_t word_of(const void* context, int offset) {
  return arch::load_word(reinterpret_cast<std::uintptr_t>(context) + std::uintptr_t(offset));
}

// The code around the pc, of one page, because no other need be there. Code of a program or library
// can be read where it is; other code need not be readable.
constexpr std::uintptr_t kCodePage = 4096;
struct CodeAt {
  static constexpr std::size_t kBefore = 64;  // as much as arch::find_access() looks at
  static constexpr std::size_t kAfter = 16;
  unsigned char copy[kBefore + kAfter];
  arch::CodeView view;

  bool find(std::uintptr_t pc) {
    const std::size_t before = std::min<std::size_t>(pc % kCodePage, kBefore);
    const std::size_t after = std::min<std::size_t>(kCodePage - pc % kCodePage, kAfter);
    os::CodeObject object;
    view = {reinterpret_cast<const unsigned char*>(pc), before, after, pc};
    if (os::find_code(pc, &object)) return true;
    view.at = copy + before;
    return os::copy_memory(copy, pc - before, before + after);
  }

  // Whether the thread was in a system call: what its registers hold is of the past.
  bool is_after_system_call() const {
    constexpr std::size_t kSize = os::kSystemCallSize;
    return (view.before >= kSize && os::is_system_call(view.at - kSize)) ||
           (view.after >= kSize && os::is_system_call(view.at));
  }
};

// Sharing of cache lines shows in the accesses at which threads are when their time is sampled: one
// that waits for the line of another processor is where a thread is for long.
void add_access(std::uint32_t number, StackId stack, const void* context) {
  constexpr std::uintptr_t kBelowStack = 256;
  constexpr std::uintptr_t kNearStack = 4096;
  CodeAt code;
  if (!code.find(word_of(context, os::context_offset_of_pc())) || code.is_after_system_call()) {
    return;
  }
  std::uintptr_t registers[kOperandRegisters];
  for (unsigned i = 0; i < kOperandRegisters; ++i) {
    registers[i] = word_of(context, os::context_offset(i));
  }
  arch::MemoryAccess access;
  if (!arch::find_access(code.view, registers, &access)) return;
  // What the thread has on its own stack, others seldom use.
  if (access.address - (registers[arch::kStackRegister] - kBelowStack) < kNearStack) return;
  if (!note_access(number, access)) return;
  CountRow* const row = find_count({stack, number, access.address, access.size});
  if (row == nullptr) return add_to(without_room, 1);
  add_to(row->sharing, 1);
  if (access.writes) add_to(row->writes, 1);
  if (row->block.load(std::memory_order_relaxed) == 0) {
    row->block.store(block_size_at(access.address), std::memory_order_relaxed);
  }
}

void add_wait(ProfiledTask& task, std::uint32_t number, const void* context) {
  const std::uint64_t due = task.wait_due.exchange(0, std::memory_order_relaxed);
  os::ThreadWait wait;
  if (!os::was_waiting(context, &wait)) return add_to(lost_wait_ns, due);
  const StackId stack = stack_at(context);
  if (CountRow* const row = row_of(stack, number)) add_to(row->wait_ns, due);
  task.wait_stack.store(stack, std::memory_order_relaxed);
}

}  // namespace

void handle_sample(const os::SampleSignal& signal) {
  if (!is_sampling.load(std::memory_order_relaxed)) return;
  ProfiledTask* const task = task_at(signal.number);
  if (task == nullptr || task->id != os::thread_id()) return;
  const std::uint64_t begin = os::own_time_ns();
  task->samples.fetch_add(1, std::memory_order_relaxed);
  if (signal.kind == os::SampleKind::kWait) {
    add_wait(*task, signal.number, signal.context);
  } else {
    // Without a counter of the faults, those since the last sample belong to this one's stack.
    const bool counts_faults = signal.kind == os::SampleKind::kFaults ||
                               !task->has_fault_signals.load(std::memory_order_relaxed);
    const std::uint64_t faults = counts_faults ? os::own_faults() : 0;
    const StackId stack = stack_at(signal.context);
    if (counts_faults) {
      add_faults(*task, signal.number, stack, faults, signal.kind == os::SampleKind::kFaults);
    }
    if (signal.kind == os::SampleKind::kTime) {
      if (begin > task->time_seen) add_time(signal.number, stack, begin - task->time_seen);
      task->time_seen = begin;
      add_access(signal.number, stack, signal.context);
    }
    if (counts_faults) {
      task->faults_seen = os::own_faults();
      task->has_faults_seen = true;
    }
  }
  // The handler's own time belongs to no stack.
  const std::uint64_t took = os::own_time_ns() - begin;
  task->time_seen += took;
  add_to(handler_ns, took);
}

void begin_samples(std::uint64_t period_ns) {
  // The kernel's tick is at most 10 ms.
  constexpr std::uint64_t kTick = 10000000;
  longest_ns.store(4 * (period_ns + kTick), std::memory_order_relaxed);
  is_sampling.store(true, std::memory_order_relaxed);
}

void end_samples() { is_sampling.store(false, std::memory_order_relaxed); }

std::uint64_t samples_cost_ns() { return handler_ns.load(std::memory_order_relaxed); }

LostSamples lost_samples() {
  return {without_room.load(std::memory_order_relaxed),
          lost_wait_ns.load(std::memory_order_relaxed)};
}

}  // namespace corbel::alloc
