// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/trace.hpp"

#include <corbel/detail/trace.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "os/os.hpp"
#include "sched/trace/trace_output.hpp"

namespace corbel {
namespace sched::trace {

namespace {

// Brings the path clock up to this moment.
void advance(TraceBuffer& b) {
  const std::uint64_t now = os::now_ns();
  if (b.since != 0) {
    b.length += now - b.since;
    add(b.work, now - b.since);
  }
  b.since = now;
}

// begin_call and end_call enclose a parallel call. begin_call returns whether it is the outermost
// call of an external thread, which starts the clock.
bool begin_call(TraceBuffer& b) {
  if (b.since != 0) return false;
  b.length = 0;
  b.since = b.call_begin = os::now_ns();
  return true;
}

void end_call(TraceBuffer& b) {
  advance(b);
  add(b.span, b.length);
  add(b.calls, b.since - b.call_begin);
  b.since = 0;
}

}  // namespace

void begin_thread(Thread& t) {
  t.trace = nullptr;
  if (!is_on()) return;
  auto buffer = std::make_unique<TraceBuffer>();
  if (wants_timeline()) buffer->events.reset(new TraceBuffer::Event[TraceBuffer::kMaxEvents]);
  buffer->is_worker = t.is_worker;
  t.trace = buffer.get();
  publish(*buffer.release());
}

void run_task(Thread& t, task_base* task) {
  TraceBuffer& b = *buffer(t);
  context_node* const outer = t.context;
  const bool was_running = b.since != 0;
  if (was_running) advance(b);
  const std::uint64_t outer_length = b.length;
  do {
    b.since = os::now_ns();
    b.length = 0;
    const std::uint64_t begin = b.since;
    t.context = task->context;
    task = task->run(task, t, t.is_cancelled(*task->context));
    advance(b);
    add(b.tasks, 1);
    if (wants_timeline()) b.write({begin, b.since, Kind::kTask, 0});
  } while (task != nullptr);
  b.length = outer_length;
  b.since = was_running ? b.since : 0;
  t.context = outer;
}

void ClockPause::begin() {
  TraceBuffer& b = *buffer(thread_);
  was_running_ = b.since != 0;
  if (was_running_) advance(b);
  begin_ = was_running_ ? b.since : os::now_ns();
  b.since = 0;
}

void ClockPause::end() {
  TraceBuffer& b = *buffer(thread_);
  const std::uint64_t now = os::now_ns();
  if (wants_timeline()) b.write({begin_, now, kind_, 0});
  b.since = was_running_ ? now : 0;
}

void note_fork(Thread& t) {
  if (t.trace == nullptr) return;
  TraceBuffer& b = *buffer(t);
  if (!b.begin_fork()) return;
  b.forks.back().outermost = begin_call(b);
  b.forks.back().length = detail::critical_path_length(t);
}

void Join::begin() { here_length_ = detail::critical_path_length(thread_); }

void Join::end() {
  TraceBuffer& b = *buffer(thread_);
  if (b.forks_lost != 0) {
    --b.forks_lost;
    return;
  }
  const PathClock::Fork fork = b.forks.back();
  b.forks.pop_back();
  advance(b);
  b.length = std::max(here_length_, fork.length + task_.length);  // the longer of two paths
  if (fork.outermost) end_call(b);
}

void note_steal(Thread& t, std::uint32_t victim) {
  TraceBuffer& b = *buffer(t);
  add(b.steals, 1);
  if (!wants_timeline()) return;
  const std::uint64_t now = os::now_ns();
  b.write({now, now, Kind::kSteal, victim});
}

void switch_clock(Thread& t, PathClock& here, PathClock& next) {
  if (t.trace == nullptr) return;
  TraceBuffer& b = *buffer(t);
  if (b.since != 0) advance(b);
  here = std::move(static_cast<PathClock&>(b));
  static_cast<PathClock&>(b) = std::move(next);
  if (b.since != 0) b.since = os::now_ns();
}

}  // namespace sched::trace

namespace detail {

std::uint64_t critical_path_length(thread_data& thread) noexcept {
  sched::trace::TraceBuffer& b = *static_cast<sched::trace::TraceBuffer*>(thread.trace);
  sched::trace::advance(b);
  return b.length;
}

}  // namespace detail
}  // namespace corbel
