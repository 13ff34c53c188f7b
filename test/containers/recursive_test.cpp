// SPDX-License-Identifier: Apache-2.0
// Containers as members of the class that they contain, where that is only declared.
#include <gtest/gtest.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_priority_queue.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_set.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_vector.h>

#include <string>
#include <tuple>
#include <utility>

namespace {

struct Leaf;

struct Tree {
  Tree();
  ~Tree();

  int number = 1;
  tbb::concurrent_map<std::string, Tree> map;
  tbb::concurrent_multimap<int, Tree> multimap;
  tbb::concurrent_unordered_map<int, Tree> unordered_map;
  tbb::concurrent_hash_map<int, Tree> hash_map;
  tbb::concurrent_vector<Tree> vector;
  tbb::concurrent_queue<Leaf> queue;
  tbb::concurrent_bounded_queue<Leaf> bounded_queue;
  tbb::concurrent_set<Leaf> set;
  tbb::concurrent_priority_queue<Leaf> priority_queue;
};

struct Leaf {
  int number = 2;
  friend bool operator<(const Leaf& a, const Leaf& b) { return a.number < b.number; }
};

Tree::Tree() = default;
Tree::~Tree() = default;

TEST(Recursive, EachContainerHoldsItsClass) {
  Tree tree;
  tree.map["a"].map["b"].number = 3;
  EXPECT_EQ(tree.map["a"].map["b"].number, 3);
  tree.multimap.emplace();
  tree.unordered_map[1].unordered_map[2].number = 4;
  EXPECT_EQ(tree.unordered_map[1].unordered_map[2].number, 4);
  tbb::concurrent_hash_map<int, Tree>::accessor found;
  EXPECT_TRUE(tree.hash_map.emplace(found, std::piecewise_construct, std::forward_as_tuple(1),
                                    std::tuple<>()));
  EXPECT_EQ(found->second.number, 1);
  EXPECT_EQ(tree.vector.grow_by(3)->number, 1);
  tree.queue.push(Leaf());
  tree.bounded_queue.push(Leaf());
  Leaf leaf{0};
  EXPECT_TRUE(tree.queue.try_pop(leaf));
  EXPECT_EQ(leaf.number, 2);
  EXPECT_TRUE(tree.set.insert(Leaf()).second);
  tree.priority_queue.push(Leaf());
  tree.priority_queue.push(Leaf{5});
  EXPECT_TRUE(tree.priority_queue.try_pop(leaf));
  EXPECT_EQ(leaf.number, 5);
}

// All members in the class: nothing needs its definition before the class is complete.
struct Job {
  int urgency = 0;
  tbb::concurrent_priority_queue<Job> parts{};
  friend bool operator<(const Job& a, const Job& b) { return a.urgency < b.urgency; }
};

TEST(Recursive, PriorityQueueHoldsItsClass) {
  Job job;
  job.urgency = 1;
  Job part;
  part.parts.emplace();
  job.parts.push(part);
  part.urgency = 2;
  job.parts.push(part);
  const Job copy = job;
  EXPECT_TRUE(job.parts.try_pop(part));
  EXPECT_EQ(part.urgency, 2);
  EXPECT_EQ(part.parts.size(), 1u);
  EXPECT_EQ(copy.parts.size(), 2u);
}

}  // namespace
