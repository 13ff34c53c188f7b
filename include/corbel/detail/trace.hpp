// SPDX-License-Identifier: Apache-2.0
// Tracing: the part that is inlined into programs. The time that all threads spend in tasks is the
// program's work, the length of the longest path through its tasks is its span, and work divided by
// span is its parallelism: the number of processors the program could have kept busy (R. Blumofe
// and C. Leiserson, "Scheduling Multithreaded Computations by Work Stealing", J. ACM 46/5, 1999; Y.
// He, C. Leiserson and W. Leiserson, "The Cilkview Scalability Analyzer", SPAA 2010). Not for
// programs to include.
//
// A path is as long as the code on it would run with a processor for every task: a task begins
// where it was pushed, not when a thread takes it, and what waits for tasks continues at the end of
// the longest of them. A length is a point in time on such processors: it begins with the time (ns)
// at which an outermost parallel call begins.
//
// Loops. The calls of a loop's body may all run at the same time, although one thread makes many of
// them, one after the other. So every chunk begins where its runner's work begins, and a loop is as
// long as its longest chunk.
//
// The exported functions are called only if thread_data::trace is set: programs that are not traced
// pay the tests in the classes below, once a call of an algorithm or once a task, and nothing for a
// fork, a task of a task group or a chunk.
#ifndef CORBEL_DETAIL_TRACE_HPP
#define CORBEL_DETAIL_TRACE_HPP

#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// The chunks that a thread works on. Set by begin_chunks.
struct chunk_frame {
  chunk_frame* outer;     // of the same stack and task
  std::uint64_t begin;    // the length at which each chunk begins
  std::uint64_t longest;  // the length at the end of the longest chunk
};

// Returns the length of the longest path to this point.
CORBEL_EXPORT std::uint64_t critical_path_length(thread_data& thread) noexcept;
// Makes `length` the length of the path to this point.
CORBEL_EXPORT void set_path_length(thread_data& thread, std::uint64_t length) noexcept;

// Enclose a parallel call.
CORBEL_EXPORT void begin_traced_call(thread_data& thread) noexcept;
CORBEL_EXPORT void end_traced_call(thread_data& thread) noexcept;

// Enclose chunks; between them, end_chunk. It returns what find_cancelled(group) returns.
CORBEL_EXPORT void begin_chunks(thread_data& thread, chunk_frame& chunks) noexcept;
CORBEL_EXPORT bool end_chunk(thread_data& thread, context_node& group) noexcept;
CORBEL_EXPORT void end_chunks(thread_data& thread, chunk_frame& chunks) noexcept;

// record_end is called before what the thread has done counts as ended for the thread that waits
// for `key`. join_ends, called after the wait, lengthens the path to the longest that was recorded
// for the key, and forgets them all. wait_until calls it.
CORBEL_EXPORT void record_end(thread_data& thread, const void* key) noexcept;
CORBEL_EXPORT void join_ends(thread_data& thread, const void* key) noexcept;
// record_end for a runner: what follows it, a join of two bodies, begins after all its chunks.
CORBEL_EXPORT void record_end_of_chunks(thread_data& thread, const void* key) noexcept;

// Enclose a loop in the thread that calls it: a parallel call, and the thread's chunks. The ends
// that others recorded for the key are joined.
CORBEL_EXPORT void begin_traced_loop(thread_data& thread, chunk_frame& chunks) noexcept;
CORBEL_EXPORT void end_traced_loop(thread_data& thread, chunk_frame& chunks,
                                   const void* key) noexcept;

// A task that was pushed is not going to be run by run_task or run_any.
CORBEL_EXPORT void forget_push(thread_data& thread, const task_base& task) noexcept;

// ---- what algorithms use ------------------------------------------------------------------------

// A call of a parallel algorithm, from its begin to the end of its last wait. Forks and waits do
// without.
class call_trace {
 public:
  explicit call_trace(thread_data& thread) : thread_(thread) {
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) begin_traced_call(thread);
  }
  ~call_trace() {
    if (CORBEL_UNLIKELY(thread_.trace != nullptr)) end_traced_call(thread_);
  }
  call_trace(const call_trace&) = delete;
  call_trace& operator=(const call_trace&) = delete;

 private:
  thread_data& thread_;
};

// The work of one thread on a loop: chunks with is_cancelled_between_chunks between them.
class chunk_trace : chunk_frame {
 public:
  explicit chunk_trace(thread_data& thread) : thread_(thread) {
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) begin_chunks(thread, *this);
  }
  ~chunk_trace() {
    if (CORBEL_UNLIKELY(thread_.trace != nullptr)) end_chunks(thread_, *this);
  }
  chunk_trace(const chunk_trace&) = delete;
  chunk_trace& operator=(const chunk_trace&) = delete;

 private:
  thread_data& thread_;
};

// Like thread_data::is_cancelled. Called in front of each chunk. In a traced thread no node is ever
// current (context_node::kNeverCurrent), so that each call gets to end_chunk.
inline bool is_cancelled_between_chunks(thread_data& thread, context_node& group) {
  return CORBEL_UNLIKELY(!group.is_current(*thread.cancellations)) && end_chunk(thread, group);
}

// The length of the path to something that other code depends on, in another way than by a push or
// a wait. Not thread-safe: what makes that code run later, like a lock, also orders the accesses.
class path_mark {
 public:
  // Marks this point.
  void set(thread_data& thread) {
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) length_ = critical_path_length(thread);
  }
  // What follows depends on what came before set(), too.
  void join(thread_data& thread) const {
    if (CORBEL_UNLIKELY(thread.trace != nullptr) && length_ > critical_path_length(thread))
      set_path_length(thread, length_);
  }
  // What follows depends on that alone.
  void restart(thread_data& thread) const {
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) set_path_length(thread, length_);
  }

  bool operator>(const path_mark& other) const { return length_ > other.length_; }

 private:
  std::uint64_t length_ = 0;
};

// Called before a runner pushes a piece unless it has just checked for cancellation between chunks:
// the piece does not depend on the last chunk.
inline void trace_chunk(thread_data& thread) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) end_chunk(thread, *thread.context);
}
inline void trace_end(thread_data& thread, const void* key) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) record_end(thread, key);
}
inline void trace_end_of_chunks(thread_data& thread, const void* key) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) record_end_of_chunks(thread, key);
}
inline void trace_no_push(thread_data& thread, const task_base& task) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) forget_push(thread, task);
}
inline void trace_join(thread_data& thread, const void* key) {
  if (CORBEL_UNLIKELY(thread.trace != nullptr)) join_ends(thread, key);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_TRACE_HPP
