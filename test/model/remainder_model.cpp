// SPDX-License-Identifier: Apache-2.0
// What is left of a piece of a loop (include/corbel/detail/remainder.hpp): exactly one thread gets
// each number, and that thread sees what the owner stored for the number.
#include <cstring>

#include <corbel/detail/remainder.hpp>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct System {
  template <typename Bounds>
  static void compiler_barrier(Bounds&) {
    model::compiler_barrier();
  }
  static void process_barrier() { model::process_barrier(); }
  static constexpr int kMaxPauses = 1;
  static void pause() {}
};

using Remainder = detail::basic_remainder<Atomic, System>;

// The memory locations of the remainder, the first member of the test.
constexpr int kBegin = 0;
constexpr int kLimit = 1;

// The owner's operations: '-' claims a number, '+' puts one back, each with a new value, and 'c'
// closes.
struct Owner {
  const char* acts;
  std::size_t length;  // how many numbers are left at the beginning
  bool slow;
  bool shares = false;  // everything
};

constexpr std::size_t kFirst = 3;  // the first number at the beginning

struct Sharing : Test {
  explicit Sharing(const Owner& owner)
      : remainder(kFirst, kFirst + owner.length, owner.slow),
        acts(owner.acts),
        end(kFirst + owner.length) {
    gives_up = false;
    for (std::size_t i = kFirst; i < end; ++i) values[i].set(++last_value);
    if (owner.shares) remainder.share(kFirst);
  }

  Remainder remainder;
  Mutex lock;
  const char* const acts;
  static inline char act;  // the current operation, by which mutations select steps
  static inline bool gives_up;
  std::size_t begin = kFirst;      // the owner's
  std::size_t end;                 // as the owner knows it
  std::array<Var<int>, 8> values;  // of the numbers
  std::array<int, 16> got_value{};
  int last_value = 0;
  bool is_given_up = false;  // protected by the lock

  void got(std::size_t number) {
    const int value = values[number].get();
    check(value != 0, "two threads got one number");
    check(++got_value[std::size_t(value)] == 1, "two threads got one number");
    values[number].set(0);  // like the thread that runs the piece, which may overwrite it
  }

  static std::size_t middle(std::size_t first, std::size_t last) {
    return first + (last - first) / 2;
  }

  void claim() {
    if (begin == end) return;
    if (!remainder.claim(begin + 1)) {
      const MutexGuard guard(lock);
      if (!remainder.settle(begin, begin + 1, middle, &end)) return;
    }
    got(begin++);
  }

  void run(int thread) override {
    if (thread == 0) {
      for (const char* next = acts; *next != 0; ++next) {
        act = *next;
        if (act == '-') {
          claim();
        } else if (act == '+') {
          values[begin - 1].set(++last_value);
          if (!remainder.put_back(begin--)) {
            const MutexGuard guard(lock);
            if (remainder.reopen(middle)) is_given_up = false;
          }
        } else {
          const MutexGuard guard(lock);
          remainder.close();
        }
      }
    } else {
      std::size_t from = 0, to = 0;
      {
        const MutexGuard guard(lock);
        const auto unlocked = [this](const auto& wait) {
          lock.unlock();
          wait();
          lock.lock();
        };
        const bool may_grow = std::strchr(acts, '+') != nullptr;
        while (!remainder.take(middle, may_grow, unlocked, &from, &to)) {
          gives_up = true;
          const bool has_given_up = remainder.give_up();
          gives_up = false;
          if (!has_given_up) continue;
          is_given_up = true;
          return;
        }
      }
      for (; from != to; ++from) got(from);
    }
  }

  // The main thread knows all events. It acts as the owner.
  void finish() override {
    end = remainder.end();
    check(!is_given_up || begin == end, "thieves have given up something");
    while (begin != end) claim();
    for (int i = 1; i <= last_value; ++i) check(got_value[std::size_t(i)] == 1, "a number is lost");
    std::size_t from = 0, to = 0;
    const auto unlocked = [](const auto& wait) { wait(); };
    check(!remainder.take(middle, false, unlocked, &from, &to), "something is left at the end");
  }
};

Result run(int thieves, const char* acts, std::size_t length, bool slow,
           const Mutation& mutation = nullptr) {
  return explore<Sharing>(1 + thieves, mutation, Owner{acts, length, slow});
}
Result run_shared(int thieves, const char* acts, std::size_t length, bool slow,
                  const Mutation& mutation = nullptr) {
  return explore<Sharing>(1 + thieves, mutation, Owner{acts, length, slow, true});
}

class Remainders : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Model, Remainders, testing::Bool(), [](const auto& info) {
  return info.param ? "ClaimsUnderTheLock" : "FencesOfTheThief";
});

