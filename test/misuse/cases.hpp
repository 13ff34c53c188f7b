// SPDX-License-Identifier: Apache-2.0
// Programs that run one of several cases, each a small misuse.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace misuse {

struct Case {
  const char* name;
  void (*body)();
};

// Prints the address at once, because nothing is flushed after an abort.
inline void* announce(void* pointer) {
  char line[64];
  const int n =
      std::snprintf(line, sizeof line, "0x%llx\n",
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  if (write(STDOUT_FILENO, line, std::size_t(n)) != n) _exit(2);
  return pointer;
}

// Runs the case that the command line names and returns 0. If it names none, prints the names and
// returns 2.
template <std::size_t kCount>
int run_case(int argc, char** argv, const Case (&cases)[kCount]) {
  for (const Case& c : cases) {
    if (argc == 2 && std::strcmp(argv[1], c.name) == 0) {
      c.body();
      return 0;
    }
  }
  for (const Case& c : cases) std::puts(c.name);
  return 2;
}

}  // namespace misuse
