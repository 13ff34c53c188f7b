// SPDX-License-Identifier: Apache-2.0
// Orders that the thread sanitizer cannot see, told to it. Empty without it.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace corbel {

// What the calling thread has done before happens before what another one does after
// tsan_acquire() of the same address.
inline void tsan_release([[maybe_unused]] void* address) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(address);
#endif
}

inline void tsan_acquire([[maybe_unused]] void* address) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(address);
#endif
}

}  // namespace corbel
