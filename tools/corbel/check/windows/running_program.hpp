// SPDX-License-Identifier: Apache-2.0
// Where the memory functions of a process lead.
#pragma once

#include <windows.h>

#include "check/check.hpp"
#include "run/windows/start.hpp"

namespace corbel::cli {

// Has a process that was created suspended go on to the first instruction of the program itself,
// where it stays. Its DLLs have been loaded then, and have started. Returns why it did not come
// there, in one line; empty when it did.
std::string run_to_entry(const StartedProcess& started, std::uint32_t entry);

// Fills in what is loaded in `process`, where each function leads, and whether Corbel is active.
void judge(HANDLE process, CheckReport& report);

}  // namespace corbel::cli
