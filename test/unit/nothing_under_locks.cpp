// SPDX-License-Identifier: Apache-2.0
// Part of every test on the fake operating system: makes it a breach of the contract to map, give
// back or move memory while the thread holds a lock of the allocator, or to fill a page or more of
// it. Who holds locks is known in debug builds alone.
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

// The C library's memset, under a name that compilers know nothing of.
extern "C" void* fill(void* to, int byte, std::size_t size, std::size_t room) asm("__memset_chk");

}  // namespace
}  // namespace corbel

// In place of the C library's; a sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* memset(void* to, int byte, std::size_t size) noexcept {
  using namespace corbel;
  if (size >= kPage && sync::Lock::holds_any())
    os::fake::note_breach("memset while a lock is held");
  return fill(to, byte, size, size);
}
#endif
