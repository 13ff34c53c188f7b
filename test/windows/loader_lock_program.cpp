// SPDX-License-Identifier: Apache-2.0
// The replacement that is linked into a program starts without the loader's lock, which a DLL's
// start has. It must take it: other threads may load libraries by then. With REFUSE_THREADS these
// are not known.
#include <corbel/malloc_proxy.h>

#include <cstdlib>
#include <cstring>

#include "checks.hpp"

extern "C" {
__declspec(dllimport) int watched_changes();
__declspec(dllimport) int watched_unlocked_changes();
}

int main() {
  check(watched_changes() > 0, "libraries are changed before main");
  check(watched_unlocked_changes() == 0, "no other thread loads one meanwhile");
  char** lines = nullptr;
  const int verdict = TBB_malloc_replacement_log(&lines);
  if (std::getenv("REFUSE_THREADS") == nullptr) {
    check(verdict == 0, "malloc is replaced");
    return report();
  }
  bool is_told = false;
  for (; *lines != nullptr; ++lines) {
    is_told = is_told || std::strstr(*lines, "other threads cannot be kept out of it") != nullptr;
  }
  check(verdict == -1 && is_told, "no entry is changed while a thread may be in it");
  return report();
}
