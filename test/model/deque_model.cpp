// SPDX-License-Identifier: Apache-2.0
// The deque (include/corbel/detail/deque.hpp): each entry that was pushed is got by one thread, who
// sees what its owner had put into it, with either kind of fence.
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
  // The rings of one run: a run that is left does not come to an end that could free them.
  static inline std::vector<std::unique_ptr<std::byte[]>> blocks;

  static void* allocate(std::size_t bytes) {
    return blocks.emplace_back(new std::byte[bytes]).get();
  }
  static void deallocate(void*) {}
  static void compiler_barrier() { model::compiler_barrier(); }
  static void process_barrier() { model::process_barrier(); }
};

using Deque = detail::basic_deque<Entry, Atomic, System>;

// The locations of the deque: it is the first member of the tests.
constexpr int kTop = 0;
constexpr int kBottom = 1;
constexpr int kKnownTop = 2;
constexpr int kRing = 3;

// What the owner does: '+' a push, '-' a pop.
struct Owner {
  const char* acts;
  bool slow;
  bool used;  // before: there is a ring
};

struct Stealing : Test {
  explicit Stealing(const Owner& owner) : deque(*new(storage) Deque(owner.slow)), acts(owner.acts) {
    System::blocks.clear();
    if (owner.used) {
      deque.push(nullptr);
      deque.pop();
    }
  }

  // Never ended: what is left of an execution need not make sense.
  alignas(Deque) std::byte storage[sizeof(Deque)];
  Deque& deque;
  const char* const acts;
  static inline char act;  // the current one, for mutations of the owner's steps
  std::array<Entry, 4> entries;
  std::size_t pushed = 0;

  void got(Entry* entry) {
    check(entry >= entries.data() && entry < entries.data() + pushed, "no entry was got");
    check(++entry->got == 1, "an entry is got twice");
    check(entry->content.get() == int(entry - entries.data()) + 1, "the wrong content");
    entry->content.set(0);  // as who runs a task may
  }

  void run(int thread) override {
    if (thread == 0) {
      for (const char* next = acts; *next != 0; ++next) {
        act = *next;
        if (act == '+') {
          entries[pushed].content.set(int(pushed) + 1);
          ++pushed;
          deque.push(&entries[pushed - 1]);
        } else if (Entry* const entry = deque.pop()) {
          got(entry);
        }
      }
    } else {
      Entry* entry = nullptr;
      if (deque.steal(&entry) == Deque::found::kTaken) got(entry);
    }
  }

  // The main thread, which knows all, is the next owner.
  void finish() override {
    while (Entry* const entry = deque.pop()) got(entry);
    for (std::size_t i = 0; i < pushed; ++i) check(entries[i].got == 1, "an entry is lost");
    check(deque.seems_empty(), "there is something behind the end");
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
TEST_P(Deques, RingGoesRound) { EXPECT_SOUND(run(1, "++-+-+", GetParam())); }

// ---- mutants: each must fail -----------------------------------------------------------------
// With a ring at hand from the beginning, or the thief would look for one at address 0. Not among
// them: (7) with the load of top_ in make_room. They keep a thief from reading what the owner
// writes later, which the explorer never lets it do.

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

TEST_P(Deques, MutantPushThatPublishesNothing) {
  const Mutation weak = weaken(kBottom, Op::kStore, release, relaxed, '+');
  EXPECT_BROKEN(run(1, "+-", GetParam(), weak), "data race");
}

TEST_P(Deques, MutantThiefThatAcquiresNothing) {
  const Mutation weak = weaken(kBottom, Op::kLoad, seq_cst, relaxed);
  EXPECT_BROKEN(run(1, "+-", GetParam(), weak), "data race");
}

TEST_P(Deques, MutantRingThatIsNotPublished) {
  const Mutation weak = weaken(kRing, Op::kStore, release, relaxed);
  EXPECT_BROKEN(run(1, "+++", GetParam(), weak), "known to be made");
}

TEST_P(Deques, MutantRingThatIsNotAcquired) {
  const Mutation weak = weaken(kRing, Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run(1, "+++", GetParam(), weak), "known to be made");
}

// The thief reads the bottom that a pop has stored, and takes what lies below it.
TEST(DequeMutant, PopThatPublishesNothing) {
  const Mutation weak = weaken(kBottom, Op::kStore, release, relaxed, '-');
  EXPECT_BROKEN(run(1, "++--", false, weak), "data race");
}

// It takes two thieves: the first moves top, so that the second is at the owner's entry.
TEST(DequeMutant, ThiefWithoutTheBarrier) {
  EXPECT_BROKEN(run(2, "++-", false, leave_out(Op::kProcessBarrier)), "an entry is got twice");
}

// A pop has taken the second entry, knowing of no theft, and learns of the first one's behind that.
// Who relies on what it knows then must not read an older bottom.
TEST(DequeMutant, KnownTopThatPublishesNothing) {
  const Mutation weak = weaken(kKnownTop, Op::kStore, release, relaxed);
  EXPECT_BROKEN(run(2, "++--", false, weak), "an entry is got twice");
}

TEST(DequeMutant, KnownTopThatIsNotAcquired) {
  const Mutation weak = weaken(kKnownTop, Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run(2, "++--", false, weak), "an entry is got twice");
}

TEST(DequeMutant, CompilerMovesTheLoadOfTopUp) {
  EXPECT_BROKEN(run(2, "++-", false, leave_out(Op::kCompilerBarrier)), "an entry is got twice");
}

TEST(DequeMutant, SlowPopThatOnlyAcquiresAndReleases) {
  const Mutation store = weaken(kBottom, Op::kExchange, seq_cst, acq_rel);
  EXPECT_BROKEN(run(2, "++-", true, store), "an entry is got twice");
  const Mutation load = weaken(kTop, Op::kLoad, seq_cst, acquire, '-');
  EXPECT_BROKEN(run(2, "++-", true, load), "an entry is got twice");
}

TEST(DequeMutant, SlowThiefThatOnlyAcquires) {
  const Mutation bottom = weaken(kBottom, Op::kLoad, seq_cst, acquire);
  EXPECT_BROKEN(run(2, "++-", true, bottom), "an entry is got twice");
}

}  // namespace
}  // namespace corbel::model
