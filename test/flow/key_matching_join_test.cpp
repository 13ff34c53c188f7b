// SPDX-License-Identifier: Apache-2.0
// join_node with the policy key_matching; see also join_node_test.cpp.
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#include <tbb/flow_graph.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "nodes.hpp"

namespace {

using namespace flow_test;
using pair = std::tuple<int, int>;

struct item {
  int key_ = 0;
  int value = 0;
  int key() const { return key_; }
  item() = default;
  item(int k, int v = 0) : key_(k), value(v) {}
};

TEST(KeyMatchingJoin, MatchesMessagesByKey) {
  graph g;
  join_node<std::tuple<item, int>, key_matching<int>> node(
      g, [](const item& i) { return i.key_; }, [](int i) { return i / 10; });
  gate<std::tuple<item, int>> successor(g);
  make_edge(node, successor);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(input_port<0>(node).try_put(item(i, 100 + i)));
  for (int i = 49; i >= 0; --i) EXPECT_TRUE(input_port<1>(node).try_put(10 * i + 3));
  g.wait_for_all();
  ASSERT_EQ(successor.got.size(), 50u);
  for (const auto& t : successor.got) {
    EXPECT_EQ(std::get<1>(t), 10 * std::get<0>(t).key_ + 3);
    EXPECT_EQ(std::get<0>(t).value, 100 + std::get<0>(t).key_);
  }
}

TEST(KeyMatchingJoin, APortRejectsAKeyThatItHas) {
  graph g;
  join_node<pair, tag_matching> node(
      g, [](int i) { return tag_value(i % 10); }, [](int i) { return tag_value(i % 10); });
  EXPECT_TRUE(input_port<0>(node).try_put(1));
  EXPECT_FALSE(input_port<0>(node).try_put(11));
  EXPECT_TRUE(input_port<1>(node).try_put(21));
  EXPECT_TRUE(input_port<0>(node).try_put(31)) << "the key is free again";
  pair v;
  ASSERT_TRUE(node.try_get(v));
  EXPECT_EQ(v, pair(1, 21));
  EXPECT_FALSE(node.try_get(v));
}

TEST(KeyMatchingJoin, TakesPointersToMembers) {
  graph g;
  join_node<std::tuple<item, item>, key_matching<int>> node(g, &item::key_, &item::key);
  input_port<0>(node).try_put(item(1));
  input_port<1>(node).try_put(item(1));
  std::tuple<item, item> v;
  EXPECT_TRUE(node.try_get(v));
}

struct text_hash {
  static std::size_t hash(const std::string& s) { return s.size(); }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
};
struct text_item {
  std::string text;
  const std::string& key() const { return text; }
};

TEST(KeyMatchingJoin, KeysMayBeReferencesWithAHashOfTheProgram) {
  graph g;
  join_node<std::tuple<text_item, text_item>, key_matching<std::string&, text_hash>> node(
      g, [](const text_item& i) -> const std::string& { return i.text; },
      [](const text_item& i) -> const std::string& { return i.text; });
  for (const char* s : {"a", "b", "cc"}) input_port<0>(node).try_put({s});
  for (const char* s : {"b", "dd", "a"}) input_port<1>(node).try_put({s});
  std::tuple<text_item, text_item> v;
  ASSERT_TRUE(node.try_get(v));
  EXPECT_EQ(std::get<0>(v).text, "b");
  ASSERT_TRUE(node.try_get(v));
  EXPECT_EQ(std::get<1>(v).text, "a");
  EXPECT_FALSE(node.try_get(v));
}

TEST(KeyMatchingJoin, FindsKeysByTheMessagesFunctions) {
  graph g;
  join_node<std::tuple<item, item>, key_matching<int>> by_value(g);
  join_node<std::tuple<text_item, text_item>, key_matching<std::string&>> by_reference(g);
  for (int i = 0; i < 2; ++i) {
    input_port<0>(by_value).try_put(item(i));
    input_port<1>(by_value).try_put(item(i));
  }
  input_port<0>(by_reference).try_put({"x"});
  input_port<1>(by_reference).try_put({"x"});
  std::tuple<item, item> v;
  EXPECT_TRUE(by_value.try_get(v));
  std::tuple<text_item, text_item> w;
  EXPECT_TRUE(by_reference.try_get(w));
}

}  // namespace
namespace other {
struct message {
  int number = 0;
};
template <typename K>
K key_from_message(const message& m) {
  return K(m.number % 100);
}
}  // namespace other
namespace {

TEST(KeyMatchingJoin, FindsKeysByAFunctionInTheMessagesNamespace) {
  graph g;
  join_node<std::tuple<other::message, item>, key_matching<int>> node(g);
  input_port<0>(node).try_put({105});
  input_port<1>(node).try_put(item(5));
  std::tuple<other::message, item> v;
  EXPECT_TRUE(node.try_get(v));
}

TEST(KeyMatchingJoin, ThreadsPutToThePorts) {
  graph g;
  join_node<pair, tag_matching> node(
      g, [](int i) { return tag_value(i); }, [](int i) { return tag_value(i); });
  expect_pairs_from_threads(g, node);
}

struct counting_key {
  int count = 0;
  tag_value operator()(int) { return tag_value(count++); }
};

TEST(KeyMatchingJoin, CopiesAndResetsUseTheOriginalFunctions) {
  graph g;
  join_node<pair, tag_matching> node(g, counting_key(), [](int i) { return tag_value(i); });
  for (int i = 0; i < 3; ++i) input_port<0>(node).try_put(i);
  join_node<pair, tag_matching> copy(node);
  input_port<0>(copy).try_put(7);
  input_port<1>(copy).try_put(0);
  pair v;
  EXPECT_TRUE(copy.try_get(v));
  input_port<1>(node).try_put(1);
  EXPECT_TRUE(node.try_get(v));
  g.reset(rf_reset_bodies);
  input_port<1>(node).try_put(0);
  EXPECT_FALSE(node.try_get(v)) << "the messages are gone";
  input_port<0>(node).try_put(9);
  EXPECT_TRUE(node.try_get(v)) << "the function counts from 0 again";
}

TEST(KeyMatchingJoin, FunctionsThatThrowDoNotAcceptTheMessage) {
  graph g;
  const auto key = [](int i) -> tag_value {
    if (i < 0) throw std::invalid_argument("negative");
    return tag_value(i);
  };
  join_node<pair, tag_matching> node(g, key, key);
  EXPECT_THROW(input_port<0>(node).try_put(-1), std::invalid_argument);
  input_port<0>(node).try_put(1);
  input_port<1>(node).try_put(1);
  pair v;
  EXPECT_TRUE(node.try_get(v));
}

TEST(KeyMatchingJoin, DestroysWhatIsLeft) {
  {
    graph g;
    const auto key = [](const counted& c) { return tag_value(c.value); };
    join_node<std::tuple<counted, counted>, tag_matching> node(g, key, key);
    for (int i = 0; i < 100; ++i) input_port<0>(node).try_put(counted(i));
    for (int i = 50; i < 150; ++i) input_port<1>(node).try_put(counted(i));
    counted::until_throw() = 0;
    EXPECT_THROW(input_port<0>(node).try_put(counted(200)), std::runtime_error);
    counted::until_throw() = -1;
  }
  EXPECT_EQ(counted::alive(), 0);
}

}  // namespace
