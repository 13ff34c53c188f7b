// SPDX-License-Identifier: Apache-2.0
// A library with the name and some functions of a C library, one of which begins with instructions
// that cannot be moved. It has blocks of its own, and no C library.
#include <cstddef>
#include <cstdint>

namespace {

alignas(16) char blocks[64][64];
int next = 0;
int releases = 0;

}  // namespace

extern "C" {

// Calls that are inlined would not reach a replacement, and those that know which registers the
// original changes would not survive it.
[[gnu::noinline, gnu::noipa]] void* plain_malloc(std::size_t size) {
  return size <= 64 && next < 64 ? blocks[next++] : nullptr;
}

[[gnu::noinline, gnu::noipa]] void plain_free(void* block) {
  if (block != nullptr) ++releases;
}

std::size_t odd_msize(void*) { return 64; }

void* odd_calloc(std::size_t count, std::size_t size) { return plain_malloc(count * size); }

// A new block each time.
void* odd_realloc(void* block, std::size_t size) {
  plain_free(block);
  return plain_malloc(size);
}
void* odd_recalloc(void* block, std::size_t count, std::size_t size) {
  return odd_realloc(block, count * size);
}

void* jump_to_malloc(std::size_t);
void jump_to_free(void*);
void* jump_to_aligned_malloc(std::size_t, std::size_t);
void* jump_to_malloc_dbg(std::size_t, int, const char*, int);

// Like those of Microsoft's libraries: inside blocks of malloc, which are found by what is before.
[[gnu::noinline]] void* plain_aligned_malloc(std::size_t size, std::size_t alignment) {
  auto* const outer = static_cast<char*>(ODD_MALLOC(size + alignment + sizeof(void*)));
  const auto first = reinterpret_cast<std::uintptr_t>(outer) + sizeof(void*);
  auto* const block = reinterpret_cast<void**>((first + alignment - 1) & ~(alignment - 1));
  block[-1] = outer;
  return block;
}
void odd_aligned_free(void* block) { ODD_FREE(static_cast<void**>(block)[-1]); }

constexpr std::size_t kDebugHeader = 16;
[[gnu::noinline]] void* plain_malloc_dbg(std::size_t size, int, const char*, int) {
  return static_cast<char*>(ODD_MALLOC(size + kDebugHeader)) + kDebugHeader;
}
void odd_free_dbg(void* block, int) { ODD_FREE(static_cast<char*>(block) - kDebugHeader); }

// A branch that can't be moved, since it has no longer form.
asm(".text\n"
    ".macro odd name\n"
    ".balign 16\n"
    ".globl jump_to_\\name\n"
    "jump_to_\\name:\n"
    "  jrcxz 1f\n"
    "1: jmp plain_\\name\n"
    ".endm\n"
    "odd free\n"
    "odd malloc\n"
    "odd aligned_malloc\n"
    "odd malloc_dbg\n");

// What a library does that has a block from its own malloc and gives it to its own free.
void* odd_inner_malloc() { return ODD_MALLOC(10); }
void odd_inner_free(void* block) { ODD_FREE(block); }
void* odd_inner_aligned_malloc() { return ODD_ALIGNED_MALLOC(10, 32); }
void* odd_inner_malloc_dbg() { return ODD_MALLOC_DBG(10, 0, nullptr, 0); }
int odd_releases() { return releases; }

int bare_start() { return 1; }
}
