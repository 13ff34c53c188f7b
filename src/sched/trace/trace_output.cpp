// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/trace_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "os/os.hpp"
#include "sched/core/lock_ranks.hpp"
#include "sched/core/width.hpp"
#include "sched/trace/covered_time.hpp"
#include "sched/trace/notes.hpp"
#include "sync/lock.hpp"

namespace corbel::sched::trace {
namespace {

constinit bool on = false;
constinit std::FILE* timeline = nullptr;

// What the outermost calls of all threads cover.
struct Outermost {
  sync::Lock lock{kTrace};
  std::multiset<std::uint64_t> begins;  // of the paths of those that have not ended
  CoveredTime paths, calls;
  double capacity = 0;  // ns that all threads had during the calls
};
Outermost* outermost = nullptr;

struct Sums {
  std::uint64_t work = 0, tasks = 0, steals = 0, dropped = 0;
  unsigned threads = 0;

  // relaxed, all: the thread may still run; what it does from now on is not counted
  void add(const TraceBuffer& b) {
    work += b.work.load(std::memory_order_relaxed);
    tasks += b.taken_up.load(std::memory_order_relaxed);
    steals += b.steals.load(std::memory_order_relaxed);
    dropped += b.dropped.load(std::memory_order_relaxed);
    ++threads;
  }
};

// Under the lock: the buffers, and what is written.
constinit sync::Lock lock{kTrace};
constinit TraceBuffer* buffers = nullptr;  // of threads
constinit TraceBuffer* unused = nullptr;
constinit Sums ended;               // of threads
constinit bool is_written = false;  // the timeline

Sums add_up() {
  Sums s = ended;
  for (const TraceBuffer* b = buffers; b != nullptr; b = b->next) s.add(*b);
  return s;
}

double ms(std::uint64_t ns) { return double(ns) / 1e6; }

void print_summary() {
  Sums s;
  {
    sync::LockGuard guard(lock);
    s = add_up();
  }
  std::uint64_t span = 0, calls = 0;
  double capacity = 0;
  {
    sync::LockGuard guard(outermost->lock);
    span = outermost->paths.total();
    calls = outermost->calls.total();
    capacity = outermost->capacity;
  }
  const double parallelism = span == 0 ? 0 : double(s.work) / double(span);
  const double idle = capacity == 0 ? 0 : std::max(0.0, 1 - double(s.work) / capacity);
  std::fprintf(stderr,
               "corbel: %u threads of at most %u; work %.3f ms, span %.3f ms, parallelism %.2f; "
               "%" PRIu64 " tasks taken up, %" PRIu64
               " of them stolen; idle %.1f %% of %.3f ms in parallel calls\n",
               s.threads, thread_limit(), ms(s.work), ms(span), parallelism, s.tasks, s.steals,
               100 * idle, ms(calls));
}

// The JSON of Chrome's trace viewer, which Perfetto reads: "Trace Event Format", Google, 2016.
void write_events(const TraceBuffer& b, std::uint64_t origin) {
  std::fprintf(timeline,
               ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%u,"
               "\"args\":{\"name\":\"%s %u\"}}",
               b.number, b.is_worker ? "worker" : "thread", b.number);
  // (2) acquire: sees the events before (1) of TraceBuffer::write
  const std::size_t n = b.written.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) {
    const TraceBuffer::Event& e = b.events[i];
    const double begin = double(e.begin - origin) / 1000;
    if (e.kind == Kind::kSteal) {
      std::fprintf(timeline,
                   ",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":\"steal\",\"cat\":\"steal\",\"pid\":1,"
                   "\"tid\":%u,\"ts\":%.3f,\"args\":{\"from slot\":%u}}",
                   b.number, begin, e.victim);
      continue;
    }
    static constexpr const char* kNames[] = {"task", "wait", "idle"};
    const char* const name = kNames[std::size_t(e.kind)];
    std::fprintf(timeline,
                 ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":%u,"
                 "\"ts\":%.3f,\"dur\":%.3f}",
                 name, name, b.number, begin, double(e.end - e.begin) / 1000);
  }
}

constinit std::uint64_t origin = 0;

void begin_timeline() {
  std::fputs(
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":"
      "\"process_name\",\"pid\":1,\"args\":{\"name\":\"corbel\"}}",
      timeline);
  std::fflush(timeline);  // the child of a fork writes what it finds in the stream's buffer
}

void end_timeline() {
  sync::LockGuard guard(lock);
  for (const TraceBuffer* b = buffers; b != nullptr; b = b->next) write_events(*b, origin);
  is_written = true;
  std::fputs("\n]}\n", timeline);
  const std::uint64_t dropped = add_up().dropped;
  if (dropped != 0) {
    std::fprintf(stderr,
                 "corbel: CORBEL_TRACE: %" PRIu64
                 " events more than fit were left out of the timeline\n",
                 dropped);
  }
  if (std::fclose(timeline) != 0) {
    std::fprintf(stderr, "corbel: CORBEL_TRACE: the timeline is incomplete: %s\n",
                 std::strerror(errno));
  }
}

void at_exit() {
  if (!on) return;
  if (timeline != nullptr) {
    end_timeline();
  } else {
    print_summary();
  }
}

}  // namespace

