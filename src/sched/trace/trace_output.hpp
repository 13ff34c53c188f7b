// SPDX-License-Identifier: Apache-2.0
// CORBEL_TRACE: at exit, writes what the trace buffers hold, as a timeline or as a summary.
#pragma once

#include "sched/trace/trace_buffer.hpp"
#include "sync/lock.hpp"

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

// Returns a buffer for a thread that begins, which give_back takes when it ends. It is never freed,
// only reused: its thread may record until the very end of the process. Throws bad_alloc.
TraceBuffer& take_buffer(bool is_worker);
// Writes what the buffer holds. A program that starts many threads one after the other needs no
// more buffers than it has threads at a time.
void give_back(TraceBuffer& buffer);

// For the fork handlers: the child must not have half of what is to be written.
sync::Lock& output_lock();

}  // namespace corbel::sched::trace
