// SPDX-License-Identifier: Apache-2.0
// The growth of concurrent_vector (include/corbel/detail/vector_growth.hpp): each claimed element
// has memory before it is used, no memory is added twice, the entries of the table are seen, also
// in a longer table, and a failed allocation strands no thread.
#include <corbel/detail/vector_growth.hpp>

#include <array>
#include <cstddef>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

// The entries of the tables are plain variables, and so are the elements.
using Entry = Var<int>;

// A vector whose segments have one element each. Segment i has memory if its entry is i + 1. The
// short table has two entries.
template <int kSpins>
struct Vector {
  using Memory = detail::basic_vector_memory<Atomic, Kernel<kSpins>, Entry, 2>;
  Memory memory;  // capacity is location 0, table 1, lock 2
  detail::basic_vector_claims<Atomic> claims;
  std::array<Entry, 4> long_table;
  int failing = -1;  // the segment whose allocation fails

  std::size_t add(std::size_t capacity, std::size_t) {
    if (int(capacity) == failing) return capacity;
    if (capacity == 2) {
      for (std::size_t i = 0; i < 2; ++i) long_table[i].set(memory.short_table()[i].get());
      memory.set_table(long_table.data());
    }
    Entry& entry = memory.table()[capacity];
    check(entry.get() == 0, "memory is added twice");
    entry.set(int(capacity) + 1);
    return capacity + 1;
  }
  bool reach(std::size_t n, bool breaks = true) {
    return memory.reach(n, [this](std::size_t c, std::size_t k) { return add(c, k); }, breaks);
  }
  void use(std::size_t i) {
    check(memory.table()[i].get() == int(i) + 1, "an element has no memory");
  }
};

// Each thread appends some elements in one step each, then uses them.
template <int kSpins>
struct Appends : Test {
  explicit Appends(std::array<int, 3> counts, int failing = -1) : counts(counts) {
    vector.failing = failing;
  }

  Vector<kSpins> vector;
  const std::array<int, 3> counts;
  int appended = 0;
  int refused = 0;

  void run(int thread) override {
    const std::size_t n = std::size_t(counts[std::size_t(thread)]);
    const std::size_t first = vector.claims.claim(n);
    if (!vector.reach(first + n)) {
      ++refused;
      return;
    }
    appended += int(n);
    for (std::size_t i = first; i < first + n; ++i) vector.use(i);
  }

  void finish() override {
    if (vector.failing < 0) {
      check(refused == 0, "an element is refused");
      check(vector.memory.capacity() == vector.claims.claimed(), "memory is missing");
    } else {
      check(int(vector.memory.capacity()) == vector.failing, "memory is added to a broken vector");
      check(!vector.reach(vector.claims.claimed()), "a broken vector grows");
    }
    check(vector.memory.capacity() >= std::size_t(appended), "an element has no memory");
  }
};

// One thread appends, one reads what the capacity promises, one wants three elements.
struct Readers : Test {
  Vector<0> vector;
  std::array<std::size_t, 2> claimed{};

  void run(int thread) override {
    if (thread == 0) {
      claimed[0] = 1;
      const std::size_t i = vector.claims.claim(1);
      vector.reach(i + 1);
      vector.use(i);
    } else if (thread == 1) {
      const std::size_t n = vector.memory.capacity();
      for (std::size_t i = 0; i < n; ++i) vector.use(i);
    } else {
      const std::size_t first = vector.claims.claim_up_to(3);
      vector.reach(3);
      for (std::size_t i = first; i < 3; ++i) vector.use(i);
    }
  }

  void finish() override {
    const std::size_t n = vector.claims.claimed();
    check(n == 3 || n == 4, "an element is claimed twice");
    check(vector.memory.capacity() == n, "memory is missing");
  }
};

using Counts = std::array<int, 3>;

TEST(VectorGrowth, TwoThreads) { EXPECT_SOUND((explore<Appends<1>>(2, nullptr, Counts{2, 2, 0}))); }
TEST(VectorGrowth, Readers) { EXPECT_SOUND((explore<Readers>(3, nullptr))); }
TEST(VectorGrowth, AllocationFails) {
  for (int failing = 0; failing < 4; ++failing) {
    EXPECT_SOUND((explore<Appends<0>>(2, nullptr, Counts{2, 2, 0}, failing)));
  }
  EXPECT_SOUND((explore<Appends<0>>(3, nullptr, Counts{1, 1, 1}, 0)));
}

// ---- mutants: each must fail -----------------------------------------------------------------

constexpr int kCapacity = 0;
constexpr int kTable = 1;

Mutation weaken(int location, Op op, std::memory_order from) {
  return [=](Step& step) {
    if (step.location == location && step.op == op && step.order == from) step.order = relaxed;
  };
}

TEST(VectorGrowthMutant, CapacityDoesNotPublish) {
  EXPECT_BROKEN((explore<Readers>(3, weaken(kCapacity, Op::kStore, release))), "data race");
}

TEST(VectorGrowthMutant, CapacityIsNotAcquired) {
  EXPECT_BROKEN((explore<Readers>(3, weaken(kCapacity, Op::kLoad, acquire))), "data race");
}

TEST(VectorGrowthMutant, LongerTableIsNotPublished) {
  EXPECT_BROKEN((explore<Readers>(3, weaken(kTable, Op::kStore, release))), "data race");
}

TEST(VectorGrowthMutant, TableIsNotAcquired) {
  EXPECT_BROKEN((explore<Readers>(3, weaken(kTable, Op::kLoad, acquire))), "data race");
}

// The capacity counts one more element than has memory.
TEST(VectorGrowthMutant, CapacityIsPublishedTooEarly) {
  const Mutation early = [](Step& step) {
    if (step.location == kCapacity && step.op == Op::kStore) ++step.operand;
  };
  EXPECT_BROKEN((explore<Appends<0>>(2, early, Counts{1, 1, 0})), "an element has no memory");
}

// Two threads get the same elements.
TEST(VectorGrowthMutant, ClaimDoesNotAdd) {
  const Mutation no_claim = [](Step& step) {
    if (step.op == Op::kFetch) step.operand = 0;
  };
  EXPECT_BROKEN((explore<Appends<0>>(2, no_claim, Counts{1, 1, 0})), "memory is missing");
}

// The thread whose allocation fails keeps the lock.
TEST(VectorGrowthMutant, FailureKeepsTheLock) {
  const Mutation keeps = [](Step& step) {
    if (step.location == 2 && step.op == Op::kExchange && step.operand == 0) step.op = Op::kNothing;
  };
  EXPECT_BROKEN((explore<Appends<0>>(2, keeps, Counts{1, 1, 0}, 0)), "deadlock");
}

}  // namespace
}  // namespace corbel::model
