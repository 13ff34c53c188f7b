// SPDX-License-Identifier: Apache-2.0
// The replacement that is linked into a program starts without the loader's lock, which a DLL's
// start has. It must take it: other threads may load libraries by then.
#include <corbel/malloc_proxy.h>

#include "checks.hpp"

extern "C" {
__declspec(dllimport) int watched_changes();
__declspec(dllimport) int watched_unlocked_changes();
}

int main() {
  check(watched_changes() > 0, "libraries are changed before main");
  check(watched_unlocked_changes() == 0, "no other thread loads one meanwhile");
  check(TBB_malloc_replacement_log(nullptr) == 0, "malloc is replaced");
  return report();
}
