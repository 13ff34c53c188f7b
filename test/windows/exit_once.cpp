// SPDX-License-Identifier: Apache-2.0
// The end of a process in which a thread makes a call that others would wait for: the call is made
// again.
#include <atomic>

#include "at_end.hpp"
#include "os/os.hpp"

namespace {

constinit corbel::os::OnceCall call;
std::atomic<int> calls{0};

void at_end() {
  call.run([] { ++calls; });
  if (calls == 2) TerminateProcess(GetCurrentProcess(), 0);
}

}  // namespace

int main() {
  if (!call_at_end(at_end)) return 2;
  const auto make_call = [](void*) -> DWORD {
    call.run([] {
      ++calls;
      Sleep(INFINITE);
    });
    return 0;
  };
  CloseHandle(CreateThread(nullptr, 0, make_call, nullptr, 0, nullptr));
  while (calls == 0) SwitchToThread();
  return 1;
}
