// SPDX-License-Identifier: Apache-2.0
// The mutex (src/sync/mutex.hpp): one holder at a time, which sees what the last holder did, and no
// thread sleeps forever.
#include "sync/mutex.hpp"

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
template <int kSpins>
using UnderTest = sync::BasicMutex<Atomic, Kernel<kSpins>>;

// The same value as in the source.
constexpr std::uint64_t kWaitedFor = 1;

// The number of times that each thread takes the lock.
template <int kSpins = 1>
struct Sections : Test {
  explicit Sections(std::array<int, 3> times) : times(times) {}

  UnderTest<kSpins> mutex;  // its word is location 0
  const std::array<int, 3> times;
  bool checks_name = false;
  Var<int> sections;
  int done = 0;

  void run(int thread) override {
    for (int i = 0; i < times[std::size_t(thread)]; ++i) {
      // Without spins only the first thread tries: failed attempts would make too many executions.
      if ((kSpins == 0 && thread > 0) || !mutex.try_lock()) mutex.lock_contended();
      if (checks_name) check(mutex.is_held_by_self(), "the holder is not named");
      sections.set(sections.get() + 1);
      mutex.unlock();
      if (checks_name) check(!mutex.is_held_by_self(), "a thread without the lock is named");
      ++done;
    }
  }

  void finish() override {
    check(sections.get() == done, "a section is lost");
    check(mutex.try_lock(), "the lock is still held");
  }
};

// Each thread also looks whether it is named as the holder.
struct Names : Sections<0> {
  explicit Names(std::array<int, 3> times) : Sections(times) { checks_name = true; }
};

// One thread only tries.
struct Tries : Sections<> {
  Tries() : Sections({1, 1, 0}) {}

  void run(int thread) override {
    if (thread < 2) return Sections::run(thread);
    if (!mutex.try_lock()) return;
    sections.set(sections.get() + 1);
    mutex.unlock();
    ++done;
  }
};

using Times = std::array<int, 3>;

TEST(Mutex, TwoThreads) { EXPECT_SOUND((explore<Sections<>>(2, nullptr, Times{2, 2, 0}))); }
TEST(Mutex, ThreeThreads) { EXPECT_SOUND((explore<Sections<>>(3, nullptr, Times{1, 1, 1}))); }
TEST(Mutex, ThreeThreadsWithoutSpins) {
  EXPECT_SOUND((explore<Sections<0>>(3, nullptr, Times{1, 1, 1})));
}
TEST(Mutex, Names) { EXPECT_SOUND((explore<Names>(2, nullptr, Times{1, 1, 0}))); }
TEST(Mutex, TryLock) { EXPECT_SOUND((explore<Tries>(3, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(Op op, std::memory_order from, std::memory_order to) {
  return [=](Step& step) {
    if (step.op == op && step.order == from) step.order = to;
  };
}

TEST(MutexMutant, UnlockDoesNotRelease) {
  EXPECT_BROKEN((explore<Sections<>>(3, weaken(Op::kExchange, release, relaxed), Times{1, 1, 1})),
                "data race");
}

// Of the steps that take the lock, (3) leaves kWaitedFor in the word, (1) does not.
bool takes(const Step& step, bool in_slow_path) {
  return step.op == Op::kCompareExchange && ((step.operand & kWaitedFor) != 0) == in_slow_path;
}

TEST(MutexMutant, FastPathDoesNotAcquire) {
  const Mutation mutation = [](Step& step) {
    if (takes(step, false)) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<Sections<>>(3, mutation, Times{1, 1, 1})), "data race");
}

TEST(MutexMutant, SlowPathDoesNotAcquire) {
  const Mutation mutation = [](Step& step) {
    if (takes(step, true)) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<Sections<>>(3, mutation, Times{1, 1, 1})), "data race");
}

// A waiter sleeps without setting "waited for": the holder sees no reason to wake it.
TEST(MutexMutant, WaiterDoesNotAnnounceItself) {
  const Mutation quiet = [](Step& step) {
    if (step.op == Op::kFetch) step.operand = 0;
    if (step.op == Op::kWait || takes(step, true)) step.expected &= ~kWaitedFor;
  };
  EXPECT_BROKEN((explore<Sections<>>(2, quiet, Times{1, 1, 0})), "deadlock");
}

// Like the last one, but the waiter still sleeps only if the word says "waited for". No thread
// sleeps: the waiter spins.
TEST(MutexMutant, WaiterDoesNotSleep) {
  const Mutation restless = [](Step& step) {
    if (step.op == Op::kFetch) step.operand = 0;
  };
  EXPECT_BROKEN((explore<Sections<>>(2, restless, Times{1, 1, 0})), "no end");
}

// A woken waiter takes the lock without "waited for": the next sleeper is forgotten. The fault
// shows only with three threads.
TEST(MutexMutant, WokenWaiterForgetsTheOthers) {
  const Mutation forgetful = [](Step& step) {
    if (takes(step, true) && Explorer::get().has_slept()) step.operand &= ~kWaitedFor;
  };
  EXPECT_BROKEN((explore<Sections<>>(3, forgetful, Times{1, 1, 1})), "deadlock");
}

}  // namespace
}  // namespace corbel::model
