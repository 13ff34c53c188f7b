// SPDX-License-Identifier: Apache-2.0
// The end of a process in which a thread makes a call that others would wait for: the call is made
// again.
#include <corbel/collaborative_call_once.hpp>

#include <atomic>

#include "at_end.hpp"
#include "os/os.hpp"

namespace {

constinit corbel::os::OnceCall call;
corbel::collaborative_once_flag flag;
std::atomic<int> calls{0};

void at_end() {
  call.run([] { ++calls; });
  corbel::collaborative_call_once(flag, [] { ++calls; });
  corbel::collaborative_call_once(flag, [] { ++calls; });
  if (calls == 4) TerminateProcess(GetCurrentProcess(), 0);
}

void never_return() {
  ++calls;
  Sleep(INFINITE);
}

}  // namespace

int main() {
  if (!call_at_end(at_end)) return 2;
  const auto make_call = [](void*) -> DWORD {
    call.run(never_return);
    return 0;
  };
  const auto make_collaborative_call = [](void*) -> DWORD {
    corbel::collaborative_call_once(flag, never_return);
    return 0;
  };
  CloseHandle(CreateThread(nullptr, 0, make_call, nullptr, 0, nullptr));
  CloseHandle(CreateThread(nullptr, 0, make_collaborative_call, nullptr, 0, nullptr));
  while (calls != 2) SwitchToThread();
  return 1;
}
