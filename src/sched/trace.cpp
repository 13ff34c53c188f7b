// SPDX-License-Identifier: Apache-2.0
#include "sched/trace.hpp"

#include <corbel/detail/trace.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "os/os.hpp"
#include "sched/trace_output.hpp"

namespace corbel {
namespace sched::trace {

namespace {

// relaxed: only the thread itself adds, and who reads at exit takes what there is
void add(std::atomic<std::uint64_t>& sum, std::uint64_t n) {
  sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// Brings the strand up to this moment.
void advance(Book& b) {
  const std::uint64_t now = os::now_ns();
  if (b.since != 0) {
    b.length += now - b.since;
    add(b.work, now - b.since);
  }
  b.since = now;
}

// Around a parallel call. Whether it is the outermost one of a thread of the program, which begins
// a strand.
bool begin_call(Book& b) {
  if (b.since != 0) return false;
  b.length = 0;
  b.since = b.call_begin = os::now_ns();
  return true;
}

void end_call(Book& b) {
  advance(b);
  add(b.span, b.length);
  add(b.calls, b.since - b.call_begin);
  b.since = 0;
}

}  // namespace

void Book::write(const Event& event) {
  const std::size_t n =
      written.load(std::memory_order_relaxed);  // relaxed: only this thread writes
  if (n == kMost) return add(dropped, 1);
  events[n] = event;
  written.store(n + 1, std::memory_order_release);  // release: the event, with the reader's acquire
}

void begin_thread(Thread& t) {
  t.trace = nullptr;
  if (!is_on()) return;
  auto book = std::make_unique<Book>();
  if (wants_timeline()) book->events.reset(new Book::Event[Book::kMost]);
  book->is_own = t.is_own;
  t.trace = book.get();
  publish(*book.release());
}

void run_task(Thread& t, task_base* task) {
  Book& b = *book(t);
  context_node* const outer = t.context;
  const bool in_strand = b.since != 0;
  if (in_strand) advance(b);
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
  b.since = in_strand ? b.since : 0;
  t.context = outer;
}

void Rest::begin() {
  Book& b = *book(thread_);
  in_strand_ = b.since != 0;
  if (in_strand_) advance(b);
  begin_ = in_strand_ ? b.since : os::now_ns();
  b.since = 0;
}

void Rest::end() {
  Book& b = *book(thread_);
  const std::uint64_t now = os::now_ns();
  if (wants_timeline()) b.write({begin_, now, kind_, 0});
  b.since = in_strand_ ? now : 0;
}

bool Strand::begin_fork() noexcept {
  if (forks_lost == 0) {
    try {
      forks.emplace_back();
      return true;
    } catch (const std::bad_alloc&) {
      // as those within it
    }
  }
  ++forks_lost;
  return false;
}

void note_fork(Thread& t) {
  if (t.trace == nullptr) return;
  Book& b = *book(t);
  if (!b.begin_fork()) return;
  b.forks.back().outermost = begin_call(b);
  b.forks.back().length = detail::strand_length(t);
}

void Join::begin() { here_length_ = detail::strand_length(thread_); }

void Join::end() {
  Book& b = *book(thread_);
  if (b.forks_lost != 0) {
    --b.forks_lost;
    return;
  }
  const Strand::Fork fork = b.forks.back();
  b.forks.pop_back();
  advance(b);
  b.length = std::max(here_length_, fork.length + task_.length);  // two paths meet
  if (fork.outermost) end_call(b);
}

void note_steal(Thread& t, std::uint32_t victim) {
  Book& b = *book(t);
  add(b.steals, 1);
  if (!wants_timeline()) return;
  const std::uint64_t now = os::now_ns();
  b.write({now, now, Kind::kSteal, victim});
}

// Time passes only for the stack that the thread is on.
void switch_strand(Thread& t, Strand& here, Strand& next) {
  if (t.trace == nullptr) return;
  Book& b = *book(t);
  if (b.since != 0) advance(b);
  here = std::move(static_cast<Strand&>(b));
  static_cast<Strand&>(b) = std::move(next);
  if (b.since != 0) b.since = os::now_ns();
}

}  // namespace sched::trace

namespace detail {

std::uint64_t strand_length(worker& w) noexcept {
  sched::trace::Book& b = *static_cast<sched::trace::Book*>(w.trace);
  sched::trace::advance(b);
  return b.length;
}

}  // namespace detail
}  // namespace corbel
