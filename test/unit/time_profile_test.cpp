// SPDX-License-Identifier: Apache-2.0
// The tables of the time profile.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "alloc/time_profile/count_table.hpp"
#include "alloc/time_profile/profiled_threads.hpp"
#include "alloc/time_profile/samples.hpp"
#include "alloc/time_profile/shared_lines.hpp"
#include "alloc/time_profile/time_setting.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

TEST(CountTableTest, EveryKeyHasOneRow) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kKeys = 3000;
  std::mutex reserving;
  reserve_counts();
  for (unsigned round = 0; round < 8; ++round) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> without_room{0};
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, round] {
        for (unsigned i = 0; i < kKeys; ++i) {
          if (i % 100 == 0) {
            const std::lock_guard guard(reserving);
            reserve_counts();
          }
          CountRow* const row = find_count({round * kKeys + i + 1, 7, 0, 0});
          if (row == nullptr) {
            ++without_room;
          } else {
            row->faults.fetch_add(1);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(without_room, 0U);
  }
  std::map<StackId, std::uint64_t> found;
  for_each_count(
      [](void* context, const CountRow& row) {
        auto& sums = *static_cast<std::map<StackId, std::uint64_t>*>(context);
        if (row.key.thread != 7) return;
        EXPECT_TRUE(sums.emplace(row.key.stack, row.faults.load()).second);
      },
      &found);
  EXPECT_EQ(found.size(), 8 * kKeys);
  for (const auto& [stack, faults] : found) EXPECT_EQ(faults, kThreads) << stack;
}

// As in the handler of a sample's signal.
void take_sample(std::uint32_t number) {
  static std::uint32_t of_task;
  of_task = number;
  struct sigaction action = {};
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    handle_sample({os::SampleKind::kFaults, of_task, context});
  };
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  raise(SIGUSR1);
}

// No other test here makes memory for stacks.
TEST(SamplesTest, AStackWithoutRoomIsCounted) {
  reserve_counts();
  const std::uint32_t number = make_task();
  task_at(number)->id = os::thread_id();
  begin_samples(1000000);
  take_sample(number);
  EXPECT_EQ(lost_samples().without_room, 1U);
  reserve_stacks();
  take_sample(number);
  EXPECT_EQ(lost_samples().without_room, 1U);
  end_samples();
}

arch::MemoryAccess access_to(std::uintptr_t address, unsigned size, bool writes) {
  return {address, size, !writes, writes};
}

std::uint64_t lines_now = 1000;  // ms

class SharedLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    reserve_lines();
    set_lines_clock([] { return lines_now; });
  }
  void TearDown() override { set_lines_clock(os::now_ms); }

  // A line that no other test uses.
  std::uintptr_t line() const {
    static std::uintptr_t next = 0x10000000;
    return next += 4096;
  }

  // Whether one of several accesses in turn is to a line that is shared in vain.
  static bool is_in_vain(const arch::MemoryAccess& first, const arch::MemoryAccess& second) {
    bool found = false;
    for (int i = 0; i < 4; ++i) {
      found |= note_access(1, first);
      found |= note_access(2, second);
    }
    return found;
  }
};

TEST_F(SharedLinesTest, OtherBytesOfOneLine) {
  const std::uintptr_t a = line();
  EXPECT_TRUE(is_in_vain(access_to(a, 8, true), access_to(a + 8, 8, true)));
}

TEST_F(SharedLinesTest, OneOfTheTwoWrites) {
  const std::uintptr_t a = line();
  EXPECT_TRUE(is_in_vain(access_to(a, 8, false), access_to(a + 56, 8, true)));
}

TEST_F(SharedLinesTest, NeitherWrites) {
  const std::uintptr_t a = line();
  EXPECT_FALSE(is_in_vain(access_to(a, 8, false), access_to(a + 8, 8, false)));
}

TEST_F(SharedLinesTest, TheSameBytes) {
  const std::uintptr_t a = line();
  EXPECT_FALSE(is_in_vain(access_to(a, 8, true), access_to(a, 8, true)));
  const std::uintptr_t b = line();
  EXPECT_FALSE(is_in_vain(access_to(b, 8, true), access_to(b + 7, 1, true)));
}

TEST_F(SharedLinesTest, LinesOfTheirOwn) {
  const std::uintptr_t a = line();
  EXPECT_FALSE(is_in_vain(access_to(a, 8, true), access_to(a + 64, 8, true)));
  const std::uintptr_t b = line();  // what lies beyond the line does not count
  EXPECT_FALSE(is_in_vain(access_to(b + 56, 16, true), access_to(b + 64, 8, true)));
}

TEST_F(SharedLinesTest, OneThread) {
  const std::uintptr_t a = line();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(note_access(1, access_to(a, 8, true)));
    EXPECT_FALSE(note_access(1, access_to(a + 8, 8, true)));
  }
}

TEST_F(SharedLinesTest, OneAccessIsNotEnough) {
  const std::uintptr_t a = line();
  for (int i = 0; i < 4; ++i) note_access(1, access_to(a, 8, true));
  EXPECT_FALSE(note_access(2, access_to(a + 8, 8, true)));
  EXPECT_TRUE(note_access(2, access_to(a + 8, 8, true)));
}

TEST_F(SharedLinesTest, AccessesThatAreLongAgoDoNotCount) {
  const std::uintptr_t a = line();
  for (int i = 0; i < 2; ++i) note_access(1, access_to(a, 8, true));
  lines_now += 100;
  note_access(2, access_to(a + 8, 8, true));
  EXPECT_TRUE(note_access(2, access_to(a + 8, 8, true)));
  lines_now += 1;
  EXPECT_FALSE(note_access(2, access_to(a + 8, 8, true)));
}

constexpr bool is_setting(const char* text, std::uint64_t every) {
  TimeSetting setting;
  return parse_time_setting(text, &setting) && setting.every == every;
}
static_assert(is_setting("time", 1000000));
static_assert(is_setting("time,every=100us", 100000));
static_assert(is_setting("time,timer=cpu,every=1s,file=a", 1000000000));
static_assert(!is_setting("time,every=99us", 99000));
static_assert(is_time_setting("time,") && !is_time_setting("timer") && !is_time_setting("heap"));

}  // namespace
}  // namespace corbel::alloc
