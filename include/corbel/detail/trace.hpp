// SPDX-License-Identifier: Apache-2.0
// What traced threads write down of strands, as far as programs do it. A strand is what a thread
// does between two points at which it forks, joins or waits; the longest path through the strands
// of a program is its span, their sum its work, and the one divided by the other its parallelism:
// so many processors the program could have kept busy. (R. Blumofe and C. Leiserson, "Scheduling
// Multithreaded Computations by Work Stealing", J. ACM 46/5, 1999.)
//
// Only code that has seen worker::trace calls this: programs that are not traced pay nothing.
#ifndef CORBEL_DETAIL_TRACE_HPP
#define CORBEL_DETAIL_TRACE_HPP

#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

struct worker;

// The length in ns of the longest path from the beginning of the task that the thread runs (or of
// the outermost parallel call) to this point.
CORBEL_EXPORT std::uint64_t strand_length(worker& w) noexcept;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TRACE_HPP
