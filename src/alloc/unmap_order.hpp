// SPDX-License-Identifier: Apache-2.0
// What a thread wrote about addresses before it unmapped them, the thread that maps them next sees.
// The kernel sees to that with a lock of its own, which the language does not know of, and the two
// threads need share no lock of ours: descriptors outlive the memory they describe.
//
// The argument: the kernel gives addresses out only after it has taken them back. So the count that
// a mapping thread reads behind its call holds the (1) in front of the call that took these
// addresses back, or a later one; each is a read-modify-write, so all of them up to the one read
// synchronise with (2).
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::alloc {

inline std::atomic<std::uint32_t> unmap_count{0};

// Before a system call that takes addresses back, or may, after something was written about them.
inline void order_before_unmap() {
  // (1) release: publishes what was written about the addresses to (2)
  unmap_count.fetch_add(1, std::memory_order_release);
}

// After a system call that has given addresses out.
inline void order_after_map() {
  // (2) acquire: sees what the last to describe these addresses wrote before (1)
  static_cast<void>(unmap_count.load(std::memory_order_acquire));
}

}  // namespace corbel::alloc
