// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"

namespace corbel::os {
namespace {

enum : int { kNotCalled, kRuns, kDone };

// Lets the next thread make the call unless done() has been called.
class Call {
 public:
  explicit Call(std::atomic_ref<int> state) : state_(state) {}
  ~Call() {
    state_.store(result_, std::memory_order_release);  // (1) release: publishes the call to (2)
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  void done() { result_ = kDone; }

 private:
  std::atomic_ref<int> state_;
  int result_ = kNotCalled;
};

}  // namespace

void OnceCall::run(void (*function)()) {
  const std::atomic_ref<int> state(state_);
  for (;;) {
    int seen = state.load(std::memory_order_acquire);  // (2) acquire: sees the call through (1)
    if (seen == kDone) return;
    if (seen == kRuns) {
      yield();
      continue;
    }
    // (2) acquire: as above, of a call that has thrown
    if (state.compare_exchange_strong(seen, kRuns, std::memory_order_acquire)) break;
  }
  Call call(state);
  function();
  call.done();
}

}  // namespace corbel::os
