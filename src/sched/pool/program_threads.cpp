// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/program_threads.hpp"

#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::sched {

namespace {

CORBEL_THREAD_VARIABLE(bool, is_counted) = false;
CORBEL_THREAD_VARIABLE(bool, is_attached) = false;

}  // namespace

void ProgramThreads::add_this() {
  if (is_counted) return;
  is_counted = true;
  // relaxed: a thread that reads too low a number ends workers, which start again when needed
  if (count_.fetch_add(1, std::memory_order_relaxed) == 0) note_change();
}

bool ProgramThreads::remove_this() {
  if (!is_counted) return false;
  is_counted = false;
  // (2) acq_rel: the last one sees what the others did, and publishes it with the rest to (1)
  return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void ProgramThreads::note_change() {
  changes_.fetch_add(1, std::memory_order_release);  // (3) release: publishes the change to (4)
  os::wake_all(changes_);
}

void ProgramThreads::attach() {
  is_attached = true;
  attached_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
}

void ProgramThreads::detach() {
  if (!is_attached) return;
  is_attached = false;
  // (5) release: publishes to (6) that the thread has left its arena
  attached_.fetch_sub(1, std::memory_order_release);
}

bool ProgramThreads::others_are_attached() const {
  // (6) acquire: sees what threads did before they left, published by (5)
  return attached_.load(std::memory_order_acquire) != (is_attached ? 1U : 0U);
}

void ProgramThreads::forget_others() {
  // relaxed, all: the only thread
  count_.store(is_counted ? 1 : 0, std::memory_order_relaxed);
  changes_.store(0, std::memory_order_relaxed);
  attached_.store(is_attached ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace corbel::sched
