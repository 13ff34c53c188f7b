// SPDX-License-Identifier: Apache-2.0
// realloc at the hard limit on a system that does not move pages, or loses some half way through a
// move. Also how often one request calls the program's callback, however many ways it tries.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

constexpr std::size_t kKib = std::size_t{1} << 10;
constexpr std::size_t kMib = std::size_t{1} << 20;

void give_all_back() {
  trim(0);
  // A request that no system can serve makes the heap unmap its free memory.
  EXPECT_EQ(allocate(std::size_t{1} << 46), nullptr);
}

class ReallocLimitTest : public testing::Test {
 protected:
  void SetUp() override { give_all_back(); }
  void TearDown() override {
    lift();
    trim(0);
    EXPECT_STREQ(os::fake::first_breach(), nullptr);
    EXPECT_EQ(stats().live, live_);
    EXPECT_GE(footprint.bytes(), os::fake::resident_bytes());
    EXPECT_LE(footprint.bytes(), os::fake::resident_bytes() + 256 * kKib);
  }
  static void lift() {
    os::fake::refuse({});
    corbel_set_heap_limit(0);
    corbel_set_heap_hard_limit(0);
    corbel_on_limit(nullptr, nullptr);
  }

  std::size_t live_ = stats().live;
};

using Bytes = unsigned char;

Bytes* filled(void* block) {
  if (block != nullptr) std::memset(block, 0x5a, usable_size(block));
  return static_cast<Bytes*>(block);
}

// Writes its offset into every 4 KiB of the block, so that misplaced pages are found.
void number(Bytes* block, std::size_t size) {
  for (std::size_t i = 0; i < size; i += 4 * kKib) std::memcpy(block + i, &i, sizeof i);
}

bool is_numbered(const Bytes* block, std::size_t size) {
  for (std::size_t i = 0; i < size; i += 4 * kKib) {
    if (std::memcmp(block + i, &i, sizeof i) != 0) return false;
  }
  return true;
}

// Makes a block of several mappings, each of which the system moves on its own.
Bytes* in_pieces(std::size_t step, std::size_t count) {
  Bytes* block = filled(allocate(step));
  for (std::size_t i = 2; i <= count; ++i) {
    Bytes* const wall = filled(allocate(kMib));
    block = filled(reallocate(block, i * step));
    deallocate(wall);
  }
  return block;
}

struct Peak {
  explicit Peak(std::size_t limit) : allowed(std::max(limit, footprint.peak())) {}
  ~Peak() { EXPECT_LE(footprint.peak(), allowed) << "the limit was exceeded"; }
  const std::size_t allowed;
};

constexpr std::size_t kStep = 8 * kMib, kPieces = 4, kAll = kStep * kPieces;

struct Outcomes {
  int granted = 0;
  int refused = 0;
};

// Grows a block at the hard limit while `room` bytes are left below it. The fake system misbehaves
// as `with` says.
Outcomes grow_at_the_limit(const os::fake::Refusals& with, std::size_t room, unsigned seeds) {
  Outcomes outcomes;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Bytes* block = in_pieces(kStep, kPieces);
    Bytes* const wall = filled(allocate(kMib));
    number(block, kAll);
    // The block cannot grow in place, and no move has failed yet.
    give_all_back();
    const std::size_t limit = footprint.bytes() + room;
    EXPECT_EQ(corbel_set_heap_hard_limit(limit), 0);
    const Peak peak(limit);
    os::fake::Refusals refusals = with;
    refusals.seed = seed;
    os::fake::refuse(refusals);
    errno = 0;
    void* const moved = reallocate(block, kAll + 4 * kMib);
    os::fake::refuse({});
    EXPECT_LE(footprint.bytes(), limit) << seed;
    EXPECT_LE(os::fake::resident_bytes(), footprint.bytes()) << seed;
    if (moved == nullptr) {
      EXPECT_EQ(errno, ENOMEM);
      EXPECT_GE(usable_size(block), kAll);
      ++outcomes.refused;
    } else {
      block = static_cast<Bytes*>(moved);
      ++outcomes.granted;
    }
    EXPECT_TRUE(is_numbered(block, kAll)) << seed;
    corbel_set_heap_hard_limit(0);
    filled(block);
    deallocate(block);
    deallocate(wall);
    EXPECT_GE(footprint.bytes(), os::fake::resident_bytes());
    trim(0);
    EXPECT_LE(footprint.bytes(), os::fake::resident_bytes() + 256 * kKib);
  }
  return outcomes;
}

TEST_F(ReallocLimitTest, APageThatDoesNotMoveNeedsRoomForACopy) {
  const Outcomes outcomes = grow_at_the_limit({.moves_in_1000 = 1000}, 9 * kMib, 2);
  EXPECT_EQ(outcomes.refused, 2);
}

TEST_F(ReallocLimitTest, PagesThatDoNotMoveAreCopiedWhereThereIsRoom) {
  const Outcomes outcomes = grow_at_the_limit({.moves_in_1000 = 1000}, kAll + 9 * kMib, 2);
  EXPECT_EQ(outcomes.granted, 2);
}