bool is_on() { return on; }
bool wants_timeline() { return timeline != nullptr; }

bool set_up() {
  const char* const value = os::environment("CORBEL_TRACE");
  if (value == nullptr || *value == '\0') return false;
  if (std::strcmp(value, "summary") != 0) {
    timeline = std::fopen(value, "we");
    if (timeline == nullptr) {
      std::fprintf(stderr,
                   "corbel: CORBEL_TRACE=%s: cannot write that file (%s); set it to a file for a "
                   "timeline or to \"summary\"\n",
                   value, std::strerror(errno));
      return false;
    }
  }
  outermost = new (std::nothrow) Outermost;
  if (outermost == nullptr || !make_notes()) return false;
  on = true;
  origin = os::now_ns();
  if (timeline != nullptr) begin_timeline();
  std::atexit(at_exit);
  return true;
}

void stop() {
  on = false;
  end_notes();
}

void begin_outermost(std::uint64_t path_begin) noexcept {
  if (!on) return;
  sync::LockGuard guard(outermost->lock);
  try {
    outermost->begins.insert(path_begin);
  } catch (const std::bad_alloc&) {
    // then what it covers may count twice
  }
}

void end_outermost(std::uint64_t begin, std::uint64_t end, std::uint64_t path_begin,
                   std::uint64_t path_end) noexcept {
  if (!on) return;
  sync::LockGuard guard(outermost->lock);
  Outermost& o = *outermost;
  o.capacity += double(o.calls.add(begin, end)) * thread_limit();
  o.paths.add(path_begin, path_end);
  const auto found = o.begins.find(path_begin);
  if (found != o.begins.end()) o.begins.erase(found);
  const std::uint64_t oldest = o.begins.empty() ? end : *o.begins.begin();
  o.calls.forget_before(oldest);
  o.paths.forget_before(oldest);
}

TraceBuffer& take_buffer(bool is_worker) {
  static constinit unsigned last = 0;
  {
    sync::LockGuard guard(lock);
    if (unused == nullptr) {
      auto made = std::make_unique<TraceBuffer>();
      if (timeline != nullptr) made->events.reset(new TraceBuffer::Event[TraceBuffer::kMaxEvents]);
      unused = made.release();
    }
    TraceBuffer& b = *unused;
    unused = b.next;
    b.number = ++last;
    b.is_worker = is_worker;
    b.next = buffers;
    buffers = &b;
    return b;
  }
}

void give_back(TraceBuffer& b) {
  if (!on) return;  // the child of a fork: the buffer is what the parent had
  sync::LockGuard guard(lock);
  ended.add(b);
  if (timeline != nullptr && !is_written) {
    write_events(b, origin);
    std::fflush(timeline);
  }
  TraceBuffer** link = &buffers;
  while (*link != &b) link = &(*link)->next;
  *link = b.next;
  b.reset();
  b.next = unused;
  unused = &b;
}

sync::Lock& output_lock() { return lock; }

}  // namespace corbel::sched::trace
