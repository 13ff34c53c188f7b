// SPDX-License-Identifier: Apache-2.0
// A write after free that puts an address where many allocators keep the next free block. If malloc
// returns it, the source of the write decides where the program writes next.
#include <cstring>

#include "misuse.hpp"

namespace {

alignas(4096) char target[8192];

void commit(const misuse::Run& run) {
  char* first = misuse::take(run.size);
  char* second = misuse::take(run.size);
  misuse::release(first);
  misuse::release(second);
  char* address = target + 4096;
  char bytes[sizeof address];
  std::memcpy(bytes, &address, sizeof address);
  for (std::size_t i = 0; i < sizeof address; ++i) misuse::put(second + i, bytes[i]);
  char* got[16];
  for (char*& block : got) {
    block = misuse::take(run.size);
    if (block >= target && block < target + sizeof target) {
      misuse::harmed("malloc returned the planted address");
    }
  }
  for (char* block : got) misuse::release(block);
  misuse::go_on(run);
}

const misuse::Kind kind("planted_address", misuse::Fault::kUseAfterFree, misuse::kByChance,
                        "a write after free that plants an address in the list of free blocks",
                        commit);

}  // namespace
