// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/leak_check.hpp"

#include <atomic>

#include "alloc/check/ledger.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/leaks/options.hpp"
#include "alloc/leaks/report.hpp"
#include "alloc/leaks/sampled_scan.hpp"
#include "alloc/leaks/scan.hpp"
#include "alloc/leaks/thread_stacks.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/profile/heap_profile.hpp"
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

// What `registers` of the frame up to which the calling thread's stack is a root make of it: the
// frames below have old values and the addresses that the scan handles.
LiveContext used_from(const arch::Registers& registers) {
  return {registers.at[arch::kStackRegister], registers.at, arch::kRegisters};
}

void report(const LeakFindings& findings) {
  if (leak_options.file[0] != '\0') {
    report_leaks_to_file(findings, leak_options);
  } else {
    report_leaks_as_text(findings, leak_options);
  }
}

// Lets one thread check at a time.
class Checking {
 public:
  Checking() {
    const std::uint32_t self = os::process_id();
    // relaxed both: only one thread goes on, and what it reads is not this variable's to publish
    std::uint32_t other = checking.load(std::memory_order_relaxed);
    has_begun_ =
        other != self && checking.compare_exchange_strong(other, self, std::memory_order_relaxed);
  }
  ~Checking() {
    if (has_begun_) checking.store(0, std::memory_order_relaxed);  // relaxed: see above
  }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;

  bool has_begun() const { return has_begun_; }

 private:
  bool has_begun_;
};

bool records_all() { return leak_options.blocks == LeakBlocks::kEvery && watches(); }

LeakVerdict verdict_of(const LeakFindings& findings) {
  if (findings.result() == LeakFindings::Result::kBusy) return LeakVerdict::kBusy;
  if (findings.result() != LeakFindings::Result::kDone) return LeakVerdict::kNotPossible;
  const bool any = findings.total(LeakPlace::Kind::kDefinite).blocks != 0;
  return any ? LeakVerdict::kSome : LeakVerdict::kNone;
}

// `registers`: see used_from(); nullptr: all of the thread's stack is a root.
LeakVerdict check(bool sampled, const arch::Registers* registers) {
  const Checking checking_now;
  if (!checking_now.has_begun()) return LeakVerdict::kBusy;
  const InsideAllocator inside;
  const LiveContext used = registers != nullptr ? used_from(*registers) : LiveContext{};
  const LiveContext* const own = registers != nullptr ? &used : nullptr;
  if (sampled) {
    SampledScan scan;
    scan.run(own, true);
    report(scan);
    return verdict_of(scan);
  }
  LeakScan scan;
  scan.run(kLedger, own, true);
  report(scan);
  return verdict_of(scan);
}

__attribute__((constructor)) void begin_sampling() {
  set_up_checks();
  if (leak_options.blocks != LeakBlocks::kSampled || heap_profile_is_on()) return;
  start_heap_profile(leak_options.every);
}

__attribute__((destructor)) void check_at_exit() {
  const bool sampled = leak_options.blocks == LeakBlocks::kSampled;
  if (!sampled && !records_all()) return;
  const auto exit_code = address_of(os::exit_function());
  const unwind::CodeRange in_exit{exit_code, exit_code + os::kExitFunctionSize};
  arch::Registers registers;
  check(sampled, unwind::find_caller(in_exit, &registers) ? &registers : nullptr);
}

}  // namespace

bool set_up_leaks() {
  read_leak_options(os::environment("CORBEL_LEAKS"), &leak_options);
  if (leak_options.blocks != LeakBlocks::kNone) watch_thread_stacks();
  return leak_options.blocks == LeakBlocks::kEvery;
}

LeakVerdict check_leaks(const void* return_address) {
  if (!records_all()) return LeakVerdict::kNotRecording;
  const std::uintptr_t after_call = address_of(return_address);
  arch::Registers registers;
  const bool found = unwind::find_frame({after_call - 1, after_call}, &registers);
  return check(false, found ? &registers : nullptr);
}

LeakVerdict check_leaks_in_handler(const os::Request& request, bool sampled, const LeakSink& sink) {
  sampled = sampled || !records_all();
  if (sampled && !heap_profile_has_begun()) return LeakVerdict::kNotRecording;
  const Checking checking_now;
  if (!checking_now.has_begun()) return LeakVerdict::kBusy;
  const LiveContext own{request.program_stack, request.registers, request.register_count};
  const auto finish = [&](const LeakFindings& findings) {
    if (findings.result() != LeakFindings::Result::kBusy) write_leaks(findings, sink);
    return verdict_of(findings);
  };
  if (sampled) {
    SampledScan scan;
    scan.run(&own, false);
    return finish(scan);
  }
  LeakScan scan;
  scan.run(kLedger, &own, false);
  return finish(scan);
}

}  // namespace corbel::alloc
