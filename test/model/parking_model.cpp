// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking (src/sched/parking.hpp): nobody sleeps for ever while there is work that it
// could run, or when what it waits for has ended. A lost wake-up shows as a deadlock.
#include "sched/parking.hpp"

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct ParkingSystem : Kernel<0> {
  using Lock = Mutex;
  // Where the system has no process barrier it is a fence of the caller, and so is what everybody
  // does before a look at the bell.
  static inline bool slow;
  static void process_barrier() { slow ? model::fence() : model::process_barrier(); }
  static void barrier_of_pusher() { slow ? model::fence() : model::compiler_barrier(); }
};

struct Sleeper {
  sched::BasicBed<Sleeper, Atomic> bed;
};

using Beds = sched::BasicBeds<Sleeper, Atomic, ParkingSystem>;
using Bell = sched::BasicBell<Atomic, ParkingSystem>;

// The locations: what Parking begins with.
constexpr int kBell = 0;
constexpr int kWaiting = 3;

// An arena with two tasks at most, each in a word of its own, and nothing else.
struct Parking : Test {
  Bell bell;                         // locations 0 and 1
  Beds beds;                         // locations 2 (the lock) and 3
  std::array<Atomic<int>, 2> tasks;  // 1: there, 2: taken
  Atomic<int> ended{0};
  std::array<Var<int>, 2> contents;
  std::array<Sleeper, 3> sleepers;
  bool ringer_gives_up = false;  // a mutant

  explicit Parking(bool slow) { ParkingSystem::slow = slow; }

  bool has_work() const { return tasks[0].load(relaxed) == 1 || tasks[1].load(relaxed) == 1; }

  // As Arena::ring, where there are no more threads to ask for.
  void ring() {
    if (beds.wake_first([this](const Sleeper&) { return has_work(); })) return;
    if (!has_work() && !ringer_gives_up) pass_on();
  }
  void pass_on() {
    bell.pass_on(true, [this] { return has_work(); }, [this] { ring(); });
  }

  // As spawn() of task.hpp and ring() of dispatch.cpp.
  void push(std::size_t task) {
    contents[task].set(1);
    tasks[task].store(1, release);
    ParkingSystem::barrier_of_pusher();
    if (bell.word().load(relaxed) != 0 && bell.take()) ring();
  }

  bool take() {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      int there = 1;
      if (tasks[i].load(relaxed) == 1 &&
          tasks[i].compare_exchange_strong(there, 2, acquire, relaxed)) {
        contents[i].get();
        return true;
      }
    }
    return false;
  }

  // As Wait::run, of a thread that waits until it has got one task. One that sleeps has announced
  // itself before the test began.
  enum Begin { kAwake, kAsleep };
  void get_one(Sleeper& self, Begin begin = kAwake, bool passes_on = true) {
    bool woken = false;
    if (begin == kAsleep) {
      beds.sleep(self);
      bell.wake_up();
      woken = true;
    }
    while (!take()) {
      woken = bell.sleep(beds, self, nullptr, false, [this] { return has_work(); });
    }
    if (woken && passes_on) pass_on();
  }
  void announce(Sleeper& self) { bell.announce(beds, self, nullptr, false); }

  // As notify_waiters() of task.hpp.
  void end() {
    contents[0].set(2);
    ended.store(1, release);
    ParkingSystem::barrier_of_pusher();
    if (beds.waiting().load(relaxed) != 0) beds.wake(&ended);
  }

  void wait_for_end(Sleeper& self) {
    const auto has_ended = [this] { return ended.load(acquire) == 1; };
    while (!has_ended()) bell.sleep(beds, self, &ended, false, has_ended);
    check(contents[0].get() == 2, "not what was waited for");
  }
};

struct PushAndSleep : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) {
      push(0);
    } else {
      get_one(sleepers[0]);
    }
  }
};

struct EndAndSleep : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) {
      end();
    } else {
      wait_for_end(sleepers[0]);
    }
  }
};

// One thread pushes two tasks, for each of which there is a sleeper.
struct TwoSleepers : Parking {
  TwoSleepers(bool slow, bool passes_on) : Parking(slow), passes_on(passes_on) {
    announce(sleepers[1]);
    announce(sleepers[2]);
  }
  const bool passes_on;
  void run(int thread) override {
    if (thread == 0) {
      push(0);
      push(1);
    } else {
      get_one(sleepers[std::size_t(thread)], kAsleep, passes_on);
    }
  }
};