TEST_P(Remainders, LastNumber) { EXPECT_SOUND(run(1, "-", 1, GetParam())); }
TEST_P(Remainders, TwoNumbers) { EXPECT_SOUND(run(1, "--", 2, GetParam())); }
TEST_P(Remainders, FourNumbers) { EXPECT_SOUND(run(1, "----", 4, GetParam())); }
TEST_P(Remainders, TwoThieves) { EXPECT_SOUND(run(2, "-", 2, GetParam())); }
TEST_P(Remainders, TwoThievesAndTheLastNumber) { EXPECT_SOUND(run(2, "-", 1, GetParam())); }
TEST_P(Remainders, SharesAll) { EXPECT_SOUND(run_shared(1, "---", 3, GetParam())); }
TEST_P(Remainders, SharesWithTwo) { EXPECT_SOUND(run_shared(2, "-", 2, GetParam())); }
TEST_P(Remainders, SharesAndPutsBack) { EXPECT_SOUND(run_shared(1, "-+-", 1, GetParam())); }
TEST_P(Remainders, Closes) { EXPECT_SOUND(run(1, "--c", 2, GetParam())); }
TEST_P(Remainders, PutsBackAndCloses) { EXPECT_SOUND(run(1, "-+-c", 1, GetParam())); }
TEST_P(Remainders, PutsBack) { EXPECT_SOUND(run(1, "-+-", 1, GetParam())); }
TEST_P(Remainders, PutsTwoBack) { EXPECT_SOUND(run(1, "-++-", 1, GetParam())); }
TEST_P(Remainders, PutsBackAtTheEnd) { EXPECT_SOUND(run(1, "-+", 1, GetParam())); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(int location, Op op, std::memory_order from, std::memory_order to, char act = 0) {
  return [=](Step& step) {
    if (step.location != location || step.op != op || step.order != from) return;
    if (act == 0 || act == Sharing::act) step.order = to;
  };
}

Mutation leave_out(Op op) {
  return [=](Step& step) {
    if (step.op == op) step.op = Op::kNothing;
  };
}

TEST(RemainderMutant, ThiefWithoutTheBarrier) {
  EXPECT_BROKEN(run(1, "--", 2, false, leave_out(Op::kProcessBarrier)), "data race");
}

TEST(RemainderMutant, CompilerMovesTheLoadOfTheLimitUp) {
  EXPECT_BROKEN(run(1, "--", 2, false, leave_out(Op::kCompilerBarrier)), "data race");
}

TEST(RemainderMutant, ThiefDoesNotLowerTheLimit) {
  const Mutation mutant = [](Step& step) {
    const bool lowers = step.location == kLimit && step.op == Op::kStore;
    if (lowers && step.operand == kFirst + 1) step.operand = kFirst + 2;
  };
  EXPECT_BROKEN(run(1, "--", 2, false, mutant), "data race");
}

TEST(RemainderMutant, ThiefGivesUpInSilence) {
  const Mutation mutant = [](Step& step) {
    const bool lowers = step.location == kLimit && step.op == Op::kStore;
    if (lowers && Sharing::gives_up) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(run(1, "-+", 1, false, mutant), "given up");
}

// The owner answers a thief, but claims what it shares nevertheless.
TEST(RemainderMutant, OwnerIgnoresItsAnswer) {
  const Mutation mutant = [](Step& step) {
    if (step.location == kLimit && step.op == Op::kStore && step.operand > kFirst) {
      step.operand = kFirst + 4;
    }
  };
  EXPECT_BROKEN(run(1, "----", 4, false, mutant), "data race");
}

// The second barrier: that of give_up.
TEST(RemainderMutant, ThiefGivesUpWithoutTheBarrier) {
  const Mutation mutant = [](Step& step) {
    if (step.op == Op::kProcessBarrier && Sharing::gives_up) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(run(1, "-+", 1, false, mutant), "given up");
}

TEST(RemainderMutant, PutBackIsNotReleased) {
  const Mutation weak = weaken(kBegin, Op::kStore, release, relaxed, '+');
  EXPECT_BROKEN(run(1, "-+", 1, false, weak), "data race");
}

TEST(RemainderMutant, ClaimIsNotReleased) {
  const Mutation weak = weaken(kBegin, Op::kStore, release, relaxed, '-');
  EXPECT_BROKEN(run(1, "-++-", 1, false, weak), "data race");
}

TEST(RemainderMutant, ThiefDoesNotAcquire) {
  const Mutation weak = weaken(kBegin, Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run(1, "-+", 1, false, weak), "data race");
}

}  // namespace
}  // namespace corbel::model
