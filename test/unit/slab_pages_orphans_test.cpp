// SPDX-License-Identifier: Apache-2.0
// Decommitted pages where threads end: slabs of orphans, blocks freed during a purge, and a random
// test of both.
#include <memory>
#include <thread>

#include "alloc/heap/orphans.hpp"
#include "alloc/heap/remote.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/policy/reclaim.hpp"
#include "slab_pages_fixture.hpp"

namespace corbel::alloc {
namespace {

TEST_F(SlabPagesTest, OrphansAreAlsoPurged) {
  std::vector<Piece> kept;
  std::vector<Piece> others;
  std::thread([&] {
    std::mt19937 random(3);
    for (const std::size_t size : {8, 64, 200, 1280, 5120, 40960}) {
      const std::size_t n = kSizeClasses[class_of(size)].capacity * 4;
      for (std::size_t i = 0; i < n; ++i) {
        const Piece piece = make(size, i);
        // Keep one block of every slab, and a few more.
        const bool keeps = kept.empty() || slab_of(kept.back().block) != slab_of(piece.block);
        (keeps || random() % 200 == 0 ? kept : others).push_back(piece);
      }
    }
  }).join();
  retire_rested(0);
  free_all(others);
  flush_thread(this_heap);
  tidy_orphans();
  EXPECT_GT(purge_orphans(), 1U << 20);
  ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  for (const Piece& piece : kept) {
    ASSERT_EQ(owner_of(slab_of(piece.block)->tag()), &orphan_heap);
  }
  // A slab without changes is not visited again.
  const std::uint64_t calls = os::fake::figures().decommit_calls;
  EXPECT_EQ(purge_orphans(), 0U);
  EXPECT_EQ(os::fake::figures().decommit_calls, calls);

  // A thread that needs blocks adopts the slabs and gets every block of them.
  std::vector<Piece> again;
  std::thread([&] {
    std::set<Span*> slabs;
    for (const Piece& piece : kept) slabs.insert(slab_of(piece.block));
    for (const Piece& piece : others) {
      again.push_back(make(piece.size, again.size()));
      ASSERT_EQ(slabs.count(slab_of(again.back().block)), 1U) << "a block was lost";
    }
    expect_whole(again);
  }).join();
  expect_whole(kept);
  free_all(again);
  trim(0);
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  expect_whole(kept);
  free_all(kept);
}

std::vector<Piece> make_orphans(std::size_t size, std::size_t slabs) {
  std::vector<Piece> pieces;
  std::thread([&] {
    const std::size_t n = kSizeClasses[class_of(size)].capacity * slabs;
    for (std::size_t i = 0; i < n; ++i) pieces.push_back(make(size, i));
  }).join();
  retire_rested(0);
  return pieces;
}

// Frees all pieces but every n-th, counted from the i-th.
std::vector<Piece> free_others(const std::vector<Piece>& pieces, std::size_t n, std::size_t i) {
  std::vector<Piece> kept;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (k % n == i) {
      kept.push_back(pieces[k]);
    } else {
      deallocate(pieces[k].block);
    }
  }
  flush_thread(this_heap);
  return kept;
}

// A purge that the system refused is not retried before more of the slab is free.
TEST_F(SlabPagesTest, AnOrphanIsVisitedAgainWhenSomethingWasFreed) {
  std::vector<Piece> kept = free_others(make_orphans(1024, 3), 16, 1);
  os::fake::refuse({.decommits_in_1000 = 1000});
  const std::uint64_t calls = os::fake::figures().decommit_calls;
  EXPECT_EQ(purge_orphans(), 0U);
  EXPECT_GT(os::fake::figures().decommit_calls, calls);
  os::fake::refuse({});
  EXPECT_EQ(purge_orphans(), 0U);
  kept = free_others(kept, 2, 0);
  EXPECT_GT(purge_orphans(), 0U);
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  free_all(kept);
}

std::vector<Piece> to_free_meanwhile;

// While a slab is being purged, another thread frees blocks of it: some of them, or all.
TEST_F(SlabPagesTest, BlocksFreedDuringAPurgeArrive) {
  for (const bool some : {true, false}) {
    const std::vector<Piece> before = free_others(make_orphans(1024, 2), 8, 0);
    std::vector<Piece> kept;
    to_free_meanwhile.clear();
    for (std::size_t i = 0; i < before.size(); ++i) {
      (some && i % 2 == 0 ? kept : to_free_meanwhile).push_back(before[i]);
    }
    os::fake::at_decommit([](void*, std::size_t) {
      os::fake::at_decommit(nullptr);
      std::thread([] { free_all(to_free_meanwhile); }).join();
      retire_rested(0);
    });
    EXPECT_GT(purge_orphans(), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    for (const Piece& piece : kept) {
      const Span* slab = slab_of(piece.block);
      EXPECT_EQ(owner_of(slab->tag()), &orphan_heap);
      EXPECT_EQ(slab->blocks.used.get(), kept.size() / 2)
          << "a freed block is left in an inbox that no thread empties";
    }
    if (!some) {
      EXPECT_EQ(orphan_heap.bins[class_of(1024)].available.first, nullptr);
    }
    purge_orphans();
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
    expect_whole(kept);
    free_all(kept);
    flush_thread(this_heap);
  }
}

TEST_F(SlabPagesTest, AThreadWithoutAHeapPurgesTheOrphansToo) {
  std::vector<Piece> kept;
  std::thread([&] { kept = thin_out(256, [](std::size_t i) { return i % 64 == 0; }); }).join();
  retire_rested(0);
  std::thread([&] {
    ASSERT_EQ(this_heap, &unset_heap);
    EXPECT_GT(purge_orphans(), 0U);
  }).join();
  ASSERT_NO_FATAL_FAILURE(expect_only_resident(kept));
  expect_whole(kept);
  free_all(kept);
}

// Random operations in several threads that start and end. Every byte is checked.
class Churn {
 public:
  explicit Churn(std::uint64_t seed) : random_(seed) {}
  ~Churn() {
    for (const Piece& piece : held_) check_and_free(piece);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  // Takes the pieces of another thread over.
  void take_from(Churn& other) {
    held_.insert(held_.end(), other.held_.begin(), other.held_.end());
    other.held_.clear();
  }

 private:
  void step() {
    const unsigned kind = unsigned(random_() % 1000);
    if (kind < 2) {
      // Another thread's trim() may take the heap away unless the heap is marked as in use.
      Heap* heap = find_heap();
      const SlowPath slow_path(heap);
      if (heap == nullptr) return;
      purge_slabs(heap);
      ASSERT_NO_FATAL_FAILURE(expect_all_sound(*heap));
    } else if (kind < 4) {
      purge_orphans();
    } else if (kind < 5) {
      trim(0);
    } else if (kind < 8) {
      // Allocate in waves: most pieces of a wave are freed, a few survive.
      while (held_.size() > 40) drop();
      size_ = std::size_t(1) << random_() % 14;
    } else if (kind < 620 || held_.empty()) {
      add();
    } else {
      drop();
    }
  }

  void add() {
    const std::size_t size = random_() % 40 == 0 ? random_() % kMediumMax : 1 + random_() % size_;
    const bool zeroed = random_() % 3 == 0;
    auto* block = static_cast<unsigned char*>(zeroed ? allocate_zeroed(1, size) : allocate(size));
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(!zeroed || is_zero(block, size));
    held_.push_back({block, size, random_()});
    fill(held_.back());
  }

  void drop() {
    std::swap(held_[random_() % held_.size()], held_.back());
    check_and_free(held_.back());
    held_.pop_back();
  }

  static void check_and_free(const Piece& piece) {
    EXPECT_TRUE(is_whole(piece)) << "a block of " << piece.size << " has changed";
    deallocate(piece.block);
  }

  std::mt19937_64 random_;
  std::size_t size_ = 512;
  std::vector<Piece> held_;
};

void churn(std::size_t page, std::uint64_t seed, int rounds) {
  trim(0);  // gives all slabs back before the page size changes
  os::fake::pretend_page_size(page);
  os::fake::refuse({.decommits_in_1000 = seed % 2 * 100, .seed = seed});
  std::vector<std::unique_ptr<Churn>> states;
  for (std::uint64_t i = 0; i < 3; ++i) states.push_back(std::make_unique<Churn>(seed * 16 + i));
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (auto& state : states) threads.emplace_back([&state] { state->run(4000); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " round " << round;
    ASSERT_NO_FATAL_FAILURE(expect_all_sound(orphan_heap));
    ASSERT_NO_FATAL_FAILURE(expect_counted());
    // Pass the blocks on, so that they are freed by threads that do not own them.
    std::rotate(states.begin(), states.begin() + 1, states.end());
    states[0]->take_from(*states[1]);
    states[0]->run(2000);
  }
}

TEST_F(SlabPagesTest, RandomOperationsKeepEveryByte) {
  const char* text = std::getenv("CORBEL_CHURN_SEEDS");
  const std::uint64_t seeds = text != nullptr ? std::strtoull(text, nullptr, 10) : 2;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const std::size_t page : {4096, 16384, 65536}) {
      ASSERT_NO_FATAL_FAILURE(churn(page, seed, 4));
    }
  }
}

}  // namespace
}  // namespace corbel::alloc
