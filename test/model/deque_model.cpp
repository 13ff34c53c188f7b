// SPDX-License-Identifier: Apache-2.0
// The deque (include/corbel/detail/deque.hpp), with either kind of fence: exactly one thread gets
// each pushed entry, and that thread sees what the owner stored in the entry.
#include <corbel/detail/deque.hpp>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct Entry {
  Var<int> content;
  int got = 0;
};

struct System {
  static constexpr int kFirstLength = 2;
  // The rings of one run. The explorer abandons runs half way, so no destructor could free them.
  static inline std::vector<std::unique_ptr<std::byte[]>> blocks;

  static void* allocate(std::size_t bytes) {
    return blocks.emplace_back(new std::byte[bytes]).get();
  }
  static void deallocate(void*) {}
  static void compiler_barrier() { model::compiler_barrier(); }
  static void process_barrier() { model::process_barrier(); }
};

using Deque = detail::basic_deque<Entry, Atomic, System>;

// The deque's memory locations. It is the first member of the tests.
constexpr int kTop = 0;
constexpr int kBottom = 1;
constexpr int kKnownTop = 2;
constexpr int kRing = 3;

// The owner's operations: '+' is a push, '-' a pop, 'a' an acknowledgement of thefts.
struct Owner {
  const char* acts;
  bool slow;
  bool used;  // before the test, so that there is a ring
};

struct Stealing : Test {
  explicit Stealing(const Owner& owner) : deque(*new(storage) Deque(owner.slow)), acts(owner.acts) {
    System::blocks.clear();
    if (owner.used) {
      deque.push(nullptr);
      deque.pop();
    }
  }

  // Never destroyed: an abandoned execution may leave it in any state.
  alignas(Deque) std::byte storage[sizeof(Deque)];
  Deque& deque;
  const char* const acts;
  static inline char act;  // the current operation, by which mutations select the owner's steps
  std::array<Entry, 4> entries;
  std::size_t pushed = 0;

  void got(Entry* entry) {
    check(entry >= entries.data() && entry < entries.data() + pushed,
          "the pointer is not one of an entry");
    check(++entry->got == 1, "two threads got one entry");
    check(entry->content.get() == int(entry - entries.data()) + 1, "the content is wrong");
    entry->content.set(0);  // like the thread that runs the task, which may overwrite it
  }

  void run(int thread) override {
    if (thread == 0) {
      for (const char* next = acts; *next != 0; ++next) {
        act = *next;
        if (act == '+') {
          entries[pushed].content.set(int(pushed) + 1);
          ++pushed;
          deque.push(&entries[pushed - 1]);
        } else if (act == 'a') {
          deque.acknowledge_thefts();
        } else if (Entry* const entry = deque.pop()) {
          got(entry);
        }
      }
    } else {
      Entry* entry = nullptr;
      if (deque.steal(&entry) == Deque::steal_result::kTaken) got(entry);
    }
  }

  // The main thread knows all events. It acts as the next owner.
  void finish() override {
    while (Entry* const entry = deque.pop()) got(entry);
    for (std::size_t i = 0; i < pushed; ++i) check(entries[i].got == 1, "an entry is lost");
    check(deque.seems_empty(), "the deque is not empty at the end");
  }
};

Result run(int thieves, const char* acts, bool slow, const Mutation& mutation = nullptr) {
  return explore<Stealing>(1 + thieves, mutation, Owner{acts, slow, mutation != nullptr});
}

class Deques : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Model, Deques, testing::Bool(), [](const auto& info) {
  return info.param ? "FencesOfTheOwner" : "FencesOfTheThief";
});

TEST_P(Deques, LastEntry) { EXPECT_SOUND(run(1, "+-", GetParam())); }
TEST_P(Deques, LastEntryAgain) { EXPECT_SOUND(run(1, "+-+-", GetParam())); }
TEST_P(Deques, TwoEntries) { EXPECT_SOUND(run(1, "++--", GetParam())); }
TEST_P(Deques, MorePopsThanEntries) { EXPECT_SOUND(run(1, "++---", GetParam())); }
TEST_P(Deques, TwoThieves) { EXPECT_SOUND(run(2, "++-", GetParam())); }
TEST_P(Deques, TwoThievesAndTheLastEntry) { EXPECT_SOUND(run(2, "+-", GetParam())); }
TEST_P(Deques, TwoThievesAndTwoEntries) { EXPECT_SOUND(run(2, "++--", GetParam())); }
TEST_P(Deques, RingGrows) { EXPECT_SOUND(run(1, "+++-", GetParam())); }
TEST_P(Deques, RingWrapsAround) { EXPECT_SOUND(run(1, "++-+-+", GetParam())); }
TEST_P(Deques, AcknowledgedBeforeThePush) { EXPECT_SOUND(run(2, "+a+-", GetParam())); }
TEST_P(Deques, AcknowledgedBeforeThePop) { EXPECT_SOUND(run(2, "++a-", GetParam())); }
TEST_P(Deques, AcknowledgedAfterThePop) { EXPECT_SOUND(run(2, "++-a", GetParam())); }

