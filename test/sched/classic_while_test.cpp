// SPDX-License-Identifier: Apache-2.0
// parallel_while of early TBB.
#include <gtest/gtest.h>
#include <tbb/parallel_while.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "helped.hpp"

namespace {

struct Numbers {
  explicit Numbers(int n) : end(n) {}
  bool pop_if_present(int& item) {
    EXPECT_FALSE(busy.exchange(true)) << "two threads use the stream";
    item = next;
    const bool present = next < end;
    next += present;
    busy = false;
    return present;
  }
  int next = 0;
  const int end;
  std::atomic<bool> busy{false};
};

struct Count {
  using argument_type = int;
  void operator()(int& item) const {
    if (item % 100 == 0) test::work_a_little();
    ++(*counts)[std::size_t(item)];
  }
  std::vector<std::atomic<int>>* counts;
};

TEST(ClassicWhile, CallsTheBodyForEachItem) {
  for (const int n : {0, 1, 2, 1000, 20000}) {
    std::vector<std::atomic<int>> counts(std::size_t(n) + 1);
    Numbers stream(n);
    tbb::parallel_while<Count> loop;
    loop.run(stream, Count{&counts});
    for (int i = 0; i < n; ++i) ASSERT_EQ(counts[std::size_t(i)], 1);
    ASSERT_EQ(counts[std::size_t(n)], 0);
  }
}

// Each item adds two with half its number: a tree.
struct Tree {
  using argument_type = int;
  void operator()(argument_type item) const {
    ++*nodes;
    if (item > 1) {
      loop->add(item / 2);
      loop->add(item / 2);
    }
  }
  tbb::parallel_while<Tree>* loop;
  std::atomic<long>* nodes;
};

TEST(ClassicWhile, BodiesAddItems) {
  std::atomic<long> nodes{0};
  tbb::parallel_while<Tree> loop;
  struct Once {
    bool pop_if_present(int& item) {
      item = 1 << 12;
      return left-- > 0;
    }
    int left = 3;
  } stream;
  loop.run(stream, Tree{&loop, &nodes});
  EXPECT_EQ(nodes, 3 * ((1 << 13) - 1));
  stream.left = 1;
  loop.run(stream, Tree{&loop, &nodes});
  EXPECT_EQ(nodes, 4 * ((1 << 13) - 1));
}

struct Words {
  bool pop_if_present(std::string& item) {
    item = std::string(40, 'w');
    return left-- > 0;
  }
  int left = 500;
};
struct Throw {
  using argument_type = std::string;
  void operator()(const std::string& item) const {
    EXPECT_EQ(item, std::string(40, 'w'));
    if (++*calls == 250) throw std::runtime_error("body");
  }
  std::atomic<int>* calls;
};

TEST(ClassicWhile, ThrowsWhatTheBodyThrows) {
  std::atomic<int> calls{0};
  Words stream;
  tbb::parallel_while<Throw> loop;
  EXPECT_THROW(loop.run(stream, Throw{&calls}), std::runtime_error);
  calls = 1000;
  Words again;
  loop.run(again, Throw{&calls});
  EXPECT_EQ(calls, 1500);
}

}  // namespace
