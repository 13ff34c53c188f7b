// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/trace.hpp"

#include <algorithm>

#include "os/os.hpp"
#include "sched/trace/notes.hpp"
#include "sched/trace/trace_output.hpp"

namespace corbel {
namespace sched::trace {

namespace {

constinit std::atomic<std::uint64_t> never_current{context_node::kNeverCurrent};

// Brings the path clock up to this moment.
void advance(TraceBuffer& b) {
  if (b.since == 0) return;
  const std::uint64_t now = os::now_ns();
  b.length += now - b.since;
  add(b.work, now - b.since);
  b.since = now;
}

// Starts the clock if the thread is in no task and no parallel call.
void begin_call(TraceBuffer& b) {
  if (b.tasks != 0 || b.call_begin != 0 || b.is_worker) return;
  b.call_begin = b.length = b.since = os::now_ns();
  begin_outermost(b.call_begin);
}

// begin_part and end_part enclose a call, a fork or a wait. The outermost of them ends the call.
void begin_part(TraceBuffer& b) {
  begin_call(b);
  ++b.open;
}

void end_call(TraceBuffer& b) {
  if (b.open != 0 || b.tasks != 0 || b.call_begin == 0) return;
  advance(b);
  end_outermost(b.call_begin, b.since, b.call_begin, b.length);
  if (wants_timeline()) b.write({b.call_begin, b.since, Kind::kCall});
  b.call_begin = b.since = 0;
}

void end_part(TraceBuffer& b) {
  --b.open;
  end_call(b);
}

void end_one_chunk(TraceBuffer& b) {
  advance(b);
  b.chunks->longest = std::max(b.chunks->longest, b.length);
  b.length = b.chunks->begin;
}

TraceBuffer& buffer_of(const detail::thread_data& thread) {
  return *static_cast<TraceBuffer*>(thread.trace);
}

}  // namespace

void begin_thread(Thread& t) {
  t.trace = nullptr;
  if (!is_on()) return;
  t.trace = &take_buffer(t.is_worker);
  t.cancellations = &never_current;
  t.has_suspended_stacks = true;
}

void end_thread(Thread& t) {
  if (t.trace == nullptr) return;
  TraceBuffer& b = *buffer(t);
  // The program may have ended the thread inside tasks and calls.
  b.open = b.tasks = 0;
  end_call(b);
  t.trace = nullptr;
  give_back(b);
}

void run_task(Thread& t, task_base* task) {
  TraceBuffer& b = *buffer(t);
  context_node* const outer = t.context;
  const bool was_running = b.since != 0;
  advance(b);
  const std::uint64_t outer_length = b.length;
  detail::chunk_frame* const outer_chunks = b.chunks;
  b.chunks = nullptr;
  ++b.tasks;
  // A task that no thread pushed begins here.
  if (!was_running && b.call_begin == 0 && b.tasks == 1) b.length = os::now_ns();
  std::uint64_t outermost = 0;
  std::uint64_t path_begin = 0;
  do {
    PushNote note;
    const bool was_pushed = is_on() && take_push(*task, &note);
    const std::uint64_t begin = b.since = os::now_ns();
    add(b.taken_up, 1);
    if (was_pushed) {
      b.length = note.length;
      if (note.by != b.number) {
        add(b.steals, 1);
        if (wants_timeline()) b.write({note.at, begin, Kind::kSteal, note.by});
      }
      if (note.outermost != 0) {
        outermost = note.outermost;
        path_begin = note.length;
      }
    }
    // The ends of the tasks before it in an order.
    if (is_on()) b.length = std::max(b.length, take_end(task));
    t.context = task->context;
    const auto function = reinterpret_cast<const void*>(task->run);
    task = task->run(task, t, t.is_cancelled(*task->context));
    advance(b);
    if (wants_timeline()) b.write({begin, b.since, Kind::kTask, 0, function});
    if (outermost != 0 && task == nullptr) end_outermost(outermost, b.since, path_begin, b.length);
  } while (task != nullptr);
  --b.tasks;
  b.chunks = outer_chunks;
  b.length = outer_length;
  b.since = was_running ? b.since : 0;
  t.context = outer;
}

void ClockPause::begin() {
  TraceBuffer& b = *buffer(thread_);
  was_running_ = b.since != 0;
  advance(b);
  begin_ = was_running_ ? b.since : os::now_ns();
  b.since = 0;
}

void ClockPause::end() {
  TraceBuffer& b = *buffer(thread_);
  const std::uint64_t now = os::now_ns();
  if (wants_timeline()) b.write({begin_, now, kind_});
  b.since = was_running_ ? now : 0;
}

void note_push(Thread& t) {
  if (!is_on()) return;
  TraceBuffer& b = *buffer(t);
  const bool is_outermost = b.tasks == 0 && b.open == 0 && !b.is_worker;
  begin_call(b);
  advance(b);
  const std::uint64_t now = b.since != 0 ? b.since : os::now_ns();
  const std::uint64_t length = b.since != 0 ? b.length : now;
  if (is_outermost) begin_outermost(length);
  trace::note_push(*t.tasks->newest(), {length, b.number, is_outermost ? now : 0, now});
}

void note_queued(const task_base& task, bool is_awaited) {
  if (!is_on()) return;
  const Thread* const t = Thread::current_or_null();
  TraceBuffer* const b = t == nullptr ? nullptr : buffer(*t);
  const std::uint64_t now = os::now_ns();
  if (b != nullptr) advance(*b);
  const std::uint64_t length = b != nullptr && b->since != 0 ? b->length : now;
  if (!is_awaited) begin_outermost(length);
  trace::note_push(task, {length, b != nullptr ? b->number : 0, is_awaited ? 0 : now, now});
}

void note_fork(Thread& t) {
  if (t.trace != nullptr) begin_part(*buffer(t));
}

void Join::begin() { here_length_ = detail::critical_path_length(thread_); }

void Join::end() {
  TraceBuffer& b = *buffer(thread_);
  advance(b);
  b.length = std::max(here_length_, task_.length);  // the longer of two paths
  end_part(b);
}

void note_steal(const task_base& task) {
  if (is_on()) await_push(task);
}

void switch_clock(Thread& t, PathClock& here, PathClock& next) {
  if (t.trace == nullptr) return;
  TraceBuffer& b = *buffer(t);
  advance(b);
  here = static_cast<PathClock&>(b);
  static_cast<PathClock&>(b) = next;
  if (b.since != 0) b.since = os::now_ns();
}

}  // namespace sched::trace

namespace detail {

using sched::trace::advance;
using sched::trace::begin_part;
using sched::trace::buffer_of;
using sched::trace::end_one_chunk;
using sched::trace::end_part;
using sched::trace::is_on;
using sched::trace::TraceBuffer;

std::uint64_t critical_path_length(thread_data& thread) noexcept {
  TraceBuffer& b = buffer_of(thread);
  advance(b);
  return b.length;
}

void set_path_length(thread_data& thread, std::uint64_t length) noexcept {
  TraceBuffer& b = buffer_of(thread);
  advance(b);
  b.length = length;
}

void begin_traced_call(thread_data& thread) noexcept { begin_part(buffer_of(thread)); }
void end_traced_call(thread_data& thread) noexcept { end_part(buffer_of(thread)); }

void begin_chunks(thread_data& thread, chunk_frame& chunks) noexcept {
  TraceBuffer& b = buffer_of(thread);
  advance(b);
  chunks.outer = b.chunks;
  chunks.begin = chunks.longest = b.length;
  b.chunks = &chunks;
}

bool end_chunk(thread_data& thread, context_node& group) noexcept {
  if (thread.trace != nullptr) {
    TraceBuffer& b = buffer_of(thread);
    if (b.chunks != nullptr) end_one_chunk(b);
  }
  return find_cancelled(group);
}

void end_chunks(thread_data& thread, chunk_frame& chunks) noexcept {
  TraceBuffer& b = buffer_of(thread);
  end_one_chunk(b);
  b.length = chunks.longest;
  b.chunks = chunks.outer;
}

void record_end(thread_data& thread, const void* key) noexcept {
  if (is_on()) sched::trace::note_end(key, critical_path_length(thread));
}

void join_ends(thread_data& thread, const void* key) noexcept {
  if (!is_on()) return;
  TraceBuffer& b = buffer_of(thread);
  advance(b);
  b.length = std::max(b.length, sched::trace::take_end(key));
}

void record_end_of_chunks(thread_data& thread, const void* key) noexcept {
  TraceBuffer& b = buffer_of(thread);
  if (b.chunks != nullptr) {
    end_one_chunk(b);
    b.length = b.chunks->begin = b.chunks->longest;
  }
  record_end(thread, key);
}

void begin_traced_loop(thread_data& thread, chunk_frame& chunks) noexcept {
  begin_traced_call(thread);
  begin_chunks(thread, chunks);
}

void end_traced_loop(thread_data& thread, chunk_frame& chunks, const void* key) noexcept {
  end_chunks(thread, chunks);
  join_ends(thread, key);
  end_traced_call(thread);
}

void forget_push(thread_data&, const task_base& task) noexcept {
  sched::trace::PushNote note;
  if (is_on()) sched::trace::take_push(task, &note);
}

}  // namespace detail
}  // namespace corbel
