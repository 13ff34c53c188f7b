// SPDX-License-Identifier: Apache-2.0
// Misuses that are found on slow paths without full checks: misuse_always CASE. It prints the
// address of the block that the line must name; always.py knows the line.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "cases.hpp"

namespace {

// Volatile pointers, because the compiler would reject some of this, or remove it.
void* (*volatile allocate)(std::size_t) = std::malloc;
void (*volatile release)(void*) = std::free;
void* (*volatile make)(std::size_t) = ::operator new;
void (*volatile destroy_sized)(void*, std::size_t) = ::operator delete;

using misuse::announce;

void* volatile sink;

constexpr std::size_t kSize = 200;

// Allocates until no bin has a block left that was there before.
void exhaust() {
  for (int i = 0; i < 100000; ++i) sink = allocate(kSize);
}

void plant(void* block, std::uintptr_t value) { std::memcpy(block, &value, sizeof value); }

const misuse::Case kCases[] = {
    {"planted-link",
     [] {
       void* block = allocate(kSize);
       void* other = allocate(kSize);
       release(other);
       release(announce(block));
       plant(block, reinterpret_cast<std::uintptr_t>(&kCases));
       exhaust();
     }},
    {"planted-inside",
     [] {
       void* block = allocate(kSize);
       void* other = allocate(kSize);
       release(other);
       release(announce(block));
       plant(block, reinterpret_cast<std::uintptr_t>(other) + 16);
       exhaust();
     }},
    {"double-free-at-once",
     [] {
       void* block = allocate(kSize);
       sink = allocate(kSize);
       release(block);
       release(announce(block));
       exhaust();
     }},
    {"sized-delete-by-other",
     [] {
       void* block = make(kSize);
       std::thread([block] { destroy_sized(announce(block), 2 * kSize); }).join();
     }},
    {"sized-delete-large", [] { destroy_sized(announce(make(1 << 20)), 2 << 20); }},
    {"sized-delete-small-for-large", [] { destroy_sized(announce(make(1 << 20)), 100); }},
    // No misuse.
    {"right-sizes",
     [] {
       for (std::size_t size = 0; size < (std::size_t{1} << 20); size += 1 + size / 16) {
         void* block = make(size);
         std::thread([block, size] { destroy_sized(block, size); }).join();
         const auto alignment = std::align_val_t(16 << size % 9);
         void* aligned = ::operator new(size, alignment);
         std::thread([=] { ::operator delete(aligned, size, alignment); }).join();
       }
       std::puts("right");
     }},
};

}  // namespace

int main(int argc, char** argv) { return misuse::run_case(argc, argv, kCases); }
