// SPDX-License-Identifier: Apache-2.0
// The end of a process in which a thread reads a container, and one makes process barriers: the
// last thread does not wait for them.
#include <corbel/detail/retired_nodes.hpp>

#include <atomic>

#include "at_end.hpp"
#include "os/os.hpp"

namespace {

std::atomic<bool> is_reading{false};
std::atomic<int> barriers{0};

void at_end() {
  corbel::detail::wait_for_readers();
  TerminateProcess(GetCurrentProcess(), 0);
}

DWORD WINAPI read(void*) {
  const corbel::detail::reading_section section;
  is_reading = true;
  Sleep(INFINITE);
  return 0;
}

// It is nearly always in the middle of one.
DWORD WINAPI make_barriers(void*) {
  for (;;) {
    corbel::os::process_barrier();
    ++barriers;
  }
}

}  // namespace

int main() {
  if (!call_at_end(at_end)) return 2;
  corbel::os::enable_process_barrier();
  CloseHandle(CreateThread(nullptr, 0, read, nullptr, 0, nullptr));
  CloseHandle(CreateThread(nullptr, 0, make_barriers, nullptr, 0, nullptr));
  while (!is_reading || barriers < 100) SwitchToThread();
  return 1;
}
