// SPDX-License-Identifier: Apache-2.0
// Misuses of the allocator, each a small program: misuse CASE. It prints the pointer that it is
// going to misuse, and the misuse must not return. misuse.py knows the line that must end the
// program.
//
// Built twice: for Corbel's own interface, and with malloc and free for runs with Corbel preloaded.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#if defined(MISUSE_OF_MALLOC)
#include <malloc.h>
#else
#include "alloc/allocator.hpp"
#endif

#include "cases.hpp"

namespace {

#if defined(MISUSE_OF_MALLOC)
// Volatile pointers, because the compiler would reject some of this.
void* (*volatile allocate)(std::size_t) = std::malloc;
void (*volatile release)(void*) = std::free;
void* (*volatile resize)(void*, std::size_t) = std::realloc;
std::size_t (*volatile size_of)(void*) = malloc_usable_size;
#else
void* allocate(std::size_t size) { return corbel::alloc::allocate(size); }
void release(void* block) { corbel::alloc::deallocate(block); }
void* resize(void* block, std::size_t size) { return corbel::alloc::reallocate(block, size); }
std::size_t size_of(void* block) { return corbel::alloc::usable_size(block); }
#endif

constexpr std::size_t kUnit = 64 * 1024;

char* block_of(std::size_t size) {
  auto* block = static_cast<char*>(allocate(size));
  if (block == nullptr) _exit(2);
  std::memset(block, 0, size);
  return block;
}

// Prints the pointer at once, because nothing is flushed after an abort.
char* announce(void* pointer) {
  char line[64];
  const int n =
      std::snprintf(line, sizeof line, "0x%llx\n",
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  if (write(STDOUT_FILENO, line, std::size_t(n)) != n) _exit(2);
  return static_cast<char*>(pointer);
}

void free_inside_a_block_of_another_thread() {
  char* block = block_of(1000);
  std::thread([block] { release(announce(block + 16)); }).join();
}

void free_inside_a_block_of_a_full_slab() {
  char* first = block_of(2048);
  for (int i = 0; i < 64; ++i) block_of(2048);
  release(announce(first + 16));
}

void free_inside_a_block_far_into_a_slab() {
  // The third block of 40 KiB, which lies in the slab's second unit.
  char* block = block_of(40000);
  while (reinterpret_cast<std::uintptr_t>(block) % kUnit != 2 * 40960 % kUnit) {
    block = block_of(40000);
  }
  release(announce(block + 4096));
}

void free_near_the_start_of_a_large_block() { release(announce(block_of(1 << 20) + 64)); }

void free_in_the_middle_of_a_large_block() { release(announce(block_of(1 << 20) + (1 << 19))); }

void free_a_large_block_twice() {
  char* block = block_of(1 << 20);
  release(block);
  release(announce(block));
}

void free_a_huge_block_twice() {
  char* block = block_of(100 << 20);
  release(block);
  release(announce(block));
}

void free_a_block_that_was_never_allocated() {
  std::thread([] {
    char* block = block_of(1024);
    const auto slab = reinterpret_cast<std::uintptr_t>(block) / kUnit * kUnit;
    char* last = reinterpret_cast<char*>(slab + kUnit - 1024);
    std::thread([last] { release(announce(last)); }).join();
  }).join();
}

void realloc_inside_a_block() { resize(announce(block_of(1000) + 16), 2000); }

void realloc_inside_a_large_block() { resize(announce(block_of(1 << 20) + 16), 2000); }

void realloc_a_freed_large_block() {
  char* block = block_of(1 << 20);
  release(block);
  resize(announce(block), 2000);
}

void size_inside_a_block() { size_of(announce(block_of(1000) + 16)); }

char global[100000];

void free_a_global() { release(announce(global + 40000)); }

void free_a_local() {
  char local[256];
  std::memset(local, 0, sizeof local);
  // Any address in the array will do that is aligned like a block.
  const auto middle = reinterpret_cast<std::uintptr_t>(local + 128) / 16 * 16;
  release(announce(reinterpret_cast<void*>(middle)));
}

void free_a_literal() {
  static const char text[64] = "text";
  release(announce(const_cast<char*>(text)));
}

void free_a_mapping() {
  void* p = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  release(announce(static_cast<char*>(p) + 8192));
}

void free_what_is_not_mapped() {
  void* p = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, 1 << 20);
  release(announce(p));
}

void free_a_small_number() { release(announce(reinterpret_cast<void*>(16))); }

void realloc_a_global() { resize(announce(global + 40000), 100); }

// Not a misuse: checks that the driver notices a program that does not abort.
void free_null() {
  announce(nullptr);
  release(nullptr);
}

constexpr misuse::Case kCases[] = {
    {"free-inside-other-thread", free_inside_a_block_of_another_thread},
    {"free-inside-full-slab", free_inside_a_block_of_a_full_slab},
    {"free-inside-far", free_inside_a_block_far_into_a_slab},
    {"free-large-start", free_near_the_start_of_a_large_block},
    {"free-large-middle", free_in_the_middle_of_a_large_block},
    {"free-large-twice", free_a_large_block_twice},
    {"free-huge-twice", free_a_huge_block_twice},
    {"free-never-allocated", free_a_block_that_was_never_allocated},
    {"realloc-inside", realloc_inside_a_block},
    {"realloc-large-inside", realloc_inside_a_large_block},
    {"realloc-freed", realloc_a_freed_large_block},
    {"size-inside", size_inside_a_block},
    {"free-global", free_a_global},
    {"free-local", free_a_local},
    {"free-literal", free_a_literal},
    {"free-mapping", free_a_mapping},
    {"free-unmapped", free_what_is_not_mapped},
    {"free-number", free_a_small_number},
    {"realloc-global", realloc_a_global},
    {"free-null", free_null},
};

}  // namespace

int main(int argc, char** argv) { return misuse::run_case(argc, argv, kCases); }
