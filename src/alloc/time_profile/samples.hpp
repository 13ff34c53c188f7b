// SPDX-License-Identifier: Apache-2.0
// What the handler of the profiler's signals does.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::alloc {

// Calls before begin_samples() and after end_samples() have no effect.
void handle_sample(const os::SampleSignal& signal);

void begin_samples(std::uint64_t period_ns);
void end_samples();

// The time that the handler has taken in all threads.
std::uint64_t samples_cost_ns();

// What has come to nothing.
struct LostSamples {
  std::uint64_t without_room;  // stacks and rows that there was no memory for
  std::uint64_t wait_ns;       // the thread had gone on before the handler looked
};
LostSamples lost_samples();

}  // namespace corbel::alloc
