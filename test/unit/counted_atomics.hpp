// SPDX-License-Identifier: Apache-2.0
// Counts the allocator's atomic read-modify-writes (fetch_add, exchange, compare_exchange ...),
// those of its locks included. On shared memory each of them takes the cache line away from every
// other processor, so a small machine can predict from their number how the allocator scales on a
// large one.
//
// The allocator under test (corbel_alloc_counted) is compiled with -fno-inline-atomics, which turns
// each atomic operation into a call of a function that counted_atomics.cpp defines. The sources
// need no change, and no operation escapes. The test's own atomics and those of the C library do
// not count.
#pragma once

#include <cstdint>

namespace corbel::test {

// The number of read-modify-writes of the calling thread.
std::uint64_t read_modify_writes();

}  // namespace corbel::test
