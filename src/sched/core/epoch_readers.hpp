// SPDX-License-Identifier: Apache-2.0
// The threads that have been in a reading section (corbel/detail/epoch.hpp).
#pragma once

#include <corbel/detail/epoch.hpp>

#include "sync/lock.hpp"

namespace corbel::sched {

// Adds the calling thread, and removes it again before it ends.
void add_epoch_reader(detail::epoch_reader& reader);
void remove_epoch_reader(detail::epoch_reader& reader);

// A section of a thread that is not listed: it is being listed, or has ended, or the system had no
// room for a hook.
void enter_unlisted();
void leave_unlisted();

// In the child of a fork: removes the threads that exist only in the parent.
void forget_epoch_readers();

sync::Lock& epoch_readers_lock();

}  // namespace corbel::sched
