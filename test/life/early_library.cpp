// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded beside the allocator. It uses malloc in its constructor, in its
// destructor, and in the resolver of an indirect function.
#include "life.hpp"

namespace {

unsigned char* from_constructor = nullptr;

__attribute__((constructor(101))) void start() {
  from_constructor = life::make_block(3000);
  life::use_malloc(3);
}

__attribute__((destructor(101))) void stop() {
  life::free_block(from_constructor, 3000);
  life::use_malloc(3);
}

int answer() { return 42; }

}  // namespace

extern "C" {

// The dynamic linker calls this during relocation, before the allocator's own constructors.
int (*resolve_early_answer())() {
  void* volatile block = std::malloc(100);
  std::free(block);
  return answer;
}

__attribute__((visibility("default"))) unsigned char* block_from_constructor() {
  return from_constructor;
}
}

extern "C" __attribute__((visibility("default"), ifunc("resolve_early_answer"))) int early_answer();
