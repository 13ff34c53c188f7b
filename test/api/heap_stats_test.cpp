// SPDX-License-Identifier: Apache-2.0
// Tests corbel_heap_stats and corbel_heap_stats_json sentence by sentence, as <corbel/malloc.h>
// documents them.
#include <corbel/malloc.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "system.hpp"

namespace {

using Stats = struct corbel_heap_stats;

Stats read_stats() {
  Stats stats;
  EXPECT_EQ(corbel_heap_stats(&stats, sizeof(stats)), 0);
  return stats;
}

std::string read_json() {
  std::vector<char> buffer(24 << 10);
  const std::size_t length = corbel_heap_stats_json(buffer.data(), buffer.size());
  EXPECT_LT(length, buffer.size());
  EXPECT_EQ(std::strlen(buffer.data()), length);
  return buffer.data();
}

TEST(HeapStats, AllocatedBlocksAreLive) {
  scalable_free(scalable_malloc(100));
  const Stats before = read_stats();
  void* small = scalable_malloc(100);
  void* large = scalable_malloc(5 << 20);
  const Stats during = read_stats();
  EXPECT_EQ(during.live - before.live, scalable_msize(small) + scalable_msize(large));
  EXPECT_EQ(during.large_live - before.large_live, scalable_msize(large));
  EXPECT_EQ(during.large_count - before.large_count, 1U);
  EXPECT_GE(during.threads, 1U);
  EXPECT_GT(during.metadata, 0U);
  EXPECT_GE(during.footprint, during.live + during.metadata);
  EXPECT_GE(during.peak_footprint, during.footprint);
  scalable_free(small);
  scalable_free(large);
  EXPECT_EQ(read_stats().live, before.live);
}

TEST(HeapStats, AddsUp) {
  std::vector<void*> blocks;
  for (std::size_t size = 1; size < 3000000; size += size / 7 + 1) {
    blocks.push_back(scalable_malloc(size));
  }
  const Stats s = read_stats();
  EXPECT_EQ(s.mapped, s.live + s.thread_cached + s.slab_free + s.orphan_free + s.slab_purged +
                          s.uncarved + s.free_resident + s.free_purged);
  ASSERT_GT(s.class_count, 0U);
  ASSERT_LE(s.class_count, std::size_t{CORBEL_SIZE_CLASSES});
  std::size_t used = 0;
  for (std::size_t i = 0; i < s.class_count; ++i) {
    EXPECT_GT(s.classes[i].block_size, i > 0 ? s.classes[i - 1].block_size : 0);
    used += s.classes[i].used_blocks * s.classes[i].block_size;
  }
  EXPECT_EQ(used, s.live - s.large_live);
  for (void* block : blocks) scalable_free(block);
}

TEST(HeapStats, ReportsItsSize) { EXPECT_EQ(read_stats().size, sizeof(Stats)); }

// An older program, which knows only the first fields.
TEST(HeapStats, WritesNoMoreThanTheGivenSize) {
  struct {
    std::size_t size;
    std::size_t footprint;
    unsigned char behind[64];
  } old;
  std::memset(&old, 0xaa, sizeof(old));
  EXPECT_EQ(corbel_heap_stats(reinterpret_cast<Stats*>(&old), 2 * sizeof(std::size_t)), 0);
  EXPECT_EQ(old.size, sizeof(Stats));
  EXPECT_EQ(old.footprint, read_stats().footprint);
  for (unsigned char byte : old.behind) ASSERT_EQ(byte, 0xaa);
}

// A newer program, with fields that this library does not know.
TEST(HeapStats, ClearsUnknownFields) {
  struct {
    Stats known;
    unsigned char more[100];
    unsigned char behind[16];
  } newer;
  std::memset(&newer, 0xaa, sizeof(newer));
  EXPECT_EQ(corbel_heap_stats(&newer.known, sizeof(Stats) + sizeof(newer.more)), 0);
  EXPECT_EQ(newer.known.size, sizeof(Stats));
  EXPECT_GT(newer.known.class_count, 0U);
  for (unsigned char byte : newer.more) ASSERT_EQ(byte, 0);
  for (unsigned char byte : newer.behind) ASSERT_EQ(byte, 0xaa);
}

TEST(HeapStats, Errors) {
  Stats s;
  errno = 0;
  EXPECT_EQ(corbel_heap_stats(nullptr, sizeof(s)), EINVAL);
  EXPECT_EQ(corbel_heap_stats(&s, 0), EINVAL);
  EXPECT_EQ(corbel_heap_stats(&s, sizeof(std::size_t) - 1), EINVAL);
  EXPECT_EQ(corbel_heap_stats(&s, sizeof(std::size_t)), 0);
  EXPECT_EQ(errno, 0);
}

TEST(HeapStatsJson, HasTheFieldsOfTheStructure) {
  void* small = scalable_malloc(1000);
  void* large = scalable_malloc(1 << 20);
  const Stats s = read_stats();
  const nlohmann::json json = nlohmann::json::parse(read_json());
  EXPECT_EQ(json.at("version").get<std::string>(), corbel_version());
  const auto expect = [&](const char* name, std::size_t value) {
    EXPECT_EQ(json.at(name).get<std::size_t>(), value) << name;
  };
  expect("footprint", s.footprint);
  expect("peak_footprint", s.peak_footprint);
  expect("mapped", s.mapped);
  expect("live", s.live);
  expect("large_live", s.large_live);
  expect("large_count", s.large_count);
  expect("thread_cached", s.thread_cached);
  expect("slab_free", s.slab_free);
  expect("orphan_free", s.orphan_free);
  expect("slab_purged", s.slab_purged);
  expect("uncarved", s.uncarved);
  expect("free_resident", s.free_resident);
  expect("free_purged", s.free_purged);
  expect("free_count", s.free_count);
  expect("largest_free", s.largest_free);
  expect("peak_mapped", s.peak_mapped);
  expect("uncommitted", s.uncommitted);
  expect("metadata", s.metadata);
  expect("metadata_mapped", s.metadata_mapped);
  expect("soft_limit", s.soft_limit);
  expect("hard_limit", s.hard_limit);
  expect("container_limit", s.container_limit);
  expect("limit_searches", s.limit_searches);
  expect("limit_episodes", s.limit_episodes);
  expect("limit_excess", s.limit_excess);
  expect("limit_refusals", s.limit_refusals);
  expect("threads", s.threads);
  expect("map_calls", s.map_calls);
  expect("purge_calls", s.purge_calls);
  expect("heaps_taken_over", s.heaps_taken_over);

  std::size_t j = 0;
  for (std::size_t i = 0; i < s.class_count; ++i) {
    const corbel_size_class_stats& c = s.classes[i];
    if (c.slabs == 0) continue;
    const nlohmann::json& of_class = json.at("classes").at(j++);
    EXPECT_EQ(of_class.at("block_size").get<std::size_t>(), c.block_size);
    EXPECT_EQ(of_class.at("slabs").get<std::size_t>(), c.slabs);
    EXPECT_EQ(of_class.at("used_blocks").get<std::size_t>(), c.used_blocks);
    EXPECT_EQ(of_class.at("cached_blocks").get<std::size_t>(), c.cached_blocks);
    EXPECT_EQ(of_class.at("free_blocks").get<std::size_t>(), c.free_blocks);
    EXPECT_EQ(of_class.at("purged_blocks").get<std::size_t>(), c.purged_blocks);
    EXPECT_EQ(of_class.at("uncarved").get<std::size_t>(), c.uncarved);
  }
  EXPECT_GT(j, 0U);
  EXPECT_EQ(json.at("classes").size(), j);
  scalable_free(small);
  scalable_free(large);
}

TEST(HeapStats, Limits) {
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
  const Stats before = read_stats();
  const std::size_t soft = before.footprint + (8 << 20);
  const std::size_t hard = before.footprint + (16 << 20);
  ASSERT_EQ(corbel_set_heap_limit(soft), 0);
  ASSERT_EQ(corbel_set_heap_hard_limit(hard), 0);
  void* fits = scalable_malloc(12 << 20);
  void* refused = scalable_malloc(12 << 20);
  const Stats s = read_stats();
  const nlohmann::json json = nlohmann::json::parse(read_json());
  EXPECT_NE(fits, nullptr);
  EXPECT_EQ(refused, nullptr);
  EXPECT_EQ(s.soft_limit, soft);
  EXPECT_EQ(s.hard_limit, hard);
  EXPECT_EQ(s.soft_limit_source, std::size_t{CORBEL_LIMIT_CALL});
  EXPECT_EQ(s.hard_limit_source, std::size_t{CORBEL_LIMIT_CALL});
  EXPECT_EQ(json.at("soft_limit_source").get<std::string>(), "call");
  EXPECT_EQ(json.at("hard_limit_source").get<std::string>(), "call");
  EXPECT_EQ(s.limit_episodes, before.limit_episodes + 1);
  EXPECT_GE(s.limit_excess, 4U << 20);
  EXPECT_EQ(s.limit_refusals, before.limit_refusals + 1);
  EXPECT_GT(s.limit_searches, before.limit_searches);
  EXPECT_LE(s.footprint, hard);
  scalable_free(fits);
  corbel_set_heap_limit(0);
  corbel_set_heap_hard_limit(0);
}

// Polls until `done` returns true, for at most a minute.
template <class Done>
bool wait_until(Done done) {
  for (int i = 0; i < 6000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(HeapStats, CountsTheHeapsTakenOver) {
  if (!test::kWatchesThreads) GTEST_SKIP() << "the system does not tell that a thread sleeps";
  const std::size_t before = read_stats().heaps_taken_over;
  std::latch used(1), over(1);
  std::thread sleeper([&] {
    scalable_free(scalable_malloc(100));
    used.count_down();
    over.wait();
  });
  used.wait();
  EXPECT_TRUE(wait_until([&] {
    scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
    return read_stats().heaps_taken_over > before;
  }));
  over.count_down();
  sleeper.join();
}

TEST(HeapStats, ReportTheHelperThread) {
  const auto use_some = [] {
    for (int i = 0; i < 4; ++i) scalable_free(scalable_malloc(4 << 20));
    std::vector<void*> blocks;
    for (int i = 0; i < 100000; ++i) blocks.push_back(scalable_malloc(200));
    for (void* block : blocks) scalable_free(block);
  };
  std::thread other(use_some);
  use_some();
  other.join();
  EXPECT_TRUE(wait_until([&] {
    use_some();
    return read_stats().helper_thread != CORBEL_HELPER_NONE;
  }));
  const char* const names[] = {"none", "resting", "working"};
  EXPECT_TRUE(wait_until([&] {
    const std::size_t before = read_stats().helper_thread;
    const nlohmann::json json = nlohmann::json::parse(read_json());
    return before < 3 && json.at("helper_thread").get<std::string>() == names[before];
  }));
}

TEST(HeapStatsJson, IsCutOffLikeSnprintf) {
  const std::string whole = read_json();
  EXPECT_EQ(whole.find('\n'), std::string::npos);
  EXPECT_EQ(corbel_heap_stats_json(nullptr, 0), whole.size());
  for (std::size_t size : {std::size_t{1}, std::size_t{17}, whole.size(), whole.size() + 1}) {
    std::vector<char> buffer(size + 8, '?');
    EXPECT_EQ(corbel_heap_stats_json(buffer.data(), size), whole.size());
    EXPECT_EQ(std::string(buffer.data()), whole.substr(0, size - 1));
    for (std::size_t i = size; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], '?') << size;
  }
}

}  // namespace
