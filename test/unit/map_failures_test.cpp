// SPDX-License-Identifier: Apache-2.0
// The system refuses memory at the n-th call, for every n of a mixed workload, for a while, or at
// random; other calls fail, too. Each time the program gets either what it asked for or a null
// pointer and ENOMEM. No byte is lost, and once the system grants memory again, everything works
// and all memory is given back.
//
// The same cases run under limits of the heap that change all the time, with a callback that frees
// something.
//
// Every case runs in a child process of its own, because the first calls of a process must be able
// to fail, too.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/map/footprint.hpp"
#include "os/fake/fake.hpp"

namespace corbel::alloc {
namespace {

// The workload makes at least this many calls that can be refused.
constexpr unsigned kCalls = 300;

#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: FAILED: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stderr);                                                         \
      _exit(1);                                                                    \
    }                                                                              \
  } while (false)

struct Piece {
  unsigned char* block;
  std::size_t size;
  unsigned char mark;
};

class Workload {
 public:
  // With `limits`, the limits of the heap change between the steps.
  explicit Workload(bool may_fail, bool limits = false) : may_fail_(may_fail), limits_(limits) {}

  void run(unsigned seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 100; ++step) {
      const std::size_t size = draw_size(random);
      switch (random() % 8) {
        case 0:
        case 1:
          keep(allocate(size), size);
          break;
        case 2:
          keep_zeroed(allocate_zeroed(3, size / 3 + 1), (size / 3 + 1) * 3);
          break;
        case 3:
          keep_aligned(size, std::size_t{16} << random() % 17);
          break;
        case 4:
          if (!pieces_.empty()) resize(random() % pieces_.size(), size);
          break;
        default:
          if (!pieces_.empty()) release(random() % pieces_.size());
      }
      // Unmap all free memory now and then, so that the next block needs the system again.
      if (step % 8 == 7) unmap_free_memory();
      if (limits_ && step % 4 == 1) set_limit(random);
    }
  }

  // A request that no system can serve makes the allocator unmap all free memory.
  static void unmap_free_memory() {
    REQUIRE(allocate(std::size_t{1} << 46) == nullptr);
    REQUIRE(errno == ENOMEM);
    errno = 0;
  }

  void release_all() {
    while (!pieces_.empty()) release(pieces_.size() - 1);
  }

  std::size_t failures() const { return failures_; }

 private:
  static void set_limit(std::mt19937& random) {
    const std::size_t now = footprint.bytes();
    const std::size_t limits[] = {0, 1, now, now + random() % 2000000, now / 2, 8000000};
    const std::size_t limit = limits[random() % std::size(limits)];
    REQUIRE((random() % 2 == 0 ? corbel_set_heap_limit : corbel_set_heap_hard_limit)(limit) == 0);
  }

  static std::size_t draw_size(std::mt19937& random) {
    switch (random() % 6) {
      case 0:
        return 140000 + random() % 400000;
      case 1:
        return 2000 + random() % 60000;
      default:
        return random() % 1500;
    }
  }

  void keep(void* block, std::size_t size) {
    if (block == nullptr) {
      REQUIRE(errno == ENOMEM);
      REQUIRE(may_fail_);
      ++failures_;
      errno = 0;
      return;
    }
    const auto mark = static_cast<unsigned char>(pieces_.size() * 7 + 1);
    std::memset(block, mark, size);
    pieces_.push_back({static_cast<unsigned char*>(block), size, mark});
  }

  void keep_zeroed(void* block, std::size_t size) {
    const auto* bytes = static_cast<unsigned char*>(block);
    if (bytes != nullptr) {
      REQUIRE(bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
    }
    keep(block, size);
  }

  void keep_aligned(std::size_t size, std::size_t alignment) {
    void* block = allocate_aligned(size, alignment);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
    keep(block, size);
  }

  static void check(const Piece& piece, std::size_t size) {
    if (size == 0) return;
    REQUIRE(piece.block[0] == piece.mark);
    REQUIRE(std::memcmp(piece.block, piece.block + 1, size - 1) == 0);
  }

  void resize(std::size_t i, std::size_t size) {
    Piece& piece = pieces_[i];
    if (size == 0) return;
    void* moved = reallocate(piece.block, size);
    if (moved == nullptr) {
      REQUIRE(errno == ENOMEM);
      REQUIRE(may_fail_);
      ++failures_;
      errno = 0;
      check(piece, piece.size);
      return;
    }
    piece.block = static_cast<unsigned char*>(moved);
    check(piece, std::min(piece.size, size));
    piece.size = size;
    std::memset(piece.block, piece.mark, size);
  }

  void release(std::size_t i) {
    check(pieces_[i], pieces_[i].size);
    errno = 77;
    deallocate(pieces_[i].block);
    REQUIRE(errno == 77);
    errno = 0;
    pieces_[i] = pieces_.back();
    pieces_.pop_back();
  }

  const bool may_fail_;
  const bool limits_;
  std::vector<Piece> pieces_;
  std::size_t failures_ = 0;
};

