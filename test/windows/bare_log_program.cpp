// SPDX-License-Identifier: Apache-2.0
// A program without a C runtime, or with nothing of one but malloc and free, which it finds by its
// table of imports alone. The log must say of the first that it uses no C library.
#include <windows.h>

#include <cstdlib>

#ifdef WITH_RUNTIME
constexpr bool kUsesRuntime = true;
#else
constexpr bool kUsesRuntime = false;
#endif

namespace {

bool contains(const char* text, const char* part) {
  for (; *text != '\0'; ++text) {
    int i = 0;
    while (part[i] != '\0' && text[i] == part[i]) ++i;
    if (part[i] == '\0') return true;
  }
  return false;
}

}  // namespace

extern "C" void start() {
#ifdef WITH_RUNTIME
  std::free(std::malloc(10));
#endif
  const HMODULE proxy = LoadLibraryA("corbelmalloc_proxy.dll");
  const auto log = reinterpret_cast<int (*)(char***)>(
      reinterpret_cast<void*>(GetProcAddress(proxy, "TBB_malloc_replacement_log")));
  char** lines = nullptr;
  if (log(&lines) == 0) ExitProcess(2);
  bool is_said_to = true;
  for (; *lines != nullptr; ++lines) {
    if (contains(*lines, "windows_bare_log") && contains(*lines, "uses no C library")) {
      is_said_to = false;
    }
  }
  ExitProcess(is_said_to == kUsesRuntime ? 0 : 1);
}
