// SPDX-License-Identifier: Apache-2.0
// A cycle of allocating and freeing costs no more the thousandth time than the first: neither the
// blocks nor the allocator's records of them accumulate.
//
// Usage: steady_footprint one|moving|burst
#include <malloc.h>
#include <sys/mman.h>

#include <string>

#include "life.hpp"

namespace {

// A block that is given back to the system as soon as it is freed.
constexpr std::size_t kSize = 256U << 20;

std::uintptr_t one() {
  void* block = std::malloc(kSize);
  CHECK(block != nullptr);
  *static_cast<volatile char*>(block) = 1;
  const auto place = reinterpret_cast<std::uintptr_t>(block);
  std::free(block);
  return place;
}

// Another mapping of the program occupies the block's addresses: the next block must lie elsewhere.
void moving() {
  const std::uintptr_t middle = one() + kSize / 2;
  mmap(reinterpret_cast<void*>(middle / 65536 * 65536), 4096, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
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
  const std::string what = argv[1];
  const auto round = [&] {
    if (what == "one") one();
    if (what == "moving") moving();
    if (what == "burst") burst();
  };
  const int rounds = what == "one" ? 2000 : what == "moving" ? 400 : 100;
  // The first rounds may set up tables that all later ones use.
  for (int i = 0; i < 3; ++i) round();
  const std::size_t resident = life::status_kib("VmRSS");
  const std::size_t addresses = life::status_kib("VmSize");
  for (int i = 0; i < rounds; ++i) round();
  const std::size_t resident_after = life::status_kib("VmRSS");
  const std::size_t addresses_after = life::status_kib("VmSize");
  std::fprintf(stderr, "resident %zu, then %zu KiB; addresses %zu, then %zu KiB\n", resident,
               resident_after, addresses, addresses_after);
  CHECK(resident_after < resident + (16U << 10));
  // The records of an address may stay reserved, but not resident.
  if (what != "moving") CHECK(addresses_after < addresses + (64U << 10));
  return life::passed("steady footprint");
}
