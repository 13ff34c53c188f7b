// SPDX-License-Identifier: Apache-2.0
// There is no signal that could interrupt a thread: no time profile.
#include "os/sampling.hpp"

namespace corbel::os {

SampleStart start_samples(SampleClock, std::uint64_t, void (*)(const SampleSignal&)) {
  return SampleStart::kRefused;
}
bool samples_are_lost() { return false; }
bool SampleTimer::start(std::uint32_t, std::uint32_t) { return false; }
void SampleTimer::stop() { timer_ = -1; }
void SampleTimer::change_period(std::uint64_t) {}
void follow_user() {}
void use_own_files() {}
unsigned for_each_thread(void (*)(void*, std::uint32_t), void*) { return 0; }
bool has_ended(std::uint32_t) { return false; }
int signal_of_samples() { return 0; }
const char* name_of_samples() { return ""; }
bool samples_use_urgent_signal() { return false; }
bool blocks_signal(std::uint32_t, int) { return false; }
WaitLook find_wait(std::uint32_t, ThreadWait*) { return WaitLook::kRefused; }
bool interrupt_wait(std::uint32_t, std::uint32_t) { return false; }
bool was_waiting(const void*, ThreadWait*) { return false; }
bool is_system_call(const unsigned char*) { return false; }
std::uint64_t own_faults() { return 0; }
bool find_faults(std::uint32_t, std::uint64_t*) { return false; }

void read_name_of(std::uint32_t, char* name, std::size_t capacity) {
  if (capacity != 0) name[0] = '\0';
}

}  // namespace corbel::os
