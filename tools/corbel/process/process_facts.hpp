// SPDX-License-Identifier: Apache-2.0
// What can be found out about a process before it is asked, so that a user reads what is the matter
// instead of waiting.
#pragma once

#include <optional>
#include <string>

#include "process/control.hpp"

namespace corbel::cli {

// In one line, why the process cannot be asked; empty if nothing speaks against it.
std::string why_not_to_ask(int given, const std::optional<ProcessFacts>& facts, bool into_sandbox);

// Why the process does not react to signals now; empty if it does.
std::string why_it_cannot_run(const ProcessFacts& facts);

// The number of Corbel's helper thread, if the process has one that takes requests; else 0.
int helper_thread_of(int pid);

bool every_thread_blocks_requests(int pid);

}  // namespace corbel::cli
