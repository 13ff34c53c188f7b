// SPDX-License-Identifier: Apache-2.0
// The controls of the fake operating system of the fault tests. Its memory is the real system's,
// but it refuses when told to, keeps a record of every range, and holds the caller to the contract
// of os.hpp: a call that breaks it is noted and can be asked for.
//
// The controls may be called from any thread; a change holds from the next call on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::os::fake {

// Which calls are refused, each counted from the call that sets it, beginning with 1. 0: never.
struct Refusals {
  std::uint64_t first_map = 0;       // this call of map ...
  std::uint64_t maps = 1;            // ... and so many in all
  std::uint64_t maps_in_1000 = 0;    // besides, so many of 1000 at random
  std::uint64_t unmaps_in_1000 = 0;  // a refused unmap leaves rubbish in the range
  std::uint64_t purges_in_1000 = 0;
  std::uint64_t moves_in_1000 = 0;
  std::uint64_t lost_targets_in_1000 = 0;  // moves that fail and lose their target
  std::uint64_t seed = 1;                  // of the random ones
  std::size_t mapped_limit = SIZE_MAX;     // bytes that may be mapped at one time
};
void refuse(const Refusals& refusals);

struct Figures {
  std::size_t mapped_bytes;  // now
  std::size_t peak_bytes;    // the most there have been at one time
  std::uint64_t map_calls;   // since the process began, refused ones included
  std::uint64_t maps_refused;
  std::uint64_t unmap_calls;
  std::uint64_t purge_calls;
  std::uint64_t move_calls;
};
Figures figures();

// The first breach of the contract, or nullptr: "unmap of memory that is not mapped", ...
const char* first_breach();

// Notes a breach that somebody else has seen; `what` stays readable.
void note_breach(const char* what);

// Makes each call of a function of this layer a breach for which `forbidden` says so, which is
// asked in the thread that calls. nullptr: none.
void forbid_calls_if(bool (*forbidden)());

// Called at the beginning of every map() or purge(), with none of this layer's locks held. nullptr:
// nothing.
void at_map(void (*hook)(std::size_t size));
void at_purge(void (*hook)(void* address, std::size_t size));

// What page_size() says from now on, and purge() and unmap() hold the caller to: a multiple of the
// real one, to stand for a system with larger pages. 0: the real one again.
void pretend_page_size(std::size_t size);

// Whether every byte of the range is mapped at this moment.
bool is_mapped(const void* address, std::size_t size);

// What read_memory_grant() says from now on, and how often it was asked.
void set_memory_grant(const MemoryGrant& grant);
std::uint64_t memory_grant_reads();

// The resident bytes of all that is mapped. Pages that were only read share one of the system's and
// do not count, nor do those that a fork has shared.
std::size_t resident_bytes();

}  // namespace corbel::os::fake
