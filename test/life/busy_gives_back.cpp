// SPDX-License-Identifier: Apache-2.0
// A program that has freed a lot, and from then on only reuses small blocks, gives the freed memory
// back. Runs with a short CORBEL_PURGE_DELAY.
#include <time.h>

#include "life.hpp"

namespace {

double now() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

}  // namespace

int main() {
  life::give_up_after(100);
  life::check_replacement();
  // Not a size for which the compiler would fill with zeros by calling calloc, which touches
  // nothing.
  constexpr std::size_t kSize = (1U << 20) - 1;
  static unsigned char* blocks[400];
  for (unsigned char*& block : blocks) block = life::make_block(kSize);
  CHECK(life::status_kib("VmRSS") > (300U << 10));
  for (unsigned char* block : blocks) life::free_block(block, kSize);
  std::size_t resident = 0;
  const double end = now() + 30;
  do {
    for (std::size_t i = 0; i < 100000; ++i) {
      void* volatile block = std::malloc(i % 1000);
      std::free(block);
    }
    resident = life::status_kib("VmRSS");
  } while (resident >= (64U << 10) && now() < end);
  std::fprintf(stderr, "resident: %zu KiB\n", resident);
  CHECK(resident < (64U << 10));
  return life::passed("busy gives back");
}
