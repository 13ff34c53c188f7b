// SPDX-License-Identifier: Apache-2.0
// SIGURG, whose handler two parts of Corbel share: the requests of other processes (request.hpp),
// and the samples of the profiler.
#pragma once

#include <signal.h>

#include <atomic>

namespace corbel::os {

// Takes the signal if it is a sample; nullptr: there are none.
using TakeSample = bool (*)(const siginfo_t& info, const void* context);
extern std::atomic<TakeSample> take_sample;

// Installs the handler, unless that has been done. False, and nothing has changed, if the program
// or the one that started it has chosen what the signal does.
bool install_urgent_handler();

bool has_urgent_handler();

}  // namespace corbel::os
