// SPDX-License-Identifier: Apache-2.0
// Ten thousand short threads: memory of ended threads is reused, so the resident size after ten
// thousand is about that after one thousand.
#include <pthread.h>

#include <thread>
#include <vector>

#include "life.hpp"

namespace {

unsigned char* handed_over[8];

void run_threads(int count) {
  for (int i = 0; i < count; i += 8) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; ++k) {
      threads.emplace_back([k] {
        // The last thread of this number left it; this one frees it.
        if (handed_over[k] != nullptr) life::free_block(handed_over[k], 2048);
        handed_over[k] = life::make_block(2048);
        life::use_malloc(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// How many stacks the C library caches depends on how many threads happened to overlap. With stacks
// of 8 MiB, one more would look like a leak.
void make_stacks_small() {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  CHECK(pthread_setattr_default_np(&attributes) == 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace

int main() {
  life::give_up_after(300);
  life::check_replacement();
  make_stacks_small();
  run_threads(1000);
  const std::size_t after_1000 = life::status_kib("VmRSS");
  const std::size_t virtual_after_1000 = life::status_kib("VmSize");
  run_threads(9000);
  const std::size_t after_10000 = life::status_kib("VmRSS");
  const std::size_t virtual_after_10000 = life::status_kib("VmSize");
  std::fprintf(stderr,
               "RSS %zu KiB after 1,000 threads, %zu KiB after 10,000; virtual %zu and %zu KiB\n",
               after_1000, after_10000, virtual_after_1000, virtual_after_10000);
  // Free memory varies by some MiB, addresses by some chunks. A leak of half a KiB, or of 4 KiB of
  // addresses, per thread would show.
  CHECK(after_10000 < after_1000 + 4096);
  CHECK(virtual_after_10000 < virtual_after_1000 + 32 * 1024);
  return life::passed("short threads");
}
