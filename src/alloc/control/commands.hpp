// SPDX-License-Identifier: Apache-2.0
// What the corbel command can ask of a running process.
#pragma once

#include <cstddef>

#include "alloc/control/reply.hpp"

namespace corbel::alloc {

// A command runs in a signal handler that may have interrupted anything. It takes a lock only by
// try_lock_in_handler(), and answers "busy" if it does not get it; and it does not call malloc. It
// has a stack of its own (os::kRequestStack).
struct ControlCommand {
  const char* name;
  // `words` is what follows the name, without the blank.
  void (*run)(const char* words, Reply& reply);
};

// The last one has no name.
extern const ControlCommand kControlCommands[];

// Carries out the line of a request.
void run_command(const char* line, Reply& reply);

}  // namespace corbel::alloc
