// SPDX-License-Identifier: Apache-2.0
// TBBMALLOC_SET_HUGE_SIZE_THRESHOLD: free memory of that size or more stays with the program until
// it asks for TBBMALLOC_CLEAN_ALL_BUFFERS; smaller free memory is given back as usual. Runs with a
// short CORBEL_PURGE_DELAY. Usage: huge_threshold call|environment
#include <string>

#include "life.hpp"

namespace {

constexpr std::size_t kThreshold = 1U << 20;

template <class Function>
Function* function(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  CHECK(symbol != nullptr);
  return reinterpret_cast<Function*>(symbol);
}

// Waits longer than the delay, with calls that check what is due.
void let_time_pass() {
  for (int i = 0; i < 10; ++i) {
    usleep(50000);
    for (int k = 0; k < 20; ++k) {
      void* volatile block = std::malloc(200000);
      std::free(block);
    }
  }
}

std::size_t resident_mib() { return life::status_kib("VmRSS") >> 10; }

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(100);
  life::check_replacement();
  CHECK(argc == 2);
  if (std::string(argv[1]) == "call") {
    const auto set_mode = function<int(int, std::intptr_t)>("scalable_allocation_mode");
    CHECK(set_mode(2, kThreshold) == 0);
  } else {
    CHECK(std::getenv("TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD") != nullptr);
  }
  const auto command = function<int(int, void*)>("scalable_allocation_command");

  // No size here has a zero low byte: the compiler could then use calloc, which touches nothing.
  // Every other block is freed, so that they do not coalesce above the threshold.
  constexpr std::size_t kSmaller = (512U << 10) - 1;
  static unsigned char* smaller[128];
  for (unsigned char*& block : smaller) block = life::make_block(kSmaller);
  const std::size_t before_free = resident_mib();
  for (std::size_t i = 0; i < 128; i += 2) life::free_block(smaller[i], kSmaller);
  let_time_pass();
  const std::size_t start = resident_mib();
  std::fprintf(stderr, "below the threshold: %zu, then %zu MiB\n", before_free, start);
  CHECK(start + 24 < before_free);

  constexpr std::size_t kLarge = (4U << 20) - 1;
  constexpr std::size_t kVeryLarge = (80U << 20) - 1;
  static unsigned char* large[16];
  for (unsigned char*& block : large) block = life::make_block(kLarge);
  unsigned char* very_large = life::make_block(kVeryLarge);
  for (unsigned char* block : large) life::free_block(block, kLarge);
  life::free_block(very_large, kVeryLarge);
  let_time_pass();
  const std::size_t kept = resident_mib();
  CHECK(command(0, nullptr) == 0);
  const std::size_t cleaned = resident_mib();
  std::fprintf(stderr, "at or above it: %zu MiB more, %zu after cleaning\n", kept - start,
               cleaned > start ? cleaned - start : 0);
  CHECK(kept > start + 140);
  CHECK(cleaned < start + 8);
  for (std::size_t i = 1; i < 128; i += 2) life::free_block(smaller[i], kSmaller);
  return life::passed("huge threshold");
}
