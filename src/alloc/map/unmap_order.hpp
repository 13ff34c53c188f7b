// SPDX-License-Identifier: Apache-2.0
// Orders descriptor writes between two threads when the kernel reuses addresses: whatever a thread
// wrote about addresses before it unmapped them is visible to the thread that maps them next. The
// kernel orders the two calls with a lock of its own, but the C++ memory model does not know that
// lock. The two threads need not share a lock of ours, although descriptors outlive the memory they
// describe.
//
// Why it is right: the kernel hands addresses out only after it has taken them back. So the count
// that the mapping thread reads in (2), after its call, was written by the (1) that preceded the
// unmapping call, or by a later (1). Every (1) is a read-modify-write, so each continues the
// release sequences of those before it, and (2) synchronises with all of them up to the one it
// reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::alloc {

inline std::atomic<std::uint32_t> unmap_count{0};

// To be called before a system call that may unmap addresses whose descriptors were written.
inline void order_before_unmap() {
  // (1) release: publishes what was written about the addresses to (2)
  unmap_count.fetch_add(1, std::memory_order_release);
}

// To be called after a system call that has mapped addresses.
inline void order_after_map() {
  // (2) acquire: sees what was written about these addresses before (1)
  static_cast<void>(unmap_count.load(std::memory_order_acquire));
}

}  // namespace corbel::alloc
