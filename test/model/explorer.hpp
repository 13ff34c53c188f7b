// SPDX-License-Identifier: Apache-2.0
// A model checker: runs a small test of two or three threads again and again until every execution
// that the memory model (memory.hpp) allows has been seen.
//
// The threads are coroutines that stop before each atomic operation. Two things are open there: who
// goes on, and with which outcome. A run follows a path of such choices; the next run takes the
// same path up to the last choice with an alternative left, and that one (stateless depth-first
// search). Many orders of steps lead to the same execution, though: an execution is told by what
// each thread has read and by the modification orders, and one met before is not followed again.
//
// This needs tests that are deterministic but for the choices, and whose threads share nothing but
// the types of types.hpp (or what comes out the same in any order, like a count).
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "memory.hpp"

namespace corbel::model {

// What the threads of one test do. The constructor sets it up; nothing runs beside it.
class Test {
 public:
  virtual ~Test() = default;
  virtual void run(int thread) = 0;  // thread 0, 1, ...
  virtual void finish() {}           // when all have ended
};

enum class Op {
  kLoad,
  kStore,
  kExchange,
  kFetch,  // fetch_add and the like
  kCompareExchange,
  kLock,  // of the model's own mutex
  kUnlock,
  kWait,  // of a futex
  kWake,  // one sleeper, or with the operand kAll every one
  kCompilerBarrier,
  kFence,           // of this thread alone
  kProcessBarrier,  // membarrier(2)
  kNothing,         // for mutations
};

inline constexpr std::uint64_t kAll = 1;

// An operation about to be done. A mutation edits it, so that what runs is the shipped source but
// for the one operation that the mutant is about.
struct Step {
  int location;  // in the order of construction, from 0; -1: a fence
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
  std::string failure;  // empty when every execution is good
  std::string trace;    // of the failed one
  long runs = 0;
  long executions = 0;  // different ones, run to their end
  long states = 0;      // different ones, ended or not
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

  // Does the step, once it is this thread's turn. What was read, and whether anything was written.
  struct Done {
    std::uint64_t value;
    bool wrote;
  };
  Done perform(Step step);

  // Whether the running thread has slept.
  bool has_slept() const { return threads_[std::size_t(current_)].has_slept; }

  // Ends the exploration; does not return unless called from the set-up or finish().
  void fail(const std::string& what);

  // For the detection of data races: an access now is known to thread t later on if
  // t.knows(stamp of the access).
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
  static constexpr int kMaxSteps = 100;  // of one execution: more means it has no end
  static constexpr long kMaxRuns = 20'000'000;
  static constexpr int kMaxSpurious = 1;  // spurious failures of weak exchanges, in one execution

  enum class Ended { kNo, kWhole, kSeenBefore, kFailed };

  struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
    int wants_mutex = -1;  // stands before locking this location
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
  Ended ended_ = Ended::kNo;
  std::unique_ptr<Test> test_;
  Mutation mutation_;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;  // choices of path_ taken so far
  std::unordered_set<std::uint64_t> seen_;
  Result result_;
};

}  // namespace corbel::model
