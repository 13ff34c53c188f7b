// SPDX-License-Identifier: Apache-2.0
// A small program does not pay for limits that it cannot reach: the allocator reads the container's
// files only once the heap has grown, and never if it is told that there is no limit. The system
// counts a process's reads.
//
// Usage: reads_late late|never
#include <fcntl.h>

#include <string>

#include "life.hpp"

namespace {

// Read calls of this process so far, without those of this function.
unsigned long read_calls() {
  static char text[1024];
  const int file = open("/proc/self/io", O_RDONLY);
  if (file < 0) {
    std::puts("skipped: this system does not count the reads of a process");
    std::exit(77);
  }
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  CHECK(size > 0);
  text[size] = '\0';
  const char* line = std::strstr(text, "syscr: ");
  CHECK(line != nullptr);
  return std::strtoul(line + 7, nullptr, 10);
}

void grow(std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / 4000; ++i) {
    void* block = std::malloc(4000);
    CHECK(block != nullptr);
    std::memset(block, 1, 4000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(60);
  life::check_replacement();
  CHECK(argc == 2);
  const bool never = std::string(argv[1]) == "never";
  read_calls();
  const unsigned long first = read_calls();
  const unsigned long own = read_calls() - first;
  CHECK(own == 1);
  unsigned long before = read_calls();
  grow(12U << 20);
  CHECK(read_calls() - before == own);
  before = read_calls();
  grow(28U << 20);
  const unsigned long more = read_calls() - before - own;
  std::fprintf(stderr, "%lu reads between 12 and 40 MiB\n", more);
  CHECK(never ? more == 0 : more > 0);
  return life::passed("reads late");
}
