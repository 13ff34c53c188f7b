// SPDX-License-Identifier: Apache-2.0
// Tasks in threads that the scheduler has already been told to have ended, as destructors of the
// program's thread_local objects may run them: finalize() does not believe that they are still
// there.
#include "at_end.hpp"

namespace {

int (*loop)();

void use() {
  if (loop != nullptr && loop() != 100) TerminateProcess(GetCurrentProcess(), 4);
}

DWORD WINAPI short_thread(void* uses_early) {
  if (uses_early != nullptr) use();
  return 0;
}

int (*find(HMODULE library, const char* name))() {
  return reinterpret_cast<int (*)()>(reinterpret_cast<void*>(GetProcAddress(library, name)));
}

}  // namespace

int main(int, char** arguments) {
  // First, so that it is told of a thread's end after the scheduler.
  if (!call_at_thread_end(use)) return 2;
  const HMODULE plugin = LoadLibraryA(arguments[1]);
  loop = find(plugin, "plugin_loop");
  const auto finalize = find(plugin, "plugin_finalize");
  if (loop == nullptr || finalize == nullptr) return 3;
  for (int i = 0; i < 20; ++i) {
    const HANDLE thread =
        CreateThread(nullptr, 0, short_thread, i % 2 == 0 ? arguments : nullptr, 0, nullptr);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    if (finalize() == 0) return 1;
  }
  return 0;
}
