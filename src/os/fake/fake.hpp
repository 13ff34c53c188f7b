// SPDX-License-Identifier: Apache-2.0
// The controls of the fake operating system in the fault tests. The fake hands out real memory. It
// refuses calls when a test tells it to, records every range, and checks its callers against the
// contract of os.hpp. It records the first breach, which first_breach() returns. It is compiled
// twice: as a system that counts memory when it is committed, where memory that is not faults, and
// as one that counts it when it is touched (CORBEL_OS_COMMITS).
//
// The controls may be called from any thread. A change applies from the next call on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::os::fake {

// Which calls are refused. Calls count from 1, starting anew with refuse(). 0: never.
struct Refusals {
  std::uint64_t first_map = 0;     // the first call of map to refuse
  std::uint64_t maps = 1;          // how many calls from that one on
  std::uint64_t maps_in_1000 = 0;  // additionally, this many of 1000 at random
  std::uint64_t first_commit = 0;  // and of commit
  std::uint64_t commits = 1;
  std::uint64_t unmaps_in_1000 = 0;       // a refused unmap overwrites the range
  std::size_t largest_commit = SIZE_MAX;  // a larger one is refused
  std::uint64_t commits_in_1000 = 0;      // a refused commit makes the first half usable
  std::uint64_t decommits_in_1000 = 0;
  std::uint64_t moves_in_1000 = 0;
  std::uint64_t lost_targets_in_1000 = 0;  // moves that fail and lose their target
  std::uint64_t seed = 1;                  // of the random refusals
  std::size_t mapped_limit = SIZE_MAX;     // bytes that may be mapped at the same time
  // How many ranges may be mapped at the same time, as the kernel limits the mappings of a process:
  // refuses an unmap that would split a range, and a map that would add one.
  std::size_t max_ranges = SIZE_MAX;
};
void refuse(const Refusals& refusals);

struct Figures {
  std::size_t mapped_bytes;  // now
  std::size_t ranges;        // now; adjacent ones count as one
  std::size_t peak_bytes;    // the maximum so far
  std::uint64_t map_calls;   // since the process began, including refused calls
  std::uint64_t maps_refused;
  std::uint64_t unmap_calls;
  std::uint64_t commit_calls;
  std::uint64_t decommit_calls;
  std::uint64_t move_calls;
};
Figures figures();

// The first breach of the contract, or nullptr: "unmap of memory that is not mapped", ...
const char* first_breach();

// Notes a breach that the caller has found. `what` must stay valid.
void note_breach(const char* what);

// From now on, each call of this layer first calls `forbidden` in the same thread, and is a breach
// if that returns true. nullptr allows all calls.
void forbid_calls_if(bool (*forbidden)());

// Set a hook that every call of map(), or of decommit(), calls first. None of this layer's locks is
// held then. nullptr removes the hook.
void at_map(void (*hook)(std::size_t size));
void at_decommit(void (*hook)(void* address, std::size_t size));

// Pretends a system with larger pages: from now on page_size() returns `size`, a multiple of the
// real page size, and the contract is checked against it. 0: the real page size again.
void pretend_page_size(std::size_t size);

// Whether every byte of the range is mapped now.
bool is_mapped(const void* address, std::size_t size);

// Set what read_memory_grant() returns from now on; return how often it has been called.
void set_memory_grant(const MemoryGrant& grant);
std::uint64_t memory_grant_reads();

// The bytes that are mapped and may be used: what a system that counts commits would have counted.
std::size_t usable_bytes();

// The resident bytes of all mapped ranges. Pages that were only read map the system's page of zeros
// and do not count, nor do pages shared with a forked process.
std::size_t resident_bytes();

}  // namespace corbel::os::fake