TEST_F(ReallocLimitTest, AMoveThatStopsHalfWayIsUndone) {
  const Outcomes outcomes = grow_at_the_limit({.moves_in_1000 = 400}, 9 * kMib, 12);
  EXPECT_GE(outcomes.refused, 3);
  EXPECT_GE(outcomes.granted, 1);
}

TEST_F(ReallocLimitTest, ATargetThatIsLostDoesNotExceedTheLimit) {
  const Outcomes outcomes = grow_at_the_limit({.lost_targets_in_1000 = 400}, 9 * kMib, 12);
  EXPECT_GE(outcomes.refused, 3);
  EXPECT_GE(outcomes.granted, 1);
}

// With room for a copy, a lost target costs only the copy.
TEST_F(ReallocLimitTest, ATargetThatIsLostIsReplaced) {
  const Outcomes outcomes =
      grow_at_the_limit({.moves_in_1000 = 300, .lost_targets_in_1000 = 400}, 200 * kMib, 6);
  EXPECT_EQ(outcomes.granted, 6);
}

// ---- calls of the callback ----------------------------------------------------------------

struct Calls {
  int count = 0;
  int answer = 1;
  void (*first)(Calls*) = nullptr;
  void* block = nullptr;
  std::size_t first_size = 0;
};

int count_call(void* context, std::size_t size) {
  auto* calls = static_cast<Calls*>(context);
  if (calls->count == 0) calls->first_size = size;
  if (++calls->count == 1 && calls->first != nullptr) calls->first(calls);
  return calls->answer;
}

// The block could grow in place until the callback takes that space. Then it has to move.
TEST_F(ReallocLimitTest, GrowingInPlaceAndMovingShareOneSeriesOfCalls) {
  auto* block = static_cast<Bytes*>(allocate(30 * kMib));
  ASSERT_EQ(reallocate(block, 4 * kMib), filled(block));
  Bytes* const wall = filled(allocate(26 * kMib));
  ASSERT_EQ(wall, block + 4 * kMib);
  ASSERT_EQ(reallocate(block, 3 * kMib), block);
  trim(0);
  Calls calls;
  calls.first = [](Calls* self) { self->block = filled(allocate(300 * kKib)); };
  ASSERT_EQ(corbel_on_limit(count_call, &calls), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(footprint.bytes() + 600 * kKib), 0);
  const std::size_t refusals = heap_limit.figures().refusals;
  EXPECT_EQ(reallocate(block, 4 * kMib), nullptr);
  EXPECT_EQ(calls.block, block + 3 * kMib)
      << "the callback's block does not lie where the test needs it";
  EXPECT_EQ(calls.count, 8);
  EXPECT_EQ(heap_limit.figures().refusals - refusals, 1U);
  deallocate(calls.block);
  deallocate(block);
  deallocate(wall);
}

// The request makes the thread's heap, too. Threads stay alive until no heap of an ended thread is
// left to reuse and a new heap does not fit beside the others.
TEST_F(ReallocLimitTest, TheHeapAndTheBlockShareOneSeriesOfCalls) {
  std::vector<std::thread> threads;
  std::atomic<unsigned> ready{0};
  std::atomic<bool> done{false};
  bool asked_for_heap = false;
  while (!asked_for_heap && threads.size() < 40) {
    Calls calls;
    calls.first = [](Calls*) { corbel_set_heap_hard_limit(footprint.bytes() + 32 * kKib); };
    ASSERT_EQ(corbel_on_limit(count_call, &calls), 0);
    threads.emplace_back([&] {
      corbel_set_heap_hard_limit(1);
      EXPECT_EQ(allocate(100 * kKib), nullptr);
      corbel_set_heap_hard_limit(0);
      ++ready;
      while (!done) std::this_thread::yield();
    });
    while (ready != threads.size()) std::this_thread::yield();
    EXPECT_EQ(calls.count, 8);
    asked_for_heap = calls.first_size < 32 * kKib;
  }
  EXPECT_TRUE(asked_for_heap);
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReallocLimitTest, ACallbackThatReturnsZeroIsNotCalledAgain) {
  Calls calls{.answer = 0};
  ASSERT_EQ(corbel_on_limit(count_call, &calls), 0);
  Bytes* const block = filled(allocate(3 * kMib));
  ASSERT_EQ(corbel_set_heap_hard_limit(1), 0);
  EXPECT_EQ(reallocate(block, 10 * kMib), nullptr);
  EXPECT_EQ(calls.count, 1);
  EXPECT_EQ(reallocate_aligned(block, 10 * kMib, 4 * kMib), nullptr);
  EXPECT_EQ(calls.count, 2);
  // A block that shrinks can always stay in place: no refusal, and no call of the callback.
  errno = 0;
  const std::size_t refusals = heap_limit.figures().refusals;
  EXPECT_EQ(reallocate(block, 2 * kMib), block);
  trim(0);
  EXPECT_EQ(reallocate(block, 100 * kKib), block);
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(calls.count, 2);
  EXPECT_EQ(heap_limit.figures().refusals, refusals);
  deallocate(block);
}

}  // namespace
}  // namespace corbel::alloc
