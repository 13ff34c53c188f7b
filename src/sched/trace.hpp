// SPDX-License-Identifier: Apache-2.0
// CORBEL_TRACE: a timeline of what the threads did, or a summary of it at exit.
//
// Each thread writes into a book of its own. Where tracing is on, the bells always ring, so that
// every fork takes the path on which strands are measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <corbel/detail/fork.hpp>

#include "sched/thread.hpp"

namespace corbel::sched::trace {

enum class Kind : std::uint8_t { kTask, kWait, kIdle, kSteal };

// Where the code on one stack of a thread is.
struct Strand {
  // The current strand; `since` is 0 while the thread is in none.
  std::uint64_t length = 0;
  std::uint64_t since = 0;
  std::uint64_t call_begin = 0;  // of the outermost call

  // How long the strand was at each fork that is not joined yet.
  struct Fork {
    std::uint64_t length = 0;
    bool outermost = false;
  };
  std::vector<Fork> forks;
  std::size_t forks_lost = 0;  // within these: those for which there was no memory

  bool begin_fork() noexcept;  // false: it is lost
};

// What one thread writes down.
struct Book : Strand {
  struct Event {
    std::uint64_t begin;  // ns
    std::uint64_t end;
    Kind kind;
    std::uint32_t victim;  // of a steal
  };

  void write(const Event& event);

  // Sums, in ns and events. Other threads read them at exit.
  std::atomic<std::uint64_t> work{0};
  std::atomic<std::uint64_t> span{0};   // of the outermost calls
  std::atomic<std::uint64_t> calls{0};  // elapsed time of the outermost calls
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> steals{0};
  std::atomic<std::uint64_t> dropped{0};

  // Grown only by the thread; the first `written` may be read by others. Never moved.
  static constexpr std::size_t kMost = 1 << 18;
  std::unique_ptr<Event[]> events;
  std::atomic<std::size_t> written{0};

  unsigned number = 0;
  bool is_own = false;
  Book* next = nullptr;
};

// Reads CORBEL_TRACE; whether something is to be traced. Once, before the first thread begins.
bool set_up();

// In the child of a fork: the timeline is the parent's.
void stop();

// A book for the thread if tracing is on.
void begin_thread(Thread& t);

inline Book* book(const Thread& t) { return static_cast<Book*>(t.trace); }

// Runs tasks as run_task does, in a traced thread.
void run_task(Thread& t, task_base* task);

// While a thread is in a wait, or looks for work in an arena: its strand rests. Costs a test of a
// pointer where tracing is off.
class Rest {
 public:
  Rest(Thread& t, Kind kind) : thread_(t), kind_(kind) {
    if (t.trace != nullptr) begin();
  }
  ~Rest() {
    if (thread_.trace != nullptr) end();
  }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;

 private:
  void begin();
  void end();

  Thread& thread_;
  const Kind kind_;
  std::uint64_t begin_ = 0;
  bool in_strand_ = false;
};

// Forks and joins come in pairs, the last fork is joined first; costs a test where tracing is off.
void note_fork(Thread& t);

// From the end of the first function of a fork to the join.
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

void note_steal(Thread& t, std::uint32_t victim);

// The thread leaves one stack for another.
void switch_strand(Thread& t, Strand& here, Strand& next);

}  // namespace corbel::sched::trace