// The callback at the hard limit. Every other time it has a block to free.
int reached(void* context, std::size_t size) {
  auto& block = *static_cast<void**>(context);
  REQUIRE(size > 0);
  const bool had = block != nullptr;
  deallocate(block);
  block = had ? nullptr : allocate(50000);
  return had;
}

// The whole life of one child. Returns how many requests were refused.
std::size_t live_through(const os::fake::Refusals& refusals, unsigned seed, bool limits) {
  const std::uint64_t commits_before = os::fake::figures().commit_calls;
  os::fake::refuse(refusals);
  void* reserve = nullptr;
  if (limits) corbel_on_limit(reached, &reserve);
  Workload here(true, limits);
  here.run(seed);
  Workload there(true, limits);
  std::thread([&] { there.run(seed + 1); }).join();  // a second heap, which may be refused
  std::thread([&] { there.release_all(); }).join();
  here.run(seed + 2);

  // Where memory counts when it is committed, none is that is not counted. Tables are as a whole.
  const bool may_give_up = refusals.unmaps_in_1000 > 0 || refusals.lost_targets_in_1000 > 0;
  if (CORBEL_OS_COMMITS && !may_give_up) {
    REQUIRE(os::fake::usable_bytes() <= stats().metadata_mapped + footprint.bytes());
  }
  // The commit that was to be refused has been asked for.
  REQUIRE(os::fake::figures().commit_calls - commits_before >= refusals.first_commit);
  os::fake::refuse({});
  corbel_set_heap_limit(0);
  corbel_set_heap_hard_limit(0);
  corbel_on_limit(nullptr, nullptr);
  deallocate(reserve);
  Workload afterwards(false);
  afterwards.run(seed + 3);
  std::thread([&] { afterwards.run(seed + 4); }).join();
  here.release_all();
  afterwards.release_all();
  trim(0);
  const Stats figures = stats();
  // At a limit of the heap the allocator calls the system less often.
  REQUIRE(limits || os::fake::figures().map_calls > kCalls);
  if (figures.live != 0) std::fprintf(stderr, "live %zu bytes at the end\n", figures.live);
  REQUIRE(figures.live == 0);
  // Memory that the system will not take back may be given up, but no memory may be counted twice.
  const std::size_t counted = figures.mapped + figures.metadata_mapped;
  const std::size_t mapped = os::fake::figures().mapped_bytes;
  if (counted != mapped) std::fprintf(stderr, "counted %zu, mapped %zu\n", counted, mapped);
  REQUIRE(may_give_up ? counted <= mapped : counted == mapped);
  REQUIRE(may_give_up || footprint.bytes() >= os::fake::resident_bytes());
  // Only tables are left, of which a page or two may be counted and not written yet.
  constexpr std::size_t kUnwritten = 4 * 4096;
  REQUIRE(may_give_up || footprint.bytes() <= os::fake::resident_bytes() + kUnwritten);
  if (CORBEL_OS_COMMITS) REQUIRE(may_give_up || os::fake::usable_bytes() == counted);
  if (const char* breach = os::fake::first_breach()) {
    std::fprintf(stderr, "contract: %s\n", breach);
    REQUIRE(!"the contract with the system was kept");
  }
  return here.failures() + there.failures();
}

// True if the child succeeded. `refused` counts the children in which a request was refused.
bool in_child(const os::fake::Refusals& refusals, unsigned seed, int* refused,
              bool limits = false) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(live_through(refusals, seed, limits) > 0 ? 3 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) ++*refused;
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) return true;
  ADD_FAILURE() << "first_map " << refusals.first_map << " maps " << refusals.maps << " seed "
                << seed << (WIFSIGNALED(status) ? " died of signal " : " exit code ")
                << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

