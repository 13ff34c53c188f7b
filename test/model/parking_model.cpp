// SPDX-License-Identifier: Apache-2.0
// Parking and waking (src/sched/core/parking.hpp): no thread stays parked while there is work that
// it could run, or after the end of what it waits for. A lost wake-up shows as a deadlock.
#include "sched/core/parking.hpp"

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct ParkingSystem : Kernel<0> {
  using Lock = Mutex;
  // On a system without process barriers, the barrier is a fence of the caller, and every pusher
  // executes a fence before it reads the wake flag.
  static inline bool slow;
  static void process_barrier() { slow ? model::fence() : model::process_barrier(); }
  static void barrier_of_pusher() { slow ? model::fence() : model::compiler_barrier(); }
};

struct Parked {
  sched::BasicWaitNode<Parked, Atomic> wait_node;
};

using List = sched::BasicParkedThreads<Parked, Atomic, ParkingSystem>;
using WakeFlag = sched::BasicWakeFlag<Atomic, ParkingSystem>;

// Memory locations, in the order of the members of Parking.
constexpr int kWakeFlag = 0;
constexpr int kWaiting = 3;

// An arena of at most two tasks, each in a word of its own.
struct Parking : Test {
  WakeFlag wake_flag;                // locations 0 and 1
  List list;                         // locations 2 (the lock) and 3
  std::array<Atomic<int>, 2> tasks;  // 1: present, 2: taken
  Atomic<int> ended{0};
  std::array<Var<int>, 2> contents;
  std::array<Parked, 3> parked;
  bool signal_gives_up = false;  // set by a mutant

  explicit Parking(bool slow) { ParkingSystem::slow = slow; }

  bool has_work() const { return tasks[0].load(relaxed) == 1 || tasks[1].load(relaxed) == 1; }

  bool unpark_one() {
    return list.unpark_first([this](const Parked&) { return has_work(); });
  }
  // Like Arena::signal_work when no worker can be requested.
  void signal_work() {
    if (unpark_one() || signal_gives_up) return;
    if (has_work()) {
      unpark_one();
    } else {
      chain_wake_up();
    }
  }
  void chain_wake_up() {
    wake_flag.chain_wake_up(true, [this] { return has_work(); }, [this] { signal_work(); });
  }

  // Like spawn() of task.hpp and signal_new_task() of dispatch.cpp.
  void push(std::size_t task) {
    contents[task].set(1);
    tasks[task].store(1, release);
    ParkingSystem::barrier_of_pusher();
    if (wake_flag.word().load(relaxed) != 0 && wake_flag.take()) signal_work();
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

  // Like Wait::run in a thread that waits until it has got one task. With kParked, the thread has
  // announced itself before the test begins.
  enum Begin { kAwake, kParked };
  void get_one(Parked& self, Begin begin = kAwake, bool chains = true) {
    bool woken = false;
    if (begin == kParked) {
      list.park(self);
      wake_flag.end_park();
      woken = true;
    }
    while (!take()) {
      woken = wake_flag.park(list, self, nullptr, false, [this] { return has_work(); });
    }
    if (woken && chains) chain_wake_up();
  }
  void announce(Parked& self) { wake_flag.announce(list, self, nullptr, false); }

  // Like notify_waiters() of task.hpp.
  void end() {
    contents[0].set(2);
    ended.store(1, release);
    ParkingSystem::barrier_of_pusher();
    if (list.waiting().load(relaxed) != 0) list.unpark_waiters(&ended);
  }

  void wait_for_end(Parked& self) {
    const auto has_ended = [this] { return ended.load(acquire) == 1; };
    while (!has_ended()) wake_flag.park(list, self, &ended, false, has_ended);
    check(contents[0].get() == 2, "the wait returned too early");
  }
};

struct PushAndPark : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) {
      push(0);
    } else {
      get_one(parked[0]);
    }
  }
};

struct EndAndPark : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) {
      end();
    } else {
      wait_for_end(parked[0]);
    }
  }
};

// One thread pushes two tasks. Two threads are parked.
struct TwoParkedThreads : Parking {
  TwoParkedThreads(bool slow, bool chains) : Parking(slow), chains(chains) {
    announce(parked[1]);
    announce(parked[2]);
  }
  const bool chains;
  void run(int thread) override {
    if (thread == 0) {
      push(0);
      push(1);
    } else {
      get_one(parked[std::size_t(thread)], kParked, chains);
    }
  }
};

// A thread that got one task parks again for the next.
struct ParksTwice : Parking {
  explicit ParksTwice(bool slow, bool gives_up = false) : Parking(slow) {
    signal_gives_up = gives_up;
  }
  void run(int thread) override {
    if (thread == 0) {
      push(0);
      push(1);
    } else {
      get_one(parked[0]);
      get_one(parked[0]);
    }
  }
};

