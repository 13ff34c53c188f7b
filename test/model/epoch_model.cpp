// SPDX-License-Identifier: Apache-2.0
// Reading sections (include/corbel/detail/epoch.hpp): no object is freed while a section may read
// it, whether the thread was in a section before or not.
#include <corbel/detail/epoch.hpp>

#include <array>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct System {
  static inline bool fences;  // in the readers, where the system has no process barrier
  static void compiler_barrier() { fences ? model::fence() : model::compiler_barrier(); }
  static void process_barrier() { fences ? model::fence() : model::process_barrier(); }
};

// The first memory locations: those of the epochs, then one for each reader.
constexpr int kCurrent = 0;
constexpr int kFirstReader = 2;

// One thread replaces the object of a container and frees the old one as soon as it may. The others
// read it, `sections` times each.
struct Reading : Test {
  Reading(int sections_each, int writers_count, bool fences)
      : sections(sections_each), writers(writers_count) {
    System::fences = fences;
  }

  detail::basic_epochs<Atomic, System> epochs;
  std::array<detail::basic_epoch_reader<Atomic>, 2> readers;
  const int sections, writers;
  std::array<Var<int>, 3> objects{Var<int>(1), Var<int>(1), Var<int>(1)};
  Atomic<int> container{0};

  void run(int thread) override {
    if (thread < writers) {
      const int old = container.exchange(thread + 1, acq_rel);
      const detail::epoch_number epoch = epochs.retire();
      const auto each = [this](const auto& look) {
        for (const auto& reader : readers) look(reader);
      };
      if (epochs.has_passed(epoch, each)) objects[std::size_t(old)].set(0);  // freed
    } else {
      auto& self = readers[std::size_t(thread - writers)];
      for (int i = 0; i < sections; ++i) {
        epochs.enter(self);
        const int found = container.load(acquire);
        check(objects[std::size_t(found)].get() == 1, "a freed object is read");
        epochs.leave(self);
      }
    }
  }
};

TEST(EpochModel, OneReader) { EXPECT_SOUND(explore<Reading>(2, {}, 2, 1, false)); }
TEST(EpochModel, TwoReaders) { EXPECT_SOUND(explore<Reading>(3, {}, 1, 1, false)); }
TEST(EpochModel, TwoWriters) { EXPECT_SOUND(explore<Reading>(3, {}, 1, 2, false)); }
TEST(EpochModel, WithFences) { EXPECT_SOUND(explore<Reading>(2, {}, 2, 1, true)); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation leave_out(Op op) {
  return [=](Step& step) {
    if (step.op == op) step.op = Op::kNothing;
  };
}

Mutation weaken(int location, Op op) {
  return [=](Step& step) {
    if (step.location == location && step.op == op) step.order = relaxed;
  };
}

// Only stores of 0, or only those of epochs.
Mutation weaken_stores(int location, bool of_zero) {
  return [=](Step& step) {
    if (step.location != location || step.op != Op::kStore) return;
    if ((step.operand == 0) == of_zero) step.order = relaxed;
  };
}

// To read a freed object is a race with the thread that freed it.
Result run_mutant(const Mutation& mutation, bool fences = false) {
  return explore<Reading>(2, mutation, 2, 1, fences);
}

TEST(EpochMutant, NoProcessBarrier) {
  EXPECT_BROKEN(run_mutant(leave_out(Op::kProcessBarrier)), "data race");
}

TEST(EpochMutant, NoCompilerBarrier) {
  EXPECT_BROKEN(run_mutant(leave_out(Op::kCompilerBarrier)), "data race");
}

TEST(EpochMutant, NoFence) { EXPECT_BROKEN(run_mutant(leave_out(Op::kFence), true), "data race"); }

TEST(EpochMutant, LeavingIsNotReleased) {
  EXPECT_BROKEN(run_mutant(weaken_stores(kFirstReader, true)), "data race");
}

TEST(EpochMutant, EnteringAgainIsNotReleased) {
  EXPECT_BROKEN(run_mutant(weaken_stores(kFirstReader, false)), "data race");
}

TEST(EpochMutant, TheLookDoesNotAcquire) {
  EXPECT_BROKEN(run_mutant(weaken(kFirstReader, Op::kLoad)), "data race");
}

TEST(EpochMutant, UnlinkingIsNotReleased) {
  EXPECT_BROKEN(run_mutant(weaken(kCurrent, Op::kFetch)), "data race");
}

TEST(EpochMutant, UnlinkingIsNotAcquired) {
  EXPECT_BROKEN(run_mutant(weaken(kCurrent, Op::kLoad)), "data race");
}

// One thread's barrier must not answer for what another has unlinked after it.
TEST(EpochMutant, UnlinkingOfOthersIsNotAcquired) {
  const Mutation weak = [](Step& step) {
    const bool is_writer = Explorer::get().now().thread <= 2;  // 0 is the main thread
    if (step.location == kCurrent && step.op == Op::kLoad && is_writer) step.order = relaxed;
  };
  EXPECT_BROKEN(explore<Reading>(3, weak, 1, 2, false), "data race");
}

}  // namespace
}  // namespace corbel::model
