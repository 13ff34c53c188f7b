// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): the end of a thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::os {

// Calls `on_exit(argument)` in each hooked thread when it ends, after the destructors of its
// thread-local objects. (On Windows, after those of its own library: the program's may follow.) A
// program has one object for each purpose; it is never destroyed.
class ThreadExit {
 public:
  explicit constexpr ThreadExit(void (*on_exit)(void*)) : on_exit_(on_exit) {}

  // Hooks the calling thread. Requires: `argument` is not nullptr; it replaces an earlier one.
  // `on_exit` may call it, and is then called again, as often as the system does that. May call
  // malloc. Returns false when the system has no room: then an earlier argument remains.
  bool hook(void* argument);

  // Whether the calling thread's hooks have run for the last time, and hook() returns false, though
  // the thread may still run the program's code.
#if defined(_WIN32)
  static bool is_over();
#else
  static constexpr bool is_over() { return false; }
#endif

 private:
  void (*const on_exit_)(void*);
  std::atomic<std::uint32_t> key_{0};  // the system's key, plus 1; 0: none yet
};

// Whether the function of a ThreadExit may wait for what another thread does. On Windows it holds
// the loader's lock, without which no other thread begins or ends.
#if defined(_WIN32)
inline constexpr bool kExitHooksMayWait = false;
#else
inline constexpr bool kExitHooksMayWait = true;
#endif

}  // namespace corbel::os
