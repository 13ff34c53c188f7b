// SPDX-License-Identifier: Apache-2.0
// Linked into every test on the fake operating system. While a thread holds a lock of the
// allocator, it must not map, give back or move memory, nor fill a page or more; this file reports
// a breach of that contract. Only debug builds know which thread holds a lock.
#include <cstddef>
#include <cstdint>

#include "os/fake/fake.hpp"
#include "sync/lock.hpp"

namespace corbel {
namespace {

const bool calls_are_forbidden = [] {
  os::fake::forbid_calls_if(sync::Lock::holds_any);
  return true;
}();

}  // namespace
}  // namespace corbel

// Replaces the C library's memset. A sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace corbel {
namespace {

constexpr std::size_t kPage = 4096;

// volatile: else the compiler turns the loop into a call of memset.
void fill(char* to, int byte, std::size_t size) {
  using Word [[gnu::may_alias]] = volatile std::uint64_t;
  const std::uint64_t word = (byte & 0xff) * (~std::uint64_t{0} / 0xff);
  char* const end = to + size;
  while (to != end && reinterpret_cast<std::uintptr_t>(to) % sizeof word != 0)
    *const_cast<volatile char*>(to++) = char(byte);
  for (; std::size_t(end - to) >= sizeof word; to += sizeof word)
    *reinterpret_cast<Word*>(to) = word;
  while (to != end) *const_cast<volatile char*>(to++) = char(byte);
}

}  // namespace
}  // namespace corbel

extern "C" void* checked_memset(void* to, int byte, std::size_t size) asm("memset");
extern "C" void* checked_memset(void* to, int byte, std::size_t size) {
  using namespace corbel;
  if (size >= kPage && sync::Lock::holds_any())
    os::fake::note_breach("memset while a lock is held");
  fill(static_cast<char*>(to), byte, size);
  return to;
}
#endif
