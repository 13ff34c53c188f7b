// SPDX-License-Identifier: Apache-2.0
// Exhausts memory in a C++ library that is loaded late (late.c).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

struct FromHandler {};
static void throwing_handler() { throw FromHandler{}; }
static volatile std::size_t impossible = std::size_t{PTRDIFF_MAX} - 1000;

extern "C" int run() {
  int outcome = 0;
  try {
    delete[] new char[impossible];
  } catch (const std::bad_alloc&) {
    outcome |= 1;
  }
  if (new (std::nothrow) char[impossible] == nullptr) outcome |= 2;
  std::set_new_handler(throwing_handler);
  try {
    delete[] new char[impossible];
  } catch (const FromHandler&) {
    outcome |= 4;
  }
  if (::operator new[](impossible, std::nothrow) == nullptr) outcome |= 8;
  if (::operator new(impossible, std::align_val_t{64}, std::nothrow) == nullptr) outcome |= 16;
  std::set_new_handler(nullptr);
  if (outcome != 31) std::fprintf(stderr, "outcome %d\n", outcome);
  return outcome == 31 ? 0 : 1;
}
