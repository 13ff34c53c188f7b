// SPDX-License-Identifier: Apache-2.0
// The checker of linearizability: it accepts the histories of a register and refuses others.
#include "linearizable.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <ostream>

namespace corbel::test {
namespace {

struct operation {
  bool writes;
  int value;

  friend std::ostream& operator<<(std::ostream& out, const operation& shown) {
    return out << (shown.writes ? "write " : "read ") << shown.value;
  }
};

struct a_register {
  int value = 0;

  bool apply(const operation& performed) {
    if (!performed.writes) return performed.value == value;
    value = performed.value;
    return true;
  }
  bool operator==(const a_register&) const = default;
};

constexpr bool kReads = false;
constexpr bool kWrites = true;

TEST(Linearizable, NoOperations) {
  EXPECT_TRUE(is_linearizable(a_register(), history<operation>(2)));
}

TEST(Linearizable, AReadDuringAWriteGivesEitherValue) {
  for (const int read : {0, 1, 2}) {
    history<operation> happened(2);
    happened.add(0, {kWrites, 1}, 0, 3);
    happened.add(1, {kReads, read}, 1, 2);
    EXPECT_EQ(is_linearizable(a_register(), happened), read != 2) << happened;
  }
}

TEST(Linearizable, AReadAfterAWriteGivesItsValue) {
  for (const int read : {0, 1}) {
    history<operation> happened(2);
    happened.add(0, {kWrites, 1}, 0, 1);
    happened.add(1, {kReads, read}, 2, 3);
    EXPECT_EQ(is_linearizable(a_register(), happened), read == 1) << happened;
  }
}

// Two reads during one write: the value must not go back.
TEST(Linearizable, ReadsAgreeOnTheOrder) {
  for (const bool back : {false, true}) {
    history<operation> happened(2);
    happened.add(0, {kWrites, 1}, 0, 9);
    happened.add(1, {kReads, back ? 1 : 0}, 1, 2);
    happened.add(1, {kReads, back ? 0 : 1}, 3, 4);
    EXPECT_EQ(is_linearizable(a_register(), happened), !back) << happened;
  }
}

// Each search for the order of the writes fails at its end.
TEST(Linearizable, RefusesAfterAllOrders) {
  history<operation> happened(8);
  for (int i = 0; i < 7; ++i) happened.add(i, {kWrites, i + 1}, 0, 1);
  happened.add(7, {kReads, 0}, 2, 3);
  EXPECT_FALSE(is_linearizable(a_register(), happened));
}

TEST(Linearizable, RecordsWhatThreadsDo) {
  std::atomic<int> shared{0};
  int rounds = 0;
  history<operation> happened(3);
  run_rounds(
      3, 200,
      [&] {
        happened.clear();
        shared.store(0, std::memory_order_relaxed);  // relaxed: the threads start after it
      },
      [&](int thread) {
        for (int i = 1; i <= 3; ++i) {
          happened.record(thread, {thread == 0, i}, [&](operation& o) {
            if (o.writes) {
              shared.store(o.value, std::memory_order_seq_cst);
            } else {
              o.value = shared.load(std::memory_order_seq_cst);
            }
          });
        }
      },
      [&] {
        EXPECT_EQ(happened.entries().size(), 9u);
        EXPECT_TRUE(is_linearizable(a_register(), happened)) << happened;
        ++rounds;
      });
  EXPECT_EQ(rounds, 200);
}

}  // namespace
}  // namespace corbel::test