// ---- mutants: each must fail -----------------------------------------------------------------
// The ring exists from the beginning; otherwise the thief would look for one at address 0.
//
// Not among the mutants: (7) together with the load of top_ in make_room. These keep a thief from
// reading what the owner writes later, and the explorer never lets a thread read later writes.

Mutation weaken(int location, Op op, std::memory_order from, std::memory_order to, char act = 0) {
  return [=](Step& step) {
    if (step.location != location || step.op != op || step.order != from) return;
    if (act == 0 || act == Stealing::act) step.order = to;
  };
}

Mutation leave_out(Op op) {
  return [=](Step& step) {
    if (step.op == op) step.op = Op::kNothing;
  };
}

TEST_P(Deques, MutantPushIsNotReleased) {
  const Mutation weak = weaken(kBottom, Op::kStore, release, relaxed, '+');
  EXPECT_BROKEN(run(1, "+-", GetParam(), weak), "data race");
}

TEST_P(Deques, MutantThiefDoesNotAcquire) {
  const Mutation weak = weaken(kBottom, Op::kLoad, seq_cst, relaxed);
  EXPECT_BROKEN(run(1, "+-", GetParam(), weak), "data race");
}

TEST_P(Deques, MutantRingIsNotReleased) {
  const Mutation weak = weaken(kRing, Op::kStore, release, relaxed);
  EXPECT_BROKEN(run(1, "+++", GetParam(), weak), "known to be constructed");
}

TEST_P(Deques, MutantRingIsNotAcquired) {
  const Mutation weak = weaken(kRing, Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run(1, "+++", GetParam(), weak), "known to be constructed");
}

// The thief reads the bottom that a pop stored, and takes the entry below it.
TEST(DequeMutant, PopIsNotReleased) {
  const Mutation weak = weaken(kBottom, Op::kStore, release, relaxed, '-');
  EXPECT_BROKEN(run(1, "++--", false, weak), "data race");
}

// It takes two thieves: the first advances top, so that the second reaches the owner's entry.
TEST(DequeMutant, ThiefWithoutTheBarrier) {
  EXPECT_BROKEN(run(2, "++-", false, leave_out(Op::kProcessBarrier)), "two threads got one entry");
}

// A pop takes the second entry before it knows of the theft of the first, and then learns of that
// theft. A thread that relies on the known top must not read an older bottom.
TEST(DequeMutant, KnownTopIsNotReleased) {
  const Mutation weak = weaken(kKnownTop, Op::kStore, release, relaxed);
  EXPECT_BROKEN(run(2, "++--", false, weak), "two threads got one entry");
}

TEST(DequeMutant, AcknowledgementIsNotReleased) {
  const Mutation weak = weaken(kKnownTop, Op::kStore, release, relaxed, 'a');
  EXPECT_BROKEN(run(2, "++-a", false, weak), "two threads got one entry");
}

TEST(DequeMutant, KnownTopIsNotAcquired) {
  const Mutation weak = weaken(kKnownTop, Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run(2, "++--", false, weak), "two threads got one entry");
}

TEST(DequeMutant, CompilerMovesTheLoadOfTopUp) {
  EXPECT_BROKEN(run(2, "++-", false, leave_out(Op::kCompilerBarrier)), "two threads got one entry");
}

TEST(DequeMutant, SlowPopThatOnlyAcquiresAndReleases) {
  const Mutation store = weaken(kBottom, Op::kExchange, seq_cst, acq_rel);
  EXPECT_BROKEN(run(2, "++-", true, store), "two threads got one entry");
  const Mutation load = weaken(kTop, Op::kLoad, seq_cst, acquire, '-');
  EXPECT_BROKEN(run(2, "++-", true, load), "two threads got one entry");
}

TEST(DequeMutant, SlowThiefThatOnlyAcquires) {
  const Mutation bottom = weaken(kBottom, Op::kLoad, seq_cst, acquire);
  EXPECT_BROKEN(run(2, "++-", true, bottom), "two threads got one entry");
}

}  // namespace
}  // namespace corbel::model
