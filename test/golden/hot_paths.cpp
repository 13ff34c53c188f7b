// SPDX-License-Identifier: Apache-2.0
// The program that trace.py single-steps: each hot path many times, between breakpoint
// instructions. Everything is warm before the first breakpoint.
//
// The program prints the names of its sections in the order in which they run, kRepeats times each.
// The argument "plain" runs it without a tracer.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr int kRepeats = 64;
constexpr std::size_t kSize = 16;
void* blocks[kRepeats * 4];

bool traced = true;

inline __attribute__((always_inline)) void mark() {
#if defined(__x86_64__)
  if (traced) __asm__ volatile("int3" ::: "memory");
#endif
}

// Keeps the compiler from pairing an allocation with its free and removing both.
inline void* hide(void* p) {
  __asm__ volatile("" : "+r"(p)::"memory");
  return p;
}

void warm_up() {
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) block = hide(std::malloc(kSize));
    for (void* block : blocks) std::free(hide(block));
    for (void*& block : blocks) block = hide(::operator new(kSize));
    for (void* block : blocks) ::operator delete(hide(block), kSize);
  }
}

}  // namespace

int main(int argc, char** argv) {
  traced = !(argc == 2 && std::strcmp(argv[1], "plain") == 0);
  std::puts("malloc free new sized_delete");
  std::fflush(stdout);
  warm_up();
  for (int i = 0; i < kRepeats; ++i) {
    mark();
    void* p = std::malloc(kSize);
    mark();
    p = hide(p);
    mark();
    std::free(p);
    mark();
    mark();
    p = ::operator new(kSize);
    mark();
    p = hide(p);
    mark();
    ::operator delete(p, kSize);
    mark();
  }
  return 0;
}
