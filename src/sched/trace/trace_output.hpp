// SPDX-License-Identifier: Apache-2.0
// CORBEL_TRACE: at exit, writes what the trace buffers hold, as a timeline or as a summary.
#pragma once

#include "sched/trace/trace_buffer.hpp"

namespace corbel::sched::trace {

// Reads CORBEL_TRACE; true if tasks are traced. Once, before the first thread begins.
bool set_up();

// In the child of a fork: the output is the parent's.
void stop();

bool is_on();
bool wants_timeline();

// The outermost calls: those of threads in no task, and tasks that such a thread has pushed outside
// of an algorithm, or that were enqueued. They may outlast the call in which they were pushed.
// Such a call lasts from `begin` to `end`, in ns; its path is from `path_begin`, which is not after
// `begin`, to `path_end`.
void begin_outermost(std::uint64_t path_begin) noexcept;
void end_outermost(std::uint64_t begin, std::uint64_t end, std::uint64_t path_begin,
                   std::uint64_t path_end) noexcept;

// Adds a buffer to those that are written at exit. It must never be freed: its thread may record
// until the very end.
void publish(TraceBuffer& buffer);

}  // namespace corbel::sched::trace