TEST(MapFailures, NoneAtFirst) {
  int refused = 0;
  ASSERT_TRUE(in_child({}, 1, &refused));
  EXPECT_EQ(refused, 0);
}

TEST(MapFailures, EveryNthCallOnce) {
  int refused = 0;
  for (unsigned n = 1; n <= kCalls; ++n) ASSERT_TRUE(in_child({.first_map = n}, 5, &refused));
}

TEST(MapFailures, EveryNthCallAndThoseAfter) {
  int refused = 0;
  for (unsigned n = 1; n <= kCalls; ++n) {
    ASSERT_TRUE(in_child({.first_map = n, .maps = 1000000}, 5, &refused));
  }
  EXPECT_GT(refused, 5);
}

TEST(MapFailures, EveryNthCallAndAFewAfter) {
  int refused = 0;
  for (unsigned n = 1; n <= 200; ++n) {
    ASSERT_TRUE(in_child({.first_map = n % 40 + 1, .maps = n / 40 + 2}, 100 + n, &refused));
  }
  EXPECT_GT(refused, 5);
}

TEST(MapFailures, AtRandomAndOtherCallsToo) {
  int refused = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const os::fake::Refusals refusals = {.maps_in_1000 = 100 + seed * 10,
                                         .unmaps_in_1000 = seed % 3 * 300,
                                         .commits_in_1000 = seed % 3 * 50,
                                         .decommits_in_1000 = seed % 4 * 200,
                                         .moves_in_1000 = seed % 2 * 500,
                                         .lost_targets_in_1000 = seed % 5 * 200,
                                         .seed = seed};
    ASSERT_TRUE(in_child(refusals, seed, &refused));
  }
  EXPECT_GT(refused, 5);
}

TEST(MapFailures, AtALimitOfMappedBytes) {
  int refused = 0;
  for (unsigned mebibytes = 1; mebibytes <= 60; ++mebibytes) {
    ASSERT_TRUE(in_child({.mapped_limit = std::size_t{mebibytes} << 20}, mebibytes, &refused));
  }
  EXPECT_GT(refused, 3);
}

TEST(MapFailures, LimitsOfTheHeapAlone) {
  int refused = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) ASSERT_TRUE(in_child({}, seed, &refused, true));
  EXPECT_GT(refused, 15);
}

TEST(MapFailures, LimitsOfTheHeapAndRefusalsAtRandom) {
  int refused = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const os::fake::Refusals refusals = {.maps_in_1000 = seed * 16,
                                         .unmaps_in_1000 = seed % 3 * 300,
                                         .commits_in_1000 = seed % 3 * 50,
                                         .decommits_in_1000 = seed % 4 * 200,
                                         .moves_in_1000 = seed % 2 * 500,
                                         .lost_targets_in_1000 = seed % 5 * 200,
                                         .seed = seed};
    ASSERT_TRUE(in_child(refusals, seed, &refused, true));
  }
  EXPECT_GT(refused, 25);
}

#if CORBEL_OS_COMMITS

// As where other processes take the memory that this one decommits.
TEST(MapFailures, OfCommitsAlone) {
  int refused = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const os::fake::Refusals refusals = {.commits_in_1000 = 20 + seed * 10, .seed = seed};
    ASSERT_TRUE(in_child(refusals, seed, &refused, seed % 2 == 0));
  }
  EXPECT_GT(refused, 20);
}

// The first commits; every seventh of them without ./dev test --full. In clang's build with the
// address sanitizer the workload makes no more than 140.
#if defined(__SANITIZE_ADDRESS__) && defined(__clang__)
constexpr unsigned kCommits = 120;
#else
constexpr unsigned kCommits = 250;
#endif
unsigned commit_step() { return std::getenv("CORBEL_FULL_TESTS") != nullptr ? 1 : 7; }

TEST(MapFailures, EveryNthCommitOnce) {
  int refused = 0;
  for (unsigned n = 1; n <= kCommits; n += commit_step()) {
    ASSERT_TRUE(in_child({.first_commit = n}, 5, &refused));
  }
}

TEST(MapFailures, EveryNthCommitAndThoseAfter) {
  int refused = 0;
  for (unsigned n = 1; n <= kCommits; n += commit_step()) {
    ASSERT_TRUE(in_child({.first_commit = n, .commits = 1000000}, 5, &refused));
  }
  EXPECT_GT(refused, 5);
}

#endif

}  // namespace
}  // namespace corbel::alloc
