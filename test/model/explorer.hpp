// SPDX-License-Identifier: Apache-2.0
// A model checker: it runs a small test of two or three threads until it has seen every execution
// that the memory model (memory.hpp) allows.
//
// The threads are coroutines that stop before each atomic operation. Two choices are open there:
// which thread continues, and with which outcome. A run follows a path of such choices. The next
// run takes the same path up to the last choice that has an alternative, and takes that alternative
// (stateless depth-first search). Many interleavings lead to the same execution. An execution is
// identified by what each thread has read and by the modification orders; an execution that was met
// before is not followed again.
//
// Tests must be deterministic apart from the choices, and their threads may share only the types of
// types.hpp (or results that do not depend on the order, such as a count).
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "memory.hpp"

namespace corbel::model {

// What the threads of one test do. The constructor sets the test up; no thread runs meanwhile.
class Test {
 public:
  virtual ~Test() = default;
  virtual void run(int thread) = 0;  // thread 0, 1, ...
  virtual void finish() {}           // when all threads have ended
};

enum class Op {
  kLoad,
  kStore,
  kExchange,
  kFetch,  // fetch_add, fetch_or ...
  kCompareExchange,
  kLock,  // of the model's own mutex
  kUnlock,
  kWait,  // on a futex
  kWake,  // wakes one sleeper, or all with the operand kAll
  kCompilerBarrier,
  kFence,           // of this thread only
  kProcessBarrier,  // membarrier(2)
  kNothing,         // for mutations: the step is left out
};

inline constexpr std::uint64_t kAll = 1;

// An operation that is about to be done. A mutation edits it. So a mutant runs the shipped source,
// except for one operation.
struct Step {
  int location;  // numbered in the order of construction, from 0; -1 is a fence
  Op op;
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure_order = std::memory_order_relaxed;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  bool weak = false;
  std::uint64_t (*update)(std::uint64_t value, std::uint64_t operand) = nullptr;
};

using Mutation = std::function<void(Step&)>;

struct Result {
  std::string failure;  // empty if every execution is correct
  std::string trace;    // of the execution that failed
  long runs = 0;
  long executions = 0;  // number of distinct ones that ran to the end
  long states = 0;      // number of distinct ones, complete or not
};

class Explorer {
 public:
  static Explorer& get() {
    static Explorer explorer;
    return explorer;
  }

  Result explore(int threads, const std::function<std::unique_ptr<Test>()>& make,
                 Mutation mutation = nullptr);

  // ---- for types.hpp ---------------------------------------------------------------------------
  int add_location(std::uint64_t initial) {
    const int location = memory_.add_location();
    futexes_.emplace_back();
    memory_.perform(current_, location, Outcome{.place = 0, .value = initial});
    ops_.push_back(Op::kStore);
    return location;
  }

  // Does the step when it is this thread's turn. Returns what was read, and whether the step wrote.
  struct Done {
    std::uint64_t value;
    bool wrote;
  };
  Done perform(Step step);

  // Whether the running thread has slept.
  bool has_slept() const { return threads_[std::size_t(current_)].has_slept; }

  // Ends the exploration. Returns only to the set-up and to finish().
  void fail(const std::string& what);

  // Detects data races: thread t knows of an access if t.knows(stamp of the access) later.
  struct Stamp {
    int thread = 0;
    int index = 0;
  };
  Stamp now() { return {current_, memory_.clock(current_)[std::size_t(current_)] + 1}; }
  bool knows(const Stamp& s) {
    return s.thread == current_ || memory_.clock(current_)[std::size_t(s.thread)] >= s.index;
  }

 private:
  static constexpr std::size_t kStackSize = 128 * 1024;
  // of the threads in one execution; one with more steps fails, since it has no end
  static constexpr std::size_t kMaxSteps = 600;
  static constexpr long kMaxRuns = 20'000'000;
  static constexpr int kMaxSpurious = 1;  // spurious failures of weak exchanges in one execution

  enum class Ended { kNo, kWhole, kSeenBefore, kFailed };

  struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
    int wants_mutex = -1;  // the location that it is about to lock
    int sleeps_on = -1;
    bool has_slept = false;
    std::uint64_t history = 0;  // hash of its events
  };

  struct Futex {
    int floor = -1;  // the newest write to the word that a caller knew of
    std::vector<std::uint64_t> calls;
  };

  struct Choice {
    int taken;
    int count;
  };

  static std::uint64_t mix(std::uint64_t hash, const Clock& clock) {
    for (int known : clock) hash = mix(hash, std::uint64_t(known));
    return hash;
  }
  static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 29);
  }

  static void enter();
  void end_test();
  void run_once(const std::function<std::unique_ptr<Test>()>& make);
  void leave(Ended how);
  void schedule();
  bool next_path();
  int choose(std::size_t count);
  Outcome choose_outcome(const Step& step);
  std::vector<Outcome> outcomes(const Step& step);
  Done perform_fence(Op op);
  void note_call(const Event& event);
  int wake(int location, bool all);
  void note_state();
  std::string describe(const Event& event, Op op) const;

  Memory memory_;
  std::vector<Op> ops_;  // of memory_.events(), for the trace
  std::vector<Futex> futexes_;
  std::vector<Thread> threads_;  // the first is the main thread
  int current_ = 0;
  int spurious_ = 0;
  std::size_t first_step_ = 0;  // of the threads, after those of the set-up
  Ended ended_ = Ended::kNo;
  std::unique_ptr<Test> test_;
  Mutation mutation_;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;  // choices of path_ taken so far
  std::unordered_set<std::uint64_t> seen_;
  Result result_;
};

}  // namespace corbel::model
