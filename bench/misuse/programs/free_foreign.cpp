// SPDX-License-Identifier: Apache-2.0
// free of memory that came from mmap. What lies before it is readable and zero, so that an
// allocator that looks for its header there finds none.
#include <sys/mman.h>

#include "misuse.hpp"

namespace {

void commit(const misuse::Run& run) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) misuse::impossible("mmap failed");
  char* foreign = static_cast<char*>(mapped);
  misuse::release(foreign + kBytes / 2);
  misuse::go_on(run);
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (foreign[i] != 0) misuse::harmed("the heap uses foreign memory");
  }
}

const misuse::Kind kind("free_foreign", misuse::Fault::kInvalidFree, misuse::kAnySize,
                        "a free of a pointer that came from mmap", commit);

}  // namespace
