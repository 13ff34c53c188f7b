// SPDX-License-Identifier: Apache-2.0
// Threads are neither watched nor stopped: idle heaps stay with their threads, and there are no
// leak reports.
#include "os/os.hpp"

namespace corbel::os {

bool can_watch_threads() { return false; }
ThreadWatch::ThreadWatch(std::uint32_t thread, const void* local, const void* own_local)
    : thread_(thread), local_(local), own_local_(own_local) {}
ThreadWatch::~ThreadWatch() = default;
ThreadWatch::Seems ThreadWatch::seems() { return Seems::kElsewhere; }
bool ThreadWatch::is_asleep() { return false; }
bool ThreadWatch::is_still_asleep() { return false; }

void StoppedThreads::for_each(void (*)(void*, const StoppedThread&), void*) const {}
StackRange StoppedThreads::scratch_stack() const { return {}; }

StopOutcome with_threads_stopped(void (*)(void*, const StoppedThreads&), void*) {
  return {StopOutcome::Kind::kForbidden, 0};
}

}  // namespace corbel::os
