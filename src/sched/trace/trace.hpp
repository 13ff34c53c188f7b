// SPDX-License-Identifier: Apache-2.0
// CORBEL_TRACE: recording what the threads do.
//
// Each thread writes to a trace buffer of its own. While tasks are traced every push signals
// (signal_mode.hpp), so that every fork takes the slow path, on which it is measured, and every
// push of a task is noted (notes.hpp).
#pragma once

#include <corbel/detail/fork.hpp>

#include "sched/core/thread.hpp"
#include "sched/trace/trace_buffer.hpp"

namespace corbel::sched::trace {

// Gives the thread a trace buffer if tasks are traced.
void begin_thread(Thread& t);
// Ends the parallel call that the thread has begun with a push, if no wait has ended it, and gives
// the buffer back. After all that the thread does.
void end_thread(Thread& t);

inline TraceBuffer* buffer(const Thread& t) { return static_cast<TraceBuffer*>(t.trace); }

// Like detail::run_task, for a traced thread.
void run_task(Thread& t, task_base* task);

// Stops the thread's path clock while it waits, or looks for work in an arena. Costs one test if
// tasks are not traced.
class ClockPause {
 public:
  ClockPause(Thread& t, Kind kind) : thread_(t), kind_(kind) {
    if (t.trace != nullptr) begin();
  }
  ~ClockPause() {
    if (thread_.trace != nullptr) end();
  }
  ClockPause(const ClockPause&) = delete;
  ClockPause& operator=(const ClockPause&) = delete;

 private:
  void begin();
  void end();

  Thread& thread_;
  const Kind kind_;
  std::uint64_t begin_ = 0;
  bool was_running_ = false;
};

// Called after a traced thread has pushed a task to its deque. Outside of all parallel calls this
// begins one, which the thread's next wait ends.
void note_push(Thread& t);

// Called before the calling thread, which may not be one of the scheduler's, puts a task into a
// mailbox or a queue. `is_awaited`: a call waits for the task.
void note_queued(const task_base& task, bool is_awaited);

// Records a fork, which a Join ends; the pairs nest. Costs one test if tasks are not traced.
void note_fork(Thread& t);

// Lives from the end of the first function of a fork to the join.
class Join {
 public:
  Join(Thread& t, const detail::fork_base& task) : thread_(t), task_(task) {
    if (t.trace != nullptr) begin();
  }
  ~Join() {
    if (thread_.trace != nullptr) end();
  }
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

 private:
  void begin();
  void end();

  Thread& thread_;
  const detail::fork_base& task_;
  std::uint64_t here_length_ = 0;
};

// Called by a thread that has taken a task from the deque of another.
void note_steal(const task_base& task);

// The thread switches from one stack to another.
void switch_clock(Thread& t, PathClock& here, PathClock& next);

}  // namespace corbel::sched::trace
