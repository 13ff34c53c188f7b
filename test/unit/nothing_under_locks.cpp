// SPDX-License-Identifier: Apache-2.0
// Linked into every test on the fake operating system. While a thread holds a lock of the
// allocator, it must not map, give back or move memory, nor fill a page or more; this file reports
// a breach of that contract. Only debug builds know which thread holds a lock.
#include <cstddef>
#include <cstring>

#include "os/fake/fake.hpp"
#include "sync/lock.hpp"

namespace corbel {
namespace {

constexpr std::size_t kPage = 4096;

const bool calls_are_forbidden = [] {
  os::fake::forbid_calls_if(sync::Lock::holds_any);
  return true;
}();

// The C library's memset, under a name that the compiler does not treat as a builtin.
extern "C" void* fill(void* to, int byte, std::size_t size, std::size_t room) asm("__memset_chk");

}  // namespace
}  // namespace corbel

// Replaces the C library's memset. A sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* memset(void* to, int byte, std::size_t size) noexcept {
  using namespace corbel;
  if (size >= kPage && sync::Lock::holds_any())
    os::fake::note_breach("memset while a lock is held");
  return fill(to, byte, size, size);
}
#endif
