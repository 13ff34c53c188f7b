// SPDX-License-Identifier: Apache-2.0
// Tests the model checker itself: it must find every outcome of the well-known litmus tests of
// memory models, and no other.
#include <set>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

// Up to four results of two or three threads.
using Values = std::array<int, 4>;
std::set<Values> seen;

struct Litmus : Test {
  Atomic<int> x, y;
  Values r{};

  void finish() override { seen.insert(r); }
};

template <typename T, typename... Arguments>
std::set<Values> outcomes_of(int threads, const Arguments&... arguments) {
  seen.clear();
  EXPECT_SOUND((explore<T>(threads, nullptr, arguments...)));
  return seen;
}

struct StoreBuffering : Litmus {
  StoreBuffering(std::memory_order store, std::memory_order load) : store(store), load(load) {}
  std::memory_order store, load;
  void run(int thread) override {
    Atomic<int>& mine = thread == 0 ? x : y;
    Atomic<int>& other = thread == 0 ? y : x;
    mine.store(1, store);
    r[std::size_t(thread)] = other.load(load);
  }
};

TEST(Explorer, StoreBuffering) {
  const std::set<Values> strong{{0, 1}, {1, 0}, {1, 1}};
  std::set<Values> weak = strong;
  weak.insert({0, 0});
  EXPECT_EQ((outcomes_of<StoreBuffering>(2, seq_cst, seq_cst)), strong);
  EXPECT_EQ((outcomes_of<StoreBuffering>(2, release, acquire)), weak);
  EXPECT_EQ((outcomes_of<StoreBuffering>(2, seq_cst, acquire)), weak);
  EXPECT_EQ((outcomes_of<StoreBuffering>(2, release, seq_cst)), weak);
}

// Each thread stores, executes its kind of fence, and loads what the other stores.
struct FencedBuffering : Litmus {
  FencedBuffering(Op first, Op second) : fences{first, second} {}
  const std::array<Op, 2> fences;
  void run(int thread) override {
    Atomic<int>& mine = thread == 0 ? x : y;
    Atomic<int>& other = thread == 0 ? y : x;
    mine.store(1, relaxed);
    Explorer::get().perform({.location = -1, .op = fences[std::size_t(thread)]});
    r[std::size_t(thread)] = other.load(relaxed);
  }
};

// A process barrier in one thread suffices for both, if the other's compiler keeps the order.
TEST(Explorer, ProcessBarrier) {
  const std::set<Values> strong{{0, 1}, {1, 0}, {1, 1}};
  std::set<Values> weak = strong;
  weak.insert({0, 0});
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kFence, Op::kFence)), strong);
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kFence, Op::kCompilerBarrier)), weak);
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kProcessBarrier, Op::kCompilerBarrier)), strong);
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kCompilerBarrier, Op::kProcessBarrier)), strong);
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kProcessBarrier, Op::kNothing)), weak);
  EXPECT_EQ((outcomes_of<FencedBuffering>(2, Op::kProcessBarrier, Op::kProcessBarrier)), strong);
}

// The process barrier interrupts two threads at different times: what one of them does after its
// fence, the other may see before its own.
struct Interrupted : Litmus {
  explicit Interrupted(Op second) : second(second) {}
  const Op second;
  void run(int thread) override {
    if (thread == 0) {
      x.store(1, relaxed);
      process_barrier();
    } else if (thread == 1) {
      compiler_barrier();
      r[0] = x.load(relaxed);
      y.store(1, relaxed);
    } else {
      r[1] = y.load(relaxed);
      Explorer::get().perform({.location = -1, .op = second});
      r[2] = x.load(relaxed);
    }
  }
};

TEST(Explorer, ProcessBarrierIsNotOneInstant) {
  // The second thread saw x. The third saw what the second did next, but not x.
  const Values apart{1, 1, 0};
  EXPECT_TRUE((outcomes_of<Interrupted>(3, Op::kCompilerBarrier).contains(apart)));
}

// What a thread did before its fence is known to the caller of the barrier afterwards, and vice
// versa.
struct OneBarrier : Litmus {
  void run(int thread) override {
    if (thread == 0) {
      x.store(1, relaxed);
      process_barrier();
      r[0] = y.load(relaxed);
    } else {
      y.store(1, relaxed);
      compiler_barrier();
      r[1] = x.load(relaxed);
      r[2] = x.load(relaxed);
    }
  }
};

TEST(Explorer, ProcessBarrierOrdersNothingElse) {
  EXPECT_EQ((outcomes_of<OneBarrier>(2)),
            (std::set<Values>{{0, 1, 1}, {1, 0, 0}, {1, 0, 1}, {1, 1, 1}}));
}

struct MessagePassing : Litmus {
  MessagePassing(std::memory_order store, std::memory_order load) : store(store), load(load) {}
  std::memory_order store, load;
  void run(int thread) override {
    if (thread == 0) {
      x.store(1, relaxed);
      y.store(1, store);
    } else {
      r[0] = y.load(load);
      r[1] = x.load(relaxed);
    }
  }
};

TEST(Explorer, MessagePassing) {
  const std::set<Values> strong{{0, 0}, {0, 1}, {1, 1}};
  std::set<Values> weak = strong;
  weak.insert({1, 0});
  EXPECT_EQ((outcomes_of<MessagePassing>(2, release, acquire)), strong);
  EXPECT_EQ((outcomes_of<MessagePassing>(2, relaxed, acquire)), weak);
  EXPECT_EQ((outcomes_of<MessagePassing>(2, release, relaxed)), weak);
}

