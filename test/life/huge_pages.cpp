// SPDX-License-Identifier: Apache-2.0
// The allocator's advice about huge pages, read from the flags that the system records. So the test
// does not depend on the machine's setting.
//
// Usage: huge_pages never|auto|always|limited|call
#include <malloc.h>

#include <string>
#include <vector>

#include "life.hpp"

// From <corbel/malloc.h>; the program is not linked with Corbel.
extern "C" __attribute__((weak)) int scalable_allocation_mode(int, std::intptr_t) noexcept;

namespace {

enum class Advice { kNone, kHuge, kNotHuge };

// Returns the flags of the mapping that contains the address: proc_pid_smaps(5).
Advice advice_at(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  static char line[8192];
  FILE* file = std::fopen("/proc/self/smaps", "r");
  CHECK(file != nullptr);
  bool inside = false;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long low = 0;
    unsigned long high = 0;
    if (std::sscanf(line, "%lx-%lx ", &low, &high) == 2) inside = low <= address && address < high;
    if (!inside || std::strncmp(line, "VmFlags:", 8) != 0) continue;
    std::fclose(file);
    if (std::strstr(line, " hg") != nullptr) return Advice::kHuge;
    return std::strstr(line, " nh") != nullptr ? Advice::kNotHuge : Advice::kNone;
  }
  CHECK(!"no such mapping");
  return Advice::kNone;
}

void expect(std::size_t size, Advice advice) {
  void* block = std::malloc(size);
  std::memset(block, 1, size);
  CHECK(advice_at(block) == advice);
  CHECK(advice_at(static_cast<char*>(block) + size - 1) == advice);
}

std::vector<char*> allocate_many(std::size_t bytes) {
  constexpr std::size_t kSize = 8000;
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < bytes / kSize; ++i) {
    blocks.push_back(static_cast<char*>(std::malloc(kSize)));
    *blocks.back() = 1;
  }
  return blocks;
}

// A large heap of one thread may have huge pages until parts of it are purged.
void check_large_heap() {
  const std::vector<char*> blocks = allocate_many(std::size_t{400} << 20);
  CHECK(advice_at(blocks.front()) == Advice::kNotHuge);
  CHECK(advice_at(blocks.back()) == Advice::kNone);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 64 != 63) std::free(blocks[i]);
  }
  malloc_trim(0);
  for (std::size_t i = 63; i < blocks.size(); i += 64) {
    CHECK(advice_at(blocks[i]) == Advice::kNotHuge);
  }
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(200);
  life::check_replacement();
  CHECK(argc == 2);
  const std::string what = argv[1];
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
    std::puts("skipped: this system has no transparent huge pages");
    return 77;
  }
  if (what == "call") {
    CHECK(scalable_allocation_mode != nullptr);
    CHECK(scalable_allocation_mode(0, 1) == 0);
    expect(std::size_t{20} << 20, Advice::kHuge);
    CHECK(scalable_allocation_mode(0, 0) == 0);
    expect(std::size_t{20} << 20, Advice::kNone);
    return life::passed("huge pages");
  }
  const Advice small = what == "always" ? Advice::kHuge : Advice::kNotHuge;
  const Advice large = what == "auto" ? Advice::kNone : small;
  expect(100, small);
  expect(20000, small);
  expect(std::size_t{20} << 20, large);
  if (what == "auto") check_large_heap();
  return life::passed("huge pages");
}
