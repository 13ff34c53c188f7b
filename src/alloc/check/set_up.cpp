// SPDX-License-Identifier: Apache-2.0
#include <corbel/malloc.h>
#include <errno.h>

#include "alloc/check/fault.hpp"
#include "alloc/check/ledger.hpp"
#include "alloc/check/options.hpp"
#include "alloc/check/pattern.hpp"
#include "alloc/check/verify.hpp"
#include "alloc/heap/watch.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock checks_lock{lock_rank::kChecks};

namespace {

enum class Progress { kNone, kBegun, kDone };
constinit std::atomic<Progress> progress{Progress::kNone};

void begin_checks() {
  const char* const text = os::environment("CORBEL_CHECK");
  if (text != nullptr) read_check_options(text, &check_options);
  const bool checks = check_options.blocks == CheckedBlocks::kEvery;
  const bool leaks = set_up_leaks();
  if (!checks && !leaks) return;
  if (!checks && check_options.blocks == CheckedBlocks::kSome) {
    constexpr char kLine[] =
        "corbel: CORBEL_CHECK=guards is ignored: CORBEL_LEAKS records every block; unset one\n";
    os::write_error(kLine, sizeof kLine - 1);
  }
  if (!checks) check_options = kRecordOnly;
  if (!ledger.set_up()) {
    constexpr char kLine[] =
        "corbel: CORBEL_CHECK and CORBEL_LEAKS are ignored: there is no memory for them\n";
    os::write_error(kLine, sizeof kLine - 1);
    return;
  }
  if (checks) {
    choose_canary();
    watch_faults();
  }
  watch_is_on.store(true, std::memory_order_relaxed);  // relaxed: watch.hpp
}

// In a process whose first malloc comes late, before it can have a second thread.
__attribute__((constructor)) void set_up_at_start() { set_up_checks(); }

__attribute__((destructor)) void verify_at_exit() {
  if (watches() && check_options.redzone != 0) verify_all("found at exit");
}

}  // namespace

void set_up_checks() {
  // (2) acquire: sees the options and the ledger published by (1)
  if (progress.load(std::memory_order_acquire) == Progress::kDone) return;
  Progress none = Progress::kNone;
  // relaxed: (1) publishes
  if (progress.compare_exchange_strong(none, Progress::kBegun, std::memory_order_relaxed)) {
    begin_checks();
    // (1) release: publishes the options and the ledger to (2)
    progress.store(Progress::kDone, std::memory_order_release);
  }
  // Another thread must not get a block that is not recorded. A thread that has vanished at the end
  // of the process is not awaited.
  while (progress.load(std::memory_order_acquire) != Progress::kDone) {  // (2)
    if (os::other_threads_are_gone()) return;
    os::yield();
  }
}

}  // namespace corbel::alloc
