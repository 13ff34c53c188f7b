// SPDX-License-Identifier: Apache-2.0
// The processors that an arena may use, and memory on the nodes of the machine.
#include <gtest/gtest.h>
#include <tbb/numa_allocation.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "system.hpp"

namespace {

TEST(Constraints, AreApplied) {
  const int all = test::own_processors();
  const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  ASSERT_GE(nodes.size(), 1U);
  EXPECT_GE(tbb::info::core_types().size(), 1U);
  int sum = 0;
  for (const tbb::numa_node_id node : nodes) {
    const int width = tbb::info::default_concurrency(node);
    EXPECT_GE(width, 1);
    sum += width;
    tbb::task_arena arena{tbb::task_arena::constraints(node)};
    EXPECT_EQ(arena.max_concurrency(), width);
    EXPECT_LE(arena.execute([] { return test::own_processors(); }), all);
    EXPECT_EQ(test::own_processors(), all);
  }
  EXPECT_LE(sum, all);
  EXPECT_EQ(tbb::create_numa_task_arenas().size(), nodes.size());
  // A node that does not exist binds to nothing.
  tbb::task_arena nowhere{tbb::task_arena::constraints(4000)};
  EXPECT_EQ(nowhere.execute([] { return 3; }), 3);
  auto one_of_each_core = tbb::task_arena::constraints().set_max_threads_per_core(1);
  EXPECT_GE(tbb::info::default_concurrency(one_of_each_core), 1);
  EXPECT_LE(tbb::info::default_concurrency(one_of_each_core), all);
  std::atomic<int> bound{0};
  tbb::task_arena narrow(one_of_each_core);
  narrow.enqueue([&] { bound = test::own_processors(); });
  while (bound == 0) std::this_thread::yield();
  EXPECT_LE(bound, all);
}

TEST(Constraints, ASelectorChoosesTheCores) {
  using tbb::task_arena;
  using Info = std::tuple<tbb::core_type_id, std::size_t, std::size_t>;
  const std::vector<tbb::core_type_id> types{4, 7, 9};
  const auto chosen = [&](std::vector<int> scores) {
    std::vector<Info> seen;
    const auto select = [&](const Info& info) {
      seen.push_back(info);
      return scores[std::get<1>(info)];
    };
    task_arena::constraints limits;
    limits.set_core_type(task_arena::selectable);
    const int type = corbel::detail::with_selected_cores(limits, select, types).core_type;
    EXPECT_EQ(seen, (std::vector<Info>{{4, 0, 3}, {7, 1, 3}, {9, 2, 3}}));
    return type;
  };
  EXPECT_EQ(chosen({1, -1, 0}), 4);
  EXPECT_EQ(chosen({0, 2, 3}), 9);  // two, but an arena is bound to one
  EXPECT_EQ(chosen({3, 1, 2}), task_arena::automatic);
  EXPECT_EQ(chosen({-1, -1, -1}), task_arena::automatic);
  EXPECT_EQ(chosen({0, 0, -1}), task_arena::automatic);

  // Without selectable, or with one type of cores, it is not called.
  const auto never = [](const Info&) -> int { throw std::logic_error("called"); };
  EXPECT_EQ(task_arena(task_arena::constraints().set_max_concurrency(3), never).max_concurrency(),
            3);
  task_arena late;
  late.initialize(task_arena::constraints().set_max_concurrency(2), never, 0,
                  task_arena::priority::low);
  EXPECT_EQ(late.max_concurrency(), 2);
  EXPECT_EQ(tbb::info::default_concurrency(task_arena::constraints(), never),
            tbb::info::default_concurrency());
  const auto all = [](const Info&) { return 1; };
  EXPECT_EQ(tbb::info::default_concurrency(
                task_arena::constraints().set_core_type(task_arena::selectable), all),
            tbb::info::default_concurrency());
}

TEST(NumaAllocation, GivesZeroedPages) {
  const std::size_t page = test::page_size();
  const auto check = [&](void* memory, std::size_t bytes) {
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % page, 0U);
    char* const bytes_of = static_cast<char*>(memory);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(bytes_of[i], 0);
    bytes_of[bytes - 1] = 1;
    tbb::deallocate_numa_interleaved(memory, bytes);
  };
  check(tbb::allocate_numa_interleaved(1), 1);
  check(tbb::allocate_numa_interleaved(10 * page + 5), 10 * page + 5);
  check(tbb::allocate_numa_interleaved(10 * page, 4 * page), 10 * page);
  const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  check(tbb::allocate_numa_interleaved(page, nodes), page);
  std::vector<tbb::numa_node_id> twice = nodes;
  twice.push_back(nodes[0]);
  check(tbb::allocate_numa_interleaved(9 * page, twice), 9 * page);
  check(tbb::allocate_numa_interleaved(9 * page, twice, 2 * page), 9 * page);
  EXPECT_EQ(tbb::allocate_numa_interleaved(0), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(page, page + 1), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(page, std::vector<tbb::numa_node_id>()), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(page, std::vector<tbb::numa_node_id>{-7}), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(page, std::vector<tbb::numa_node_id>{1 << 20}), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(std::size_t(-1) / 2), nullptr);
  tbb::deallocate_numa_interleaved(nullptr, page);
}

}  // namespace
