// SPDX-License-Identifier: Apache-2.0
// The values of the samples of a time profile, in their order.
#pragma once

#include "alloc/profile/pprof.hpp"

namespace corbel::alloc {

enum class TimeValue : unsigned {
  kCpu,          // time on a processor
  kWait,         // time in a wait for a futex without a limit
  kFaults,       // page faults
  kSharing,      // accesses to a cache line that another thread uses at other bytes
  kAllocations,  // the rest: of the heap sampler
  kAllocated,
  kBrief,       // freed within a microsecond
  kHandedOver,  // freed by another thread; the stack of the allocation
  kReceived,    // the same; the stack of the free
  kGrowths,     // a realloc has made the block larger
  kCopied,      // and has copied as many bytes
};
inline constexpr unsigned kTimeValues = 11;

inline constexpr ValueType kTimeTypes[kTimeValues] = {
    {"cpu", "nanoseconds"}, {"wait", "nanoseconds"},  {"faults", "count"},
    {"sharing", "count"},   {"allocations", "count"}, {"allocated", "bytes"},
    {"brief", "count"},     {"handed_over", "count"}, {"received", "count"},
    {"growths", "count"},   {"copied", "bytes"},
};

// The values of a sample.
struct TimeValues {
  std::uint64_t at[kTimeValues] = {};

  std::uint64_t& operator[](TimeValue value) { return at[unsigned(value)]; }
};

// Adds the samples of the heap to a time profile that is being written; nullptr: there are none.
// To be set before the process has a second thread.
using AddHeapSamples = void (*)(PprofWriter& writer);
extern AddHeapSamples add_heap_samples;

}  // namespace corbel::alloc
