// SPDX-License-Identifier: Apache-2.0
// Waits on addresses, by the functions of ntdll that WaitOnAddress() stands on: they leave the last
// error alone. (WaitOnAddress() itself is in no library that is there in every process.)
#include "os/os.hpp"
#include "os/windows/api.hpp"

extern "C" {
LONG NTAPI RtlWaitOnAddress(const void* address, const void* expected, SIZE_T size,
                            const LARGE_INTEGER* timeout);
void NTAPI RtlWakeAddressSingle(const void* address);
void NTAPI RtlWakeAddressAll(const void* address);
BOOLEAN NTAPI RtlDllShutdownInProgress();
}

namespace corbel::os {

// A wait for a thread that the end of the process has ended would not end. The system's own
// locks end the process in this case, with this exit code.
void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  // relaxed: no other thread is left to change it
  if (other_threads_are_gone() && word.load(std::memory_order_relaxed) == expected) {
    constexpr UINT kThreadIsTerminating = 0xc000004b;
    TerminateProcess(GetCurrentProcess(), kThreadIsTerminating);
  }
  RtlWaitOnAddress(&word, &expected, sizeof expected, nullptr);
}

void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t ms) {
  LARGE_INTEGER timeout;
  timeout.QuadPart = -10000 * LONGLONG(ms);  // negative: from now on, in units of 100 ns
  RtlWaitOnAddress(&word, &expected, sizeof expected, &timeout);
}

void wake_one(std::atomic<std::uint32_t>& word) { RtlWakeAddressSingle(&word); }
void wake_all(std::atomic<std::uint32_t>& word) { RtlWakeAddressAll(&word); }

void yield() { SwitchToThread(); }

bool other_threads_are_gone() { return RtlDllShutdownInProgress() != 0; }

}  // namespace corbel::os
