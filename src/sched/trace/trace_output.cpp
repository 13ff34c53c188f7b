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

struct Summary {
  Sums sums;
  std::uint64_t span = 0, calls = 0;
  double capacity = 0;

  double idle() const {  // a share
    return capacity == 0 ? 0 : std::max(0.0, 1 - double(sums.work) / capacity);
  }
  double parallelism() const { return span == 0 ? 0 : double(sums.work) / double(span); }
};

// What the calls of all threads cover; `sums` is to be added. Not under the lock.
Summary summarize_calls() {
  Summary s;
  sync::LockGuard guard(outermost->lock);
  s.span = outermost->paths.total();
  s.calls = outermost->calls.total();
  s.capacity = outermost->capacity;
  return s;
}

void print_summary() {
  Summary s = summarize_calls();
  {
    sync::LockGuard guard(lock);
    s.sums = add_up();
  }
  std::fprintf(stderr,
               "corbel: %u threads of at most %u; work %.3f ms, span %.3f ms, parallelism %.2f; "
               "%" PRIu64 " tasks taken up, %" PRIu64
               " of them stolen; idle %.1f %% of %.3f ms in parallel calls\n",
               s.sums.threads, thread_limit(), ms(s.sums.work), ms(s.span), s.parallelism(),
               s.sums.tasks, s.sums.steals, 100 * s.idle(), ms(s.calls));
}

// The functions that ran tasks, and the number of steals, in what is written of the timeline.
// Under the lock.
std::set<const void*>* functions = nullptr;
constinit std::uint64_t steals_written = 0;

// Micros with three digits: the viewers' unit.
double micros(std::uint64_t ns) { return double(ns) / 1000; }

// A steal, as an arrow from the thread that pushed the task to the one that runs it.
void write_steal(const TraceBuffer& b, const TraceBuffer::Event& e, std::uint64_t origin) {
  std::fprintf(timeline,
               ",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":\"steal\",\"cat\":\"steal\",\"pid\":1,"
               "\"tid\":%u,\"ts\":%.3f,\"args\":{\"from\":%u,\"pushed\":%.3f}}",
               b.number, micros(e.end - origin), e.from, micros(e.begin - origin));
  if (e.from == 0) return;  // a thread without a row
  const std::uint64_t id = ++steals_written;
  for (const bool ends : {false, true}) {
    std::fprintf(timeline,
                 ",\n{\"ph\":\"%s\",\"name\":\"steal\",\"cat\":\"steal\",\"id\":%" PRIu64
                 ",\"pid\":1,\"tid\":%u,\"ts\":%.3f}",
                 ends ? "f\",\"bp\":\"e" : "s", id, ends ? b.number : e.from,
                 micros((ends ? e.end : e.begin) - origin));
  }
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
    if (e.kind == Kind::kSteal) {
      write_steal(b, e, origin);
      continue;
    }
    static constexpr const char* kNames[] = {"task", "wait", "idle", "steal", "call"};
    const char* const name = kNames[std::size_t(e.kind)];
    std::fprintf(timeline,
                 ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":%u,"
                 "\"ts\":%.3f,\"dur\":%.3f",
                 name, name, b.number, micros(e.begin - origin), micros(e.end - e.begin));
    if (e.function != nullptr) {
      std::fprintf(timeline, ",\"args\":{\"run\":\"%p\"}", e.function);
      try {
        functions->insert(e.function);
      } catch (const std::bad_alloc&) {
        // then it has no name
      }
    }
    std::fputc('}', timeline);
  }
}

// Text between quotation marks.
void write_text(const char* text) {
  for (; *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') std::fputc('\\', timeline);
    if (c < ' ') {
      std::fprintf(timeline, "\\u%04x", c);
    } else {
      std::fputc(c, timeline);
    }
  }
}

// Where the functions are, for tools that look their names up.
void write_functions() {
  std::fputs(",\"functions\":[", timeline);
  const char* separator = "\n";
  for (const void* function : *functions) {
    char path[4096];
    std::uintptr_t base = 0;
    if (!os::find_module(function, path, sizeof path, &base)) continue;
    std::fprintf(timeline, "%s{\"run\":\"%p\",\"offset\":\"%#" PRIxPTR "\",\"file\":\"", separator,
                 function, reinterpret_cast<std::uintptr_t>(function) - base);
    write_text(path);
    std::fputs("\"}", timeline);
    separator = ",\n";
  }
  std::fputs("]", timeline);
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
  Summary s = summarize_calls();
  sync::LockGuard guard(lock);
  for (const TraceBuffer* b = buffers; b != nullptr; b = b->next) write_events(*b, origin);
  is_written = true;
  s.sums = add_up();
  const std::uint64_t dropped = s.sums.dropped;
  std::fprintf(timeline,
               "\n],\"otherData\":{\"corbel\":1,\"threads\":%u,\"limit\":%u,\"work_ns\":%" PRIu64
               ",\"span_ns\":%" PRIu64 ",\"calls_ns\":%" PRIu64 ",\"tasks\":%" PRIu64
               ",\"stolen\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"idle\":%.4f",
               s.sums.threads, thread_limit(), s.sums.work, s.span, s.calls, s.sums.tasks,
               s.sums.steals, dropped, s.idle());
  write_functions();
  std::fputs("}}\n", timeline);
  if (dropped != 0) {
    std::fprintf(stderr,
                 "corbel: CORBEL_TRACE: %" PRIu64
                 " events more than fit were left out of the timeline\n",
                 dropped);
  }
  // A write that failed earlier has left its mark, but not its reason.
  errno = 0;
  const bool failed = std::ferror(timeline) != 0;
  if (std::fclose(timeline) != 0 || failed) {
    std::fprintf(stderr, "corbel: CORBEL_TRACE: the timeline is incomplete: %s\n",
                 errno != 0 ? std::strerror(errno) : "a write failed");
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
  const std::size_t length = std::strlen(value);
  if (length > 5 && std::strcmp(value + length - 5, ".html") == 0) {
    std::fprintf(stderr,
                 "corbel: CORBEL_TRACE=%s: the library writes JSON; for a page: "
                 "corbel trace -o %s -- PROGRAM\n",
                 value, value);
    return false;
  }
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
  functions = new (std::nothrow) std::set<const void*>;
  if (outermost == nullptr || functions == nullptr || !make_notes()) return false;
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
