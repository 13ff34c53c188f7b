// SPDX-License-Identifier: Apache-2.0
// Threads that sleep keep nothing: whoever needs memory detaches their heaps in their place.
#pragma once

#include <cstddef>

namespace corbel::alloc {

// Detaches the heap of every thread that is blocked in a system call and, if `idle_only`, has not
// been in the allocator since the last call. Returns how many. The calling thread holds no lock.
std::size_t take_over_sleepers(bool idle_only);

}  // namespace corbel::alloc
