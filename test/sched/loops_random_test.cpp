// SPDX-License-Identifier: Apache-2.0
// Random nests of loops and reductions, with exceptions. The test takes a second. To run it longer:
//   sched_loops_random --rounds N [--seed S]
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>

#include "loops.hpp"

namespace {

int rounds = 300;
unsigned long first_seed = 1;

using Range = tbb::blocked_range<int>;
using test::StrictRange;

// A random nest of calls. Each call is a pure function of its seed, so its result, and whether an
// exception is thrown in it, are known beforehand.
class Tree {
 public:
  explicit Tree(bool throws) : throws_(throws) {}

  // The sum of the tree under the seed, computed in one thread, or nothing if a node in it throws.
  std::optional<std::uint64_t> expected(std::uint64_t seed, int depth) const {
    const Node node(seed, depth);
    if (fails(node)) return std::nullopt;
    std::uint64_t sum = seed;
    for (int i = 0; i < node.size; ++i) {
      const auto part = expected(node.child(i), depth - 1);
      if (!part) return std::nullopt;
      sum += *part;
    }
    return sum;
  }

  std::uint64_t run(std::uint64_t seed, int depth) {
    const Node node(seed, depth);
    if (fails(node)) throw std::out_of_range("wanted");
    if (seed % 61 == 0) test::work_a_little();
    if (node.size == 0) return seed;
    return seed + run_children(node, depth - 1);
  }

  bool is_clean() const { return shared_.balance.alive == 0 && !shared_.split_undivided; }

 private:
  struct Node {
    Node(std::uint64_t s, int depth) : seed(s) {
      std::mt19937_64 random(s);
      dice = random();
      static constexpr int kSizes[] = {0, 1, 2, 3, 7, 12, 40};
      if (depth > 0) size = kSizes[dice % 7];
    }
    std::uint64_t child(int i) const { return seed * 6364136223846793005U + std::uint64_t(i) + 1; }
    std::uint64_t seed;
    std::uint64_t dice = 0;
    int size = 0;
  };

  bool fails(const Node& node) const { return throws_ && node.dice % 499 == 0; }

  template <typename R>
  std::uint64_t run_range(const Node& node, const R& r, int depth) {
    std::uint64_t sum = 0;
    for (int i = r.begin(); i != r.end(); ++i) sum += run(node.child(i), depth);
    return sum;
  }

  std::uint64_t run_children(const Node& node, int depth) {
    const int grain = 1 + int(node.dice / 7 % 3);
    switch (node.dice / 21 % 4) {
      case 0:
        return with_partitioner(node, [&](auto&& p) { return run_for(node, depth, p); });
      case 1:
        return with_partitioner(node, [&](auto&& p) {
          return run_reduce(node, depth, Range(0, node.size, std::size_t(grain)), p);
        });
      case 2:
        return with_partitioner(node, [&](auto&& p) {
          return run_reduce(node, depth, StrictRange(shared_, 0, node.size, grain), p);
        });
      default:
        return tbb::parallel_deterministic_reduce(
            StrictRange(shared_, 0, node.size, grain), std::uint64_t(0),
            [&](const StrictRange& r, std::uint64_t sum) {
              return sum + run_range(node, r, depth);
            },
            std::plus<>());
    }
  }

  template <typename F>
  std::uint64_t with_partitioner(const Node& node, const F& f) {
    switch (node.dice / 84 % 4) {
      case 0:
        return f(tbb::simple_partitioner());
      case 1:
        return f(tbb::auto_partitioner());
      case 2:
        return f(tbb::static_partitioner());
      default:
        tbb::affinity_partitioner affinity;
        return f(affinity);
    }
  }

  template <typename Partitioner>
  std::uint64_t run_for(const Node& node, int depth, Partitioner&& partitioner) {
    std::atomic<std::uint64_t> sum{0};
    tbb::parallel_for(0, node.size, [&](int i) { sum += run(node.child(i), depth); }, partitioner);
    return sum;
  }

  template <typename R, typename Partitioner>
  std::uint64_t run_reduce(const Node& node, int depth, const R& range, Partitioner&& partitioner) {
    return tbb::parallel_reduce(
        range, std::uint64_t(0),
        [&](const R& r, std::uint64_t sum) { return sum + run_range(node, r, depth); },
        std::plus<>(), partitioner);
  }

  const bool throws_;
  StrictRange::Shared shared_;
};

TEST(LoopsRandom, Nested) {
  int failed = 0;
  for (unsigned long round = 0; round < static_cast<unsigned long>(rounds); ++round) {
    const unsigned long seed = first_seed + round;
    Tree tree(round % 2 != 0);
    const int depth = 2 + int(round % 3);
    const auto expected = tree.expected(seed, depth);
    std::optional<std::uint64_t> sum;
    try {
      sum = tree.run(seed, depth);
    } catch (const std::out_of_range&) {
      ++failed;
    }
    ASSERT_EQ(sum, expected) << "seed " << seed;
    ASSERT_TRUE(tree.is_clean()) << "seed " << seed;
  }
  EXPECT_TRUE(failed > 0 || rounds < 300);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) first_seed = std::strtoul(argv[i + 1], nullptr, 0);
  }
  return RUN_ALL_TESTS();
}
