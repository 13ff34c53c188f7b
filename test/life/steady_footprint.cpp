// SPDX-License-Identifier: Apache-2.0
// What is taken and given back again and again costs no more the thousandth time than the first:
// neither the blocks nor what the allocator writes down about them add up.
// Usage: steady_footprint one|burst
#include <malloc.h>

#include <string>

#include "life.hpp"

namespace {

// A block that goes back to the system as soon as it is freed.
void one() {
  constexpr std::size_t kSize = 256U << 20;
  auto* block = static_cast<volatile char*>(std::malloc(kSize));
  CHECK(block != nullptr);
  block[0] = 1;
  std::free(const_cast<char*>(block));
}

void burst() {
  static char* blocks[512];
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(1 << 20));
    CHECK(block != nullptr);
    *static_cast<volatile char*>(block) = 1;
  }
  for (char* block : blocks) std::free(block);
  malloc_trim(0);
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(200);
  life::check_replacement();
  CHECK(argc == 2);
  const bool is_burst = std::string(argv[1]) == "burst";
  const auto round = is_burst ? burst : one;
  const int rounds = is_burst ? 100 : 2000;
  // The first rounds may set up what all need.
  for (int i = 0; i < 3; ++i) round();
  const std::size_t resident = life::status_kib("VmRSS");
  const std::size_t addresses = life::status_kib("VmSize");
  for (int i = 0; i < rounds; ++i) round();
  const std::size_t resident_after = life::status_kib("VmRSS");
  const std::size_t addresses_after = life::status_kib("VmSize");
  std::fprintf(stderr, "resident %zu, then %zu KiB; addresses %zu, then %zu KiB\n", resident,
               resident_after, addresses, addresses_after);
  CHECK(resident_after < resident + (16U << 10));
  CHECK(addresses_after < addresses + (64U << 10));
  return life::passed("steady footprint");
}
