// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

extern "C" {
LONG NTAPI RtlWaitOnAddress(const void* address, const void* expected, SIZE_T size,
                            const LARGE_INTEGER* timeout);
void NTAPI RtlWakeAddressAll(const void* address);
}

namespace corbel::os {
namespace {

enum : int { kNotCalled, kRuns, kAwaited, kDone };

// Lets the next thread make the call unless done() has been called.
class Call {
 public:
  explicit Call(int& state) : state_(state) {}
  ~Call() {
    // (1) release: publishes the call to (2)
    const int before = std::atomic_ref<int>(state_).exchange(result_, std::memory_order_release);
    if (before == kAwaited) RtlWakeAddressAll(&state_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  void done() { result_ = kDone; }

 private:
  int& state_;
  int result_ = kNotCalled;
};

}  // namespace

void OnceCall::run(void (*function)()) {
  const std::atomic_ref<int> state(state_);
  for (;;) {
    int seen = state.load(std::memory_order_acquire);  // (2) acquire: sees the call through (1)
    if (seen == kDone) return;
    if (seen == kNotCalled) {
      // (2) acquire: as above, of a call that has thrown
      if (state.compare_exchange_strong(seen, kRuns, std::memory_order_acquire)) break;
      continue;
    }
    // The thread that was making the call has vanished at the end of the process.
    if (other_threads_are_gone()) break;
    constexpr int kExpected = kAwaited;
    // relaxed: the thread that wakes this one is seen by (2)
    if (seen == kAwaited ||
        state.compare_exchange_strong(seen, kExpected, std::memory_order_relaxed)) {
      RtlWaitOnAddress(&state_, &kExpected, sizeof kExpected, nullptr);
    }
  }
  Call call(state_);
  function();
  call.done();
}

}  // namespace corbel::os
