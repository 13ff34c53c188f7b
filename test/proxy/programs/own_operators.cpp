// SPDX-License-Identifier: Apache-2.0
// A program that replaces only the plain operator new and delete, as C++ allows. All other forms
// must call these two. Their blocks are marked, so that a block from another source is found.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>

static constexpr unsigned long kMark = 0x5afe5afe5afe5afe;
static long held = 0;
static long made = 0;

__attribute__((noinline)) void* operator new(std::size_t size) {
  auto* p = static_cast<unsigned long*>(std::malloc(size + 16));
  if (p == nullptr) throw std::bad_alloc();
  p[0] = kMark;
  ++held;
  ++made;
  return p + 2;
}

__attribute__((noinline)) void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  auto* p = static_cast<unsigned long*>(block) - 2;
  if (p[0] != kMark) {
    std::fputs("a block without the mark\n", stderr);
    std::_Exit(1);
  }
  p[0] = 0;
  --held;
  std::free(p);
}
int main() {
  const std::nothrow_t& no = std::nothrow;
  for (std::size_t n : {1, 16, 100, 5000, 300000}) {
    void* blocks[] = {::operator new(n), ::operator new[](n), ::operator new(n, no),
                      ::operator new[](n, no)};
    ::operator delete(blocks[0], n);
    ::operator delete[](blocks[1], n);
    ::operator delete(blocks[2], no);
    ::operator delete[](blocks[3], no);
    ::operator delete[](::operator new[](n));
    ::operator delete(::operator new(n, no));
  }
  // The operator above throws, and the nothrow form must catch the exception.
  volatile std::size_t impossible = static_cast<std::size_t>(-1) / 2 - 100;
  if (::operator new(impossible, no) != nullptr) return 1;
  if (held != 0 || made != 5 * 6) {
    std::fprintf(stderr, "%ld of %ld blocks are still held\n", held, made);
    return 1;
  }
}