// Who has got one task sleeps again for the next.
struct SleepsTwice : Parking {
  explicit SleepsTwice(bool slow, bool gives_up = false) : Parking(slow) {
    ringer_gives_up = gives_up;
  }
  void run(int thread) override {
    if (thread == 0) {
      push(0);
      push(1);
    } else {
      get_one(sleepers[0]);
      get_one(sleepers[0]);
    }
  }
};

// A thread that sets the bell when it has looked already.
struct LooksFirst : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) return push(0);
    Sleeper& self = sleepers[0];
    while (!take()) {
      beds.announce(self, nullptr);
      ParkingSystem::process_barrier();
      const bool found = has_work();
      bell.set();
      if (found) {
        beds.withdraw(self);
      } else {
        beds.sleep(self);
      }
    }
  }
};

class ParkingModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Model, ParkingModel, testing::Bool(), [](const auto& info) {
  return info.param ? "FencesOfAll" : "FencesOfTheSleeper";
});

TEST_P(ParkingModel, PushAndSleep) { EXPECT_SOUND(explore<PushAndSleep>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, EndAndSleep) { EXPECT_SOUND(explore<EndAndSleep>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, SleepsTwice) { EXPECT_SOUND(explore<SleepsTwice>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, TwoSleepers) {
  EXPECT_SOUND((explore<TwoSleepers>(3, nullptr, GetParam(), true)));
}

// ---- mutants: each must fail -----------------------------------------------------------------

constexpr const char* kLost = "deadlock";

Mutation leave_out(Op op) {
  return [=](Step& step) {
    if (step.op == op) step.op = Op::kNothing;
  };
}

TEST_P(ParkingModel, MutantSleeperWithoutBarrier) {
  const Mutation weak = leave_out(GetParam() ? Op::kFence : Op::kProcessBarrier);
  EXPECT_BROKEN(explore<PushAndSleep>(2, weak, GetParam()), kLost);
  EXPECT_BROKEN(explore<EndAndSleep>(2, weak, GetParam()), kLost);
}

TEST(ParkingMutant, CompilerMovesTheLoadOfTheBellUp) {
  EXPECT_BROKEN(explore<PushAndSleep>(2, leave_out(Op::kCompilerBarrier), false), kLost);
  EXPECT_BROKEN((explore<EndAndSleep>(2, leave_out(Op::kCompilerBarrier), false)), kLost);
}

// The bell is never set, or the count of those who wait.
TEST_P(ParkingModel, MutantSleeperThatDoesNotSaySo) {
  const Mutation quiet = [](Step& step) {
    if (step.location == kBell && step.op == Op::kStore) step.op = Op::kNothing;
    if (step.location == kWaiting && step.op == Op::kFetch) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(explore<PushAndSleep>(2, quiet, GetParam()), kLost);
  EXPECT_BROKEN(explore<EndAndSleep>(2, quiet, GetParam()), kLost);
}

// The bell set behind the look, that is, when it is too late.
TEST_P(ParkingModel, MutantBellSetBehindTheLook) {
  EXPECT_BROKEN(explore<LooksFirst>(2, nullptr, GetParam()), kLost);
}

TEST_P(ParkingModel, MutantWokenThreadThatDoesNotPassOn) {
  EXPECT_BROKEN((explore<TwoSleepers>(3, nullptr, GetParam(), false)), kLost);
}

// Who rings does not know that somebody sleeps who has set the bell.
TEST_P(ParkingModel, MutantBellThatPublishesNothing) {
  const Mutation weak = [](Step& step) {
    if (step.location == kBell) step.order = relaxed;
  };
  EXPECT_BROKEN(explore<SleepsTwice>(2, weak, GetParam()), kLost);
}

// The task for which the bell rang has been taken by a thread that was not woken for it.
TEST_P(ParkingModel, MutantRingerThatGivesUp) {
  EXPECT_BROKEN((explore<SleepsTwice>(2, nullptr, GetParam(), /*gives_up=*/true)), kLost);
}

}  // namespace
}  // namespace corbel::model
