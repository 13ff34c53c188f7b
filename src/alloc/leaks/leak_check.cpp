// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/leak_check.hpp"

#include <atomic>

#include "alloc/check/ledger.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/leaks/options.hpp"
#include "alloc/leaks/report.hpp"
#include "alloc/leaks/scan.hpp"
#include "alloc/leaks/thread_stacks.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "unwind/unwind.hpp"

namespace corbel::alloc {

namespace {

constinit LeakOptions leak_options;

// The process that is checking; 0: none. A child of a fork that happened during a check has the
// number of its parent here.
constinit std::atomic<std::uint32_t> checking{0};

constexpr BlockSource kLedger{
    [](void (*visit)(void*, std::uintptr_t, std::size_t, StackId, bool), void* context) {
      ledger.for_each_block([&](const BlockRef& block) {
        const BlockState state = block.state();
        if (state == BlockState::kLive || state == BlockState::kChanging) {
          visit(context, address_of(block.begin()), block.record->size, block.record->allocated_at,
                state == BlockState::kLive);
        }
        return true;
      });
    }};

// `own` are the registers of the frame up to which the calling thread's stack is a root: the frames
// below have old values and the addresses that the scan handles. nullptr: all of it is.
LeakVerdict check(const arch::Registers* own);

__attribute__((destructor)) void check_at_exit() {
  if (!leak_options.on) return;
  const auto exit_code = address_of(os::exit_function());
  const unwind::CodeRange in_exit{exit_code, exit_code + os::kExitFunctionSize};
  arch::Registers registers;
  check(unwind::find_caller(in_exit, &registers) ? &registers : nullptr);
}

}  // namespace

bool set_up_leaks() {
  read_leak_options(os::environment("CORBEL_LEAKS"), &leak_options);
  if (leak_options.on) watch_thread_stacks();
  return leak_options.on;
}

namespace {

LeakVerdict check(const arch::Registers* own) {
  if (!leak_options.on || !watches()) return LeakVerdict::kNotRecording;
  const std::uint32_t self = os::process_id();
  // relaxed both: only one thread goes on, and what it reads is not this variable's to publish
  std::uint32_t other = checking.load(std::memory_order_relaxed);
  if (other == self || !checking.compare_exchange_strong(other, self, std::memory_order_relaxed)) {
    return LeakVerdict::kBusy;
  }
  LeakVerdict verdict = LeakVerdict::kNotPossible;
  {
    const InsideAllocator inside;
    LeakScan scan;
    const LiveContext used =
        own != nullptr ? LiveContext{own->at[arch::kStackRegister], own->at, arch::kRegisters}
                       : LiveContext{};
    const LeakScan::Result result = scan.run(kLedger, own != nullptr ? &used : nullptr);
    if (leak_options.file[0] != '\0') {
      report_leaks_to_file(scan, result, leak_options);
    } else {
      report_leaks_as_text(scan, result, leak_options);
    }
    if (result == LeakScan::Result::kDone) {
      const bool any = scan.total(LeakPlace::Kind::kDefinite).blocks != 0;
      verdict = any ? LeakVerdict::kSome : LeakVerdict::kNone;
    }
  }
  checking.store(0, std::memory_order_relaxed);  // relaxed: see above
  return verdict;
}

}  // namespace

LeakVerdict check_leaks(const void* return_address) {
  const std::uintptr_t after_call = address_of(return_address);
  arch::Registers registers;
  const bool found = unwind::find_frame({after_call - 1, after_call}, &registers);
  return check(found ? &registers : nullptr);
}

}  // namespace corbel::alloc
