// SPDX-License-Identifier: Apache-2.0
// The limits that follow the container, on the fake operating system, which counts how often they
// are read.
#include "alloc/policy/container_limit.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "alloc/policy/heap_limit.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

using Kind = MemoryAmount::Kind;

constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr std::size_t kGib = std::size_t{1} << 30;
constexpr MemoryAmount kAuto{Kind::kAuto, 0};
constexpr MemoryAmount kNone{Kind::kBytes, 0};
constexpr MemoryAmount percent(std::size_t n) { return {Kind::kShare, n * 100}; }

os::MemoryGrant grant_of(std::size_t limit, std::size_t physical = 32 * kGib) {
  os::MemoryGrant grant;
  grant.limit = limit;
  grant.physical = physical;
  return grant;
}

TEST(LimitOf, BytesAreBytes) {
  for (const std::size_t limit : {SIZE_MAX, 64 * kMib}) {
    EXPECT_EQ(soft_limit_of({Kind::kBytes, 400 * kMib}, grant_of(limit)), 400 * kMib);
    EXPECT_EQ(hard_limit_of(kNone, grant_of(limit)), 0U);
  }
}

TEST(LimitOf, AutoLeavesAnEighthAndAtLeastEightMebibytes) {
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(SIZE_MAX)), 0U);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(8 * kGib)), 7 * kGib);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(400 * kMib)), 350 * kMib);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(64 * kMib)), 56 * kMib);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(32 * kMib)), 24 * kMib);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(12 * kMib)), 6 * kMib);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(1)), 1U);
  EXPECT_EQ(soft_limit_of(kAuto, grant_of(0)), 1U) << "a grant of nothing is still a limit";
}

TEST(LimitOf, TheAutomaticHardLimitLiesBetweenTheSoftOneAndTheContainers) {
  EXPECT_EQ(hard_limit_of(kAuto, grant_of(SIZE_MAX)), 0U);
  for (const std::size_t limit : {20 * kMib, 64 * kMib, 400 * kMib, 8 * kGib}) {
    EXPECT_GT(hard_limit_of(kAuto, grant_of(limit)), soft_limit_of(kAuto, grant_of(limit)));
    EXPECT_LT(hard_limit_of(kAuto, grant_of(limit)), limit);
  }
}

TEST(LimitOf, SharesAreOfTheContainerOrElseOfTheMachine) {
  EXPECT_EQ(soft_limit_of(percent(80), grant_of(1000 * kMib)), 800 * kMib);
  EXPECT_EQ(hard_limit_of(percent(50), grant_of(SIZE_MAX)), 16 * kGib);
  EXPECT_EQ(soft_limit_of(percent(100), grant_of(1023)), 1023U);
  EXPECT_EQ(soft_limit_of({Kind::kShare, 1}, grant_of(100)), 1U);
  EXPECT_EQ(soft_limit_of(percent(80), grant_of(SIZE_MAX, 0)), 0U) << "the whole is unknown";
  EXPECT_EQ(soft_limit_of(percent(100), grant_of(SIZE_MAX - 1)), SIZE_MAX - 1);
}

TEST(Shortage, IsATenthOfTheTimeSinceTheLastLook) {
  Shortage shortage;
  os::MemoryGrant grant;
  grant.knows_stalls = true;
  grant.stalled_us = 1000000000;
  EXPECT_FALSE(shortage.look(grant, 5000)) << "the stall may be long over";
  EXPECT_FALSE(shortage.look(grant, 6000));
  grant.stalled_us += 99999;
  EXPECT_FALSE(shortage.look(grant, 7000));
  grant.stalled_us += 100000;
  EXPECT_TRUE(shortage.look(grant, 8000));
  EXPECT_FALSE(shortage.look(grant, 9000)) << "the shortage is over";
  grant.stalled_us += 100000;
  EXPECT_FALSE(shortage.look(grant, 19000)) << "a hundredth";
  grant.stalled_us += 1;
  EXPECT_FALSE(shortage.look(grant, 19000)) << "no time has passed";
}

TEST(Shortage, ACountOfAnotherGroupIsIgnored) {
  Shortage shortage;
  os::MemoryGrant grant;
  grant.knows_stalls = true;
  grant.stalled_us = 5000000;
  EXPECT_FALSE(shortage.look(grant, 1000));
  grant.stalled_us = 10;
  EXPECT_FALSE(shortage.look(grant, 2000));
  grant.stalled_us = 300000;
  EXPECT_TRUE(shortage.look(grant, 3000));
}

TEST(Shortage, LimitEventsCountWhereStallsAreUnknown) {
  Shortage shortage;
  os::MemoryGrant grant;
  grant.collisions = 7;
  EXPECT_FALSE(shortage.look(grant, 1000));
  EXPECT_FALSE(shortage.look(grant, 2000));
  grant.collisions = 8;
  EXPECT_TRUE(shortage.look(grant, 3000));
  grant.knows_stalls = true;
  grant.collisions = 9;
  EXPECT_FALSE(shortage.look(grant, 4000)) << "the first look at the stalls";
}

class ContainerLimitTest : public testing::Test {
 protected:
  void SetUp() override { os::fake::set_memory_grant(grant_of(SIZE_MAX)); }
  void TearDown() override {
    set_footprint(0);
    heap_limit.set(0, 0);
  }
  void set_footprint(std::size_t bytes) {
    footprint.commit(bytes);
    footprint.release(footprint_);
    footprint_ = bytes;
  }
  static std::size_t soft_limit() { return heap_limit.soft(); }
  static void wait_until_due() { std::this_thread::sleep_for(std::chrono::milliseconds(1050)); }

