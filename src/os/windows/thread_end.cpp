// SPDX-License-Identifier: Apache-2.0
// The end of threads. The loader calls the functions that a library lists in its section .CRT$XL*
// when a thread ends, and it does so for all threads but those that are ended from outside. Not by
// fiber-local storage, whose functions are called for each fiber.
#include "base/thread_variable.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

struct Hook {
  void (*on_exit)(void*);
  void* argument;
};
constexpr unsigned kMaxHooks = 8;  // more than this library has ThreadExit objects
using Hooks = Hook[kMaxHooks];
CORBEL_THREAD_VARIABLE(Hooks, hooks){};
// The last round is over: destructors of the program may still follow, and may come here.
CORBEL_THREAD_VARIABLE(bool, thread_has_ended) = false;

// A hook may hook the thread again, and is called again, as POSIX does it.
constexpr int kMaxRounds = 4;

// Threads would keep what their variables point to, and blocks live on: a DLL is not unloaded.
void stay_loaded() {
  HMODULE own;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<const char*>(&stay_loaded), &own);
}

void NTAPI on_thread_event(void*, DWORD event, void*) {
  LastErrorGuard guard;
  if (event == DLL_PROCESS_ATTACH) stay_loaded();
  if (event != DLL_THREAD_DETACH) return;
  for (int round = 0; round < kMaxRounds; ++round) {
    for (unsigned i = 0; i < kMaxHooks; ++i) {
      Hook& hook = hooks[i];
      void* const argument = hook.argument;
      hook.argument = nullptr;
      if (argument != nullptr) hook.on_exit(argument);
    }
  }
  thread_has_ended = true;
}

}  // namespace

// Read by the loader, in the order of the sections' names. The last one that the compiler's
// libraries have, XLF, runs the destructors of thread_local variables in the same program or
// library.
extern "C" __attribute__((section(".CRT$XLY"), used))
const PIMAGE_TLS_CALLBACK corbel_on_thread_event = on_thread_event;

bool ThreadExit::is_over() { return thread_has_ended; }

bool ThreadExit::hook(void* argument) {
  if (thread_has_ended) return false;
  for (unsigned i = 0; i < kMaxHooks; ++i) {
    Hook& hook = hooks[i];
    if (hook.on_exit != nullptr && hook.on_exit != on_exit_) continue;
    hook.on_exit = on_exit_;
    hook.argument = argument;
    return true;
  }
  return false;
}

}  // namespace corbel::os
