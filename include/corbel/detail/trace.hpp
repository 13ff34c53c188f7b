// SPDX-License-Identifier: Apache-2.0
// Tracing: the part that is inlined into programs. The time that all threads spend in tasks is the
// program's work, the length of the longest path through its forks and joins is its span, and work
// divided by span is its parallelism: the number of processors the program could have kept busy (R.
// Blumofe and C. Leiserson, "Scheduling Multithreaded Computations by Work Stealing", J. ACM 46/5,
// 1999). Not for programs to include.
//
// Called only if thread_data::trace is set: programs that are not traced pay nothing.
#ifndef CORBEL_DETAIL_TRACE_HPP
#define CORBEL_DETAIL_TRACE_HPP

#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

struct thread_data;

// Returns the length, in nanoseconds, of the longest path from the beginning of the thread's task,
// or of its outermost parallel call, to this point.
CORBEL_EXPORT std::uint64_t critical_path_length(thread_data& thread) noexcept;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TRACE_HPP
