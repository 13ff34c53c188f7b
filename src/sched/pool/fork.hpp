// SPDX-License-Identifier: Apache-2.0
// fork() in a program that uses the scheduler.
#pragma once

#include "sync/lock.hpp"

namespace corbel::sched {

// Registers the fork handlers, which keep the library's state consistent in the child.
// `controls_lock` returns the lock of lowest rank, and first waits for a call of this function in
// another thread. Call this once, before any lock of the scheduler is taken, and after the
// allocator has hooked its own handlers, since its locks are taken after these.
void hook_forks(sync::Lock& (*controls_lock)());

}  // namespace corbel::sched
