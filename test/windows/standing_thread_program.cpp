// SPDX-License-Identifier: Apache-2.0
// A thread stands between the first two instructions of malloc while malloc is to be replaced, and
// doesn't go on. A jump over those instructions would let it go on inside the jump: so the
// library's functions stay as they are, the log says why, and other libraries find the
// replacements. Usage: windows_standing_thread <proxy DLL>
#include <windows.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "checks.hpp"
#include "find.hpp"

namespace {

std::atomic<bool> has_started{false};
std::atomic<bool> may_end{false};

DWORD WINAPI stand(void*) {
  has_started = true;
  while (!may_end) YieldProcessor();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  report_crashes();
  if (count != 2) return 2;
  const HMODULE library = LoadLibraryA("msvcr120.dll");
  if (library == nullptr) return 77;
  auto* const entry = find<void*(std::size_t)>(library, "malloc");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(entry);
  constexpr unsigned char kPushRsi = 0x56;
  if (bytes[0] != kPushRsi) {
    std::puts("skipped: malloc begins with another instruction than a push of one byte");
    return 77;
  }
  unsigned char before[16];
  std::memcpy(before, bytes, sizeof before);

  HANDLE const thread = CreateThread(nullptr, 0, stand, nullptr, 0, nullptr);
  while (!has_started) Sleep(0);
  SuspendThread(thread);
  alignas(16) CONTEXT context;
  context.ContextFlags = CONTEXT_FULL;
  check(GetThreadContext(thread, &context), "the thread's place");
  CONTEXT inside = context;
  inside.Rip = reinterpret_cast<DWORD64>(bytes + 1);
  check(SetThreadContext(thread, &inside), "the thread's place in malloc");

  const HMODULE proxy = LoadLibraryA(arguments[1]);
  if (proxy == nullptr) return 2;
  check(std::memcmp(bytes, before, sizeof before) == 0, "malloc's entry is as it was");
  char** lines = nullptr;
  check(find<int(char***)>(proxy, "TBB_malloc_replacement_log")(&lines) == -1, "the verdict");
  bool is_said = false;
  for (; *lines != nullptr; ++lines) {
    is_said = is_said || (std::strstr(*lines, "Fail: malloc (msvcr120.dll)") != nullptr &&
                          std::strstr(*lines, "since other threads cannot be kept out") != nullptr);
  }
  check(is_said, "the log's reason");

  const auto size =
      find<std::size_t(void*)>(GetModuleHandleA("corbelmalloc.dll"), "scalable_msize");
  void* const own = entry(10);
  check(size(own) == 0, "malloc by its old address is the library's");
  void* const block = find<void*(std::size_t)>(library, "malloc")(10);
  check(size(block) != 0, "a malloc that is looked up is Corbel's");
  const auto release = find<void(void*)>(library, "free");
  release(block);
  release(own);

  SetThreadContext(thread, &context);
  ResumeThread(thread);
  may_end = true;
  WaitForSingleObject(thread, INFINITE);
  return report();
}
