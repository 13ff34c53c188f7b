// SPDX-License-Identifier: Apache-2.0
// Misuses that full checks find, each a small program: misuse_full CASE. It prints the address of
// the block that the report must name, and what follows must end the program. full.py knows the
// first line of the report.
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace {

// Volatile pointers, because the compiler would reject some of this, or remove it.
void* (*volatile allocate)(std::size_t) = std::malloc;
void (*volatile release)(void*) = std::free;
void* (*volatile resize)(void*, std::size_t) = std::realloc;
void* (*volatile align)(std::size_t, std::size_t) = memalign;
void* (*volatile make)(std::size_t) = ::operator new;
void* (*volatile make_array)(std::size_t) = ::operator new[];
void* (*volatile make_aligned)(std::size_t, std::align_val_t) = ::operator new;
void (*volatile destroy)(void*) = ::operator delete;
void (*volatile destroy_array)(void*) = ::operator delete[];
void (*volatile destroy_sized)(void*, std::size_t) = ::operator delete;
void (*volatile destroy_aligned)(void*, std::align_val_t) = ::operator delete;

volatile char* announce(void* pointer) {
  return static_cast<volatile char*>(misuse::announce(pointer));
}

volatile char* new_block(std::size_t size) { return announce(allocate(size)); }
void free_block(volatile char* block) { release(const_cast<char*>(block)); }

volatile char sink;

// Does nothing in a program that is not on Corbel. Not weak in a linked program: a linker takes
// nothing from an archive for a weak name.
#if !defined(LINKED)
extern "C" int corbel_check_heap(void) __attribute__((weak));
#else
extern "C" int corbel_check_heap(void);
#endif
enum class Says : bool { kNo, kYes };
void check_heap(Says says = Says::kYes) {
#if !defined(LINKED)
  if (corbel_check_heap == nullptr) return;
#endif
  if (corbel_check_heap() == 0 && says == Says::kYes) std::puts("intact");
}

void allocate_and_free(int times) {
  for (int i = 0; i < times; ++i) release(allocate(48));
}

constexpr std::size_t kLarge = 300000;

const misuse::Case kCases[] = {
    {"double-free",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       free_block(block);
     }},
    {"double-free-far",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       allocate_and_free(1000);
       free_block(block);
     }},
    {"double-free-large",
     [] {
       volatile char* block = new_block(kLarge);
       free_block(block);
       free_block(block);
     }},
    {"double-free-threads",
     [] {
       volatile char* block = new_block(48);
       misuse::at_the_same_time([&] { free_block(block); });
     }},
    {"free-inside", [] { free_block(new_block(100) + 16); }},
    {"free-inside-freed",
     [] {
       volatile char* block = new_block(100);
       free_block(block);
       free_block(block + 16);
     }},
    {"free-before", [] { free_block(new_block(100) - 8); }},
    {"free-inside-large", [] { free_block(new_block(kLarge) + 4096); }},
    {"free-nothing",
     [] {
       volatile char* block = static_cast<char*>(allocate(1024));
       const auto unit = reinterpret_cast<std::uintptr_t>(block) / 65536 * 65536;
       free_block(announce(reinterpret_cast<char*>(unit + 65536 - 512)));
     }},
    {"free-stack",
     [] {
       alignas(16) char local[64] = {};
       free_block(announce(local));
     }},
    {"free-static",
     [] {
       alignas(16) static char data[64];
       free_block(announce(data));
     }},
    {"overflow-1",
     [] {
       volatile char* block = new_block(47);
       block[47] = 0;
       free_block(block);
     }},
    {"overflow-8",
     [] {
       volatile char* block = new_block(48);
       for (int i = 48; i < 56; ++i) block[i] = 1;
       free_block(block);
     }},
    {"overflow-4096",
     [] {
       volatile char* block = new_block(48);
       for (int i = 0; i < 1000; ++i) allocate(48);
       for (int i = 48; i < 48 + 4096; ++i) block[i] = 1;
       free_block(block);
     }},
    {"overflow-realloc",
     [] {
       volatile char* block = new_block(47);
       block[47] = 0;
       resize(const_cast<char*>(block), 100);
     }},
    {"overflow-exit", [] { new_block(47)[47] = 0; }},
    {"overflow-later",
     [] {
       new_block(47)[47] = 0;
       for (;;) allocate_and_free(1);
     }},
    {"overflow-on-demand",
     [] {
       new_block(47)[47] = 0;
       check_heap();
     }},
    {"overflow-large", [] { new_block(kLarge)[kLarge] = 0; }},
    {"overread-large", [] { sink = new_block(kLarge)[kLarge + 100]; }},
    {"underflow",
     [] {
       volatile char* block = new_block(48);
       block[-1] = 0;
       free_block(block);
     }},
    {"underflow-large", [] { new_block(kLarge)[-4096] = 0; }},
    {"write-after-free",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       block[8] = 1;
       allocate_and_free(1 << 20);
     }},
    {"write-after-free-exit",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       block[8] = 1;
     }},
    {"read-after-free-large",
     [] {
       volatile char* block = new_block(kLarge);
       free_block(block);
       sink = block[8];
     }},
    {"write-after-free-large",
     [] {
       volatile char* block = new_block(kLarge);
       free_block(block);
       block[8] = 1;
     }},
    {"realloc-freed",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       resize(const_cast<char*>(block), 100);
     }},
    {"realloc-inside", [] { resize(const_cast<char*>(new_block(48) + 16), 100); }},
    {"size-freed",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       malloc_usable_size(const_cast<char*>(block));
     }},
    {"malloc-delete", [] { destroy(const_cast<char*>(new_block(48))); }},
    {"new-free", [] { free_block(announce(make(48))); }},
    {"new-array-delete", [] { destroy(const_cast<char*>(announce(make_array(48)))); }},
    {"new-delete-array", [] { destroy_array(const_cast<char*>(announce(make(48)))); }},
    {"new-realloc", [] { resize(const_cast<char*>(announce(make(48))), 100); }},
    {"sized-delete", [] { destroy_sized(const_cast<char*>(announce(make(48))), 40); }},
    {"aligned-new-delete",
     [] { destroy(const_cast<char*>(announce(make_aligned(48, std::align_val_t{64})))); }},
    {"new-aligned-delete",
     [] { destroy_aligned(const_cast<char*>(announce(make(48))), std::align_val_t{64}); }},
    {"aligned-new-aligned-delete",
     [] {
       destroy_aligned(const_cast<char*>(announce(make_aligned(48, std::align_val_t{64}))),
                       std::align_val_t{32});
     }},
    {"memalign-aligned-delete",
     [] { destroy_aligned(const_cast<char*>(announce(align(64, 48))), std::align_val_t{64}); }},
    // With guard=all.
    {"overread-guarded", [] { sink = new_block(48)[48]; }},
    {"overflow-guarded", [] { new_block(48)[48] = 1; }},
    {"read-after-free-guarded",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       sink = block[8];
     }},
    // Not a misuse: blocks with spans of their own, and blocks of slabs, in each other's place.
    {"spans-and-slabs",
     [] {
       constexpr int kBlocks = 64;
       static char* blocks[kBlocks];
       unsigned random = 1;
       for (int i = 0; i < 20000; ++i) {
         random = random * 1664525 + 1013904223;
         char*& block = blocks[random >> 26];
         if (block != nullptr && (block[0] != 1 || block[99] != 2)) std::puts("changed");
         release(block);
         const bool has_span = (random >> 20 & 1) != 0;
         block = static_cast<char*>(has_span ? align(16384, 100) : allocate(65400));
         block[0] = 1;
         block[99] = 2;
       }
       for (char* block : blocks) release(block);
       check_heap();
       std::puts("right");
     }},
    // Not a misuse: slabs come and go elsewhere while other threads check all blocks.
    {"slabs-on-the-move",
     [] {
       constexpr int kMovers = 2;
       constexpr int kCheckers = 8;
       std::atomic<int> moving{kMovers};
       const auto move = [&](unsigned random) {
         for (int i = 0; i < 2000; ++i) {
           std::vector<void*> blocks;
           random = random * 1664525 + 1013904223;
           const auto size = std::size_t(200 + (random >> 8) % 3000);
           for (std::size_t bytes = 0; bytes < 200000; bytes += size) {
             blocks.push_back(allocate(size));
           }
           for (void* block : blocks) release(block);
         }
         --moving;
       };
       const auto check = [&] {
         while (moving != 0) check_heap(Says::kNo);
       };
       std::vector<std::thread> threads;
       for (int i = 0; i < kMovers; ++i) threads.emplace_back(move, unsigned(i));
       for (int i = 0; i < kCheckers; ++i) threads.emplace_back(check);
       for (std::thread& thread : threads) thread.join();
       check_heap();
       std::puts("right");
     }},
    // Not a misuse: a child frees blocks that other threads were checking when it was made.
    {"fork",
     [] {
       static void* blocks[2000];
       for (void*& block : blocks) block = allocate(100);
       const auto use = [] {
         for (void* block : blocks) release(block);
         check_heap(Says::kNo);
       };
       const bool ended = misuse::fork_while_busy(40, [] { check_heap(Says::kNo); }, use);
       use();
       check_heap();
       std::puts(ended ? "right" : "a child hangs");
     }},
    // Not a misuse: what the program sees.
    {"pattern",
     [] {
       auto* const block = static_cast<unsigned char*>(allocate(1000));
       bool right = malloc_usable_size(block) == 1000;
       for (int i = 0; i < 1000; ++i) right = right && block[i] == 0xcb;
       auto* const zeros = static_cast<unsigned char*>(std::calloc(100, 10));
       for (int i = 0; i < 1000; ++i) right = right && zeros[i] == 0;
       release(block);
       release(zeros);
       check_heap();
       std::puts(right ? "right" : "wrong");
     }},
};

}  // namespace

int main(int argc, char** argv) { return misuse::run_case(argc, argv, kCases); }