// One thread was woken for the first task and continues the chain, while the pusher takes that task
// back and pushes another. One thread is still parked.
struct TaskIsTakenMeanwhile : Parking {
  explicit TaskIsTakenMeanwhile(bool slow) : Parking(slow) {
    announce(parked[2]);
    contents[0].set(1);
    tasks[0].store(1, release);
    wake_flag.take();
  }
  void run(int thread) override {
    if (thread == 0) {
      take();
      push(1);
    } else if (thread == 1) {
      chain_wake_up();
    } else {
      get_one(parked[2], kParked);
    }
  }
};

// A thread sets the wake flag only after it has looked for work.
struct LooksFirst : Parking {
  using Parking::Parking;
  void run(int thread) override {
    if (thread == 0) return push(0);
    Parked& self = parked[0];
    while (!take()) {
      list.announce(self, nullptr);
      ParkingSystem::process_barrier();
      const bool found = has_work();
      wake_flag.set();
      if (found) {
        list.withdraw(self);
      } else {
        list.park(self);
      }
    }
  }
};

class ParkingModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Model, ParkingModel, testing::Bool(), [](const auto& info) {
  return info.param ? "FencesOfAll" : "FencesOfTheParkingThread";
});

TEST_P(ParkingModel, PushAndPark) { EXPECT_SOUND(explore<PushAndPark>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, EndAndPark) { EXPECT_SOUND(explore<EndAndPark>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, ParksTwice) { EXPECT_SOUND(explore<ParksTwice>(2, nullptr, GetParam())); }
TEST_P(ParkingModel, TwoParkedThreads) {
  EXPECT_SOUND((explore<TwoParkedThreads>(3, nullptr, GetParam(), true)));
}
TEST_P(ParkingModel, TaskIsTakenMeanwhile) {
  EXPECT_SOUND(explore<TaskIsTakenMeanwhile>(3, nullptr, GetParam()));
}

// ---- mutants: each must fail -----------------------------------------------------------------

constexpr const char* kLost = "deadlock";

Mutation leave_out(Op op) {
  return [=](Step& step) {
    if (step.op == op) step.op = Op::kNothing;
  };
}

TEST_P(ParkingModel, MutantParkWithoutBarrier) {
  const Mutation weak = leave_out(GetParam() ? Op::kFence : Op::kProcessBarrier);
  EXPECT_BROKEN(explore<PushAndPark>(2, weak, GetParam()), kLost);
  EXPECT_BROKEN(explore<EndAndPark>(2, weak, GetParam()), kLost);
}

TEST(ParkingMutant, CompilerMovesTheLoadOfTheFlagUp) {
  EXPECT_BROKEN(explore<PushAndPark>(2, leave_out(Op::kCompilerBarrier), false), kLost);
  EXPECT_BROKEN((explore<EndAndPark>(2, leave_out(Op::kCompilerBarrier), false)), kLost);
}

// Neither the wake flag nor the number of waiters is ever set.
TEST_P(ParkingModel, MutantParkWithoutAnnouncement) {
  const Mutation quiet = [](Step& step) {
    if (step.location == kWakeFlag && step.op == Op::kStore) step.op = Op::kNothing;
    if (step.location == kWaiting && step.op == Op::kFetch) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(explore<PushAndPark>(2, quiet, GetParam()), kLost);
  EXPECT_BROKEN(explore<EndAndPark>(2, quiet, GetParam()), kLost);
}

// The wake flag is set after the look for work: too late.
TEST_P(ParkingModel, MutantFlagIsSetTooLate) {
  EXPECT_BROKEN(explore<LooksFirst>(2, nullptr, GetParam()), kLost);
}

TEST_P(ParkingModel, MutantWokenThreadDoesNotChain) {
  EXPECT_BROKEN((explore<TwoParkedThreads>(3, nullptr, GetParam(), false)), kLost);
}

// The thread that takes the flag does not know of the parked thread that set it.
TEST_P(ParkingModel, MutantFlagIsNotReleased) {
  const Mutation weak = [](Step& step) {
    if (step.location == kWakeFlag) step.order = relaxed;
  };
  EXPECT_BROKEN(explore<ParksTwice>(2, weak, GetParam()), kLost);
}

// Another thread, one that was not woken, took the task for which the flag was taken.
TEST_P(ParkingModel, MutantSignalGivesUp) {
  EXPECT_BROKEN((explore<ParksTwice>(2, nullptr, GetParam(), /*gives_up=*/true)), kLost);
}

}  // namespace
}  // namespace corbel::model