  ContainerLimit limit_;
  std::size_t footprint_ = 0;
};

TEST_F(ContainerLimitTest, ASmallProgramNeverLooks) {
  const std::uint64_t reads = os::fake::memory_grant_reads();
  os::fake::set_memory_grant(grant_of(64 * kMib));
  for (std::size_t bytes = 0; bytes < 15 * kMib; bytes += 64 * 1024) {
    set_footprint(bytes);
    EXPECT_FALSE(limit_.refresh());
  }
  EXPECT_EQ(os::fake::memory_grant_reads(), reads);
  EXPECT_EQ(soft_limit(), 0U);
}

TEST_F(ContainerLimitTest, ALimitIsFoundWithoutASetting) {
  const std::uint64_t reads = os::fake::memory_grant_reads();
  os::fake::set_memory_grant(grant_of(64 * kMib));
  set_footprint(16 * kMib);
  const std::uint64_t begin = os::now_ms();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limit_.refresh());
  EXPECT_EQ(soft_limit(), 56 * kMib);
  EXPECT_LE(os::fake::memory_grant_reads() - reads, 1 + (os::now_ms() - begin) / 1000);
  // The new limit is found within a second.
  os::fake::set_memory_grant(grant_of(160 * kMib));
  wait_until_due();
  EXPECT_FALSE(limit_.refresh());
  EXPECT_EQ(soft_limit(), 140 * kMib);
  os::fake::set_memory_grant(grant_of(SIZE_MAX));
  wait_until_due();
  EXPECT_FALSE(limit_.refresh());
  EXPECT_EQ(soft_limit(), 0U);
}

TEST_F(ContainerLimitTest, ShortageIsReported) {
  set_footprint(32 * kMib);
  os::MemoryGrant grant = grant_of(SIZE_MAX);
  grant.knows_stalls = true;
  os::fake::set_memory_grant(grant);
  EXPECT_FALSE(limit_.refresh());
  grant.stalled_us = 10000000;
  os::fake::set_memory_grant(grant);
  wait_until_due();
  EXPECT_TRUE(limit_.refresh());
  EXPECT_FALSE(limit_.refresh());
}

TEST_F(ContainerLimitTest, SharesTakeEffectAtOnceAndFollowTheContainer) {
  os::fake::set_memory_grant(grant_of(100 * kMib));
  limit_.ask_soft(percent(80), LimitSource::kEnvironment);
  EXPECT_EQ(soft_limit(), 80 * kMib);
  os::fake::set_memory_grant(grant_of(200 * kMib));
  set_footprint(32 * kMib);
  wait_until_due();
  limit_.refresh();
  EXPECT_EQ(soft_limit(), 160 * kMib);
}

TEST_F(ContainerLimitTest, LimitsInBytesDoNotFollowTheContainer) {
  os::fake::set_memory_grant(grant_of(64 * kMib));
  const std::uint64_t reads = os::fake::memory_grant_reads();
  limit_.ask_soft({Kind::kBytes, 400 * kMib}, LimitSource::kEnvironment);
  EXPECT_EQ(soft_limit(), 400 * kMib);
  EXPECT_EQ(os::fake::memory_grant_reads(), reads);
  set_footprint(32 * kMib);
  limit_.refresh();
  EXPECT_EQ(soft_limit(), 400 * kMib);
  EXPECT_EQ(os::fake::memory_grant_reads(), reads + 1) << "one read, to detect a shortage";
}

TEST_F(ContainerLimitTest, ACeilingLiftedAboveTheLimitStaysWhileTheLimitDoes) {
  os::fake::set_memory_grant(grant_of(64 * kMib));
  set_footprint(80 * kMib);
  limit_.refresh();
  ASSERT_EQ(soft_limit(), 56 * kMib);
  LimitCalls calls;
  ASSERT_TRUE(RoomSearch(nullptr, calls).find(4096));
  const std::size_t ceiling = footprint.ceiling();
  ASSERT_GT(ceiling, 80 * kMib);
  wait_until_due();
  limit_.refresh();
  EXPECT_EQ(footprint.ceiling(), ceiling);
  limit_.ask_soft(kAuto, LimitSource::kCall);
  EXPECT_EQ(footprint.ceiling(), 56 * kMib) << "a new request for the limit makes it hold at once";
}

TEST_F(ContainerLimitTest, NoneOpensNoFile) {
  os::fake::set_memory_grant(grant_of(64 * kMib));
  const std::uint64_t reads = os::fake::memory_grant_reads();
  limit_.ask_soft(kNone, LimitSource::kEnvironment);
  set_footprint(32 * kMib);
  EXPECT_FALSE(limit_.refresh());
  EXPECT_EQ(soft_limit(), 0U);
  EXPECT_EQ(os::fake::memory_grant_reads(), reads);
  // Setting a limit that follows the container opens the files.
  limit_.ask_soft(kAuto, LimitSource::kCall);
  EXPECT_EQ(soft_limit(), 56 * kMib);
}

TEST_F(ContainerLimitTest, ACallWinsOverTheEnvironment) {
  limit_.ask_soft({Kind::kBytes, 100 * kMib}, LimitSource::kCall);
  limit_.ask_soft({Kind::kBytes, 200 * kMib}, LimitSource::kEnvironment);
  EXPECT_EQ(soft_limit(), 100 * kMib);
  limit_.ask_soft({Kind::kBytes, 300 * kMib}, LimitSource::kCall);
  EXPECT_EQ(soft_limit(), 300 * kMib);
}

}  // namespace
}  // namespace corbel::alloc
