// SPDX-License-Identifier: Apache-2.0
// A library with the name and some functions of a C library, one of which begins with instructions
// that cannot be moved. It has blocks of its own, and no C library.
#include <cstddef>

namespace {

alignas(16) char blocks[64][64];
int next = 0;
int releases = 0;

}  // namespace

extern "C" {

void* plain_malloc(std::size_t size) { return size <= 64 && next < 64 ? blocks[next++] : nullptr; }

void plain_free(void* block) {
  if (block != nullptr) ++releases;
}

std::size_t odd_msize(void*) { return 64; }

void* odd_calloc(std::size_t count, std::size_t size) { return plain_malloc(count * size); }

// A branch that can't be moved, since it has no longer form.
asm(".text\n"
    ".balign 16\n"
    "jump_to_free:\n"
    "  jrcxz 1f\n"
    "1: jmp plain_free\n"
    ".balign 16\n"
    "jump_to_malloc:\n"
    "  jrcxz 1f\n"
    "1: jmp plain_malloc\n"
    ".globl jump_to_free, jump_to_malloc\n");
void* jump_to_malloc(std::size_t);
void jump_to_free(void*);

// What a library does that has a block from its own malloc and gives it to its own free.
void* odd_inner_malloc() { return ODD_MALLOC(10); }
void odd_inner_free(void* block) { ODD_FREE(block); }
int odd_releases() { return releases; }

int bare_start() { return 1; }
}
