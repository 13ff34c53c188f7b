// SPDX-License-Identifier: Apache-2.0
// Counts the read-modify-writes of the allocator: fetch_add, exchange, compare_exchange and their
// like, among them those of its locks. On shared memory each of them takes the cache line away from
// every other processor, so their number says on a small machine what a large one will suffer from.
//
// The allocator under test (corbel_alloc_counted) is compiled with -fno-inline-atomics, which makes
// each atomic operation a call of a function that counted_atomics.cpp defines. No source knows of
// it, and none can be forgotten. The test's own atomics, and those of the C library, do not count.
#pragma once

#include <cstdint>

namespace corbel::test {

// How many the calling thread has made.
std::uint64_t read_modify_writes();

}  // namespace corbel::test