// A read-modify-write does not end the release sequence, a plain store does.
struct ReleaseSequence : Litmus {
  explicit ReleaseSequence(bool by_update) : by_update(by_update) {}
  bool by_update;
  void run(int thread) override {
    if (thread == 0) {
      x.store(1, relaxed);
      y.store(1, release);
    } else if (thread == 1) {
      if (by_update) {
        y.fetch_add(1, relaxed);
      } else {
        if (y.load(relaxed) == 1) y.store(2, relaxed);
      }
    } else {
      r[0] = y.load(acquire);
      r[1] = x.load(relaxed);
    }
  }
};

TEST(Explorer, ReleaseSequence) {
  const Values broken{2, 0};
  EXPECT_FALSE((outcomes_of<ReleaseSequence>(3, true).contains(broken)));
  EXPECT_TRUE((outcomes_of<ReleaseSequence>(3, false).contains(broken)));
}

// Two readers of one location agree on the order of the writes.
struct Coherence : Litmus {
  void run(int thread) override {
    if (thread == 0) {
      x.store(1, relaxed);
      x.store(2, relaxed);
    } else {
      r[std::size_t(thread) * 2 - 2] = x.load(relaxed);
      r[std::size_t(thread) * 2 - 1] = x.load(relaxed);
    }
  }
};

TEST(Explorer, Coherence) {
  for (const Values& r : outcomes_of<Coherence>(3)) {
    EXPECT_LE(r[0], r[1]);
    EXPECT_LE(r[2], r[3]);
  }
  EXPECT_EQ(seen.size(), 36U);
}

// A write need not be last in the modification order: 2+2W.
struct TwoWritesEach : Litmus {
  explicit TwoWritesEach(std::memory_order order) : order(order) {}
  std::memory_order order;
  void run(int thread) override {
    (thread == 0 ? x : y).store(1, order);
    (thread == 0 ? y : x).store(2, order);
  }
  void finish() override {
    r[0] = x.load(relaxed);
    r[1] = y.load(relaxed);
    Litmus::finish();
  }
};

TEST(Explorer, ModificationOrder) {
  const Values both_first{1, 1};
  EXPECT_TRUE((outcomes_of<TwoWritesEach>(2, release).contains(both_first)));
  EXPECT_FALSE((outcomes_of<TwoWritesEach>(2, seq_cst).contains(both_first)));
}

struct Counting : Litmus {
  void run(int) override {
    x.fetch_add(1, relaxed);
    int n = y.load(relaxed);
    while (!y.compare_exchange_weak(n, n + 1, relaxed, relaxed)) {
    }
  }
  void finish() override {
    r[0] = x.load(relaxed);
    r[1] = y.load(relaxed);
    Litmus::finish();
  }
};

TEST(Explorer, UpdatesAreIndivisible) {
  EXPECT_EQ((outcomes_of<Counting>(3)), (std::set<Values>{{3, 3}}));
}

// Two readers of two independent writes.
struct IndependentReads : Litmus {
  IndependentReads(std::memory_order store, std::memory_order load) : store(store), load(load) {}
  std::memory_order store, load;
  void run(int thread) override {
    if (thread < 2) return (thread == 0 ? x : y).store(1, store);
    r[std::size_t(thread) * 2 - 4] = (thread == 2 ? x : y).load(load);
    r[std::size_t(thread) * 2 - 3] = (thread == 2 ? y : x).load(load);
  }
};

TEST(Explorer, IndependentReads) {
  const Values split{1, 0, 1, 0};  // each reader sees the other's write first
  EXPECT_FALSE((outcomes_of<IndependentReads>(4, seq_cst, seq_cst).contains(split)));
  EXPECT_EQ(seen.size(), 15U);
  EXPECT_TRUE((outcomes_of<IndependentReads>(4, release, acquire).contains(split)));
  EXPECT_EQ(seen.size(), 16U);
}

struct Racing : Test {
  explicit Racing(bool locked) : locked(locked) {}
  bool locked;
  Mutex mutex;
  Var<int> n;
  void run(int) override {
    if (locked) mutex.lock();
    n.set(n.get() + 1);
    if (locked) mutex.unlock();
  }
  void finish() override { check(n.get() == 3, "a count is lost"); }
};

TEST(Explorer, DataRace) {
  EXPECT_SOUND((explore<Racing>(3, nullptr, true)));
  EXPECT_BROKEN((explore<Racing>(3, nullptr, false)), "data race");
}

struct TwoMutexes : Test {
  Mutex a, b;
  void run(int thread) override {
    MutexGuard first(thread == 0 ? a : b);
    MutexGuard second(thread == 0 ? b : a);
  }
};

TEST(Explorer, Deadlock) { EXPECT_BROKEN((explore<TwoMutexes>(2, nullptr)), "deadlock"); }

struct Endless : Test {
  Atomic<int> x;
  void run(int thread) override {
    if (thread == 0) {
      while (x.load(relaxed) == 0) {
      }
    }
  }
};

// A set-up of any length is no part of the execution.
struct LongSetup : Litmus {
  LongSetup() {
    for (int i = 0; i < 300; ++i) x.store(i, relaxed);
  }
  void run(int) override { x.fetch_add(1, relaxed); }
};

TEST(Explorer, LongSetup) { EXPECT_SOUND((explore<LongSetup>(2, nullptr))); }

// Every other run has one step less.
struct Capricious : Litmus {
  static inline int runs = 0;
  Capricious() { ++runs; }
  void run(int thread) override {
    if (thread == 0 && runs % 2 == 0) return;
    x.store(1, relaxed);
  }
};

TEST(Explorer, NotDeterministic) {
  EXPECT_BROKEN((explore<Capricious>(3, nullptr)), "not deterministic");
}

TEST(Explorer, NoEnd) { EXPECT_BROKEN((explore<Endless>(2, nullptr)), "no end"); }

}  // namespace
}  // namespace corbel::model
