// SPDX-License-Identifier: Apache-2.0
// concurrent_hash_map: how programs say what hashes and compares their keys.
#include <tbb/concurrent_hash_map.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

struct point {
  int x, y;
  bool operator==(const point&) const = default;
};

namespace tbb {
template <>
struct tbb_hash_compare<point> {
  static std::size_t hash(const point& p) { return std::size_t(p.x) * 31 + std::size_t(p.y); }
  static bool equal(const point& a, const point& b) { return a == b; }
};
}  // namespace tbb

namespace other {
struct name {
  std::string text;
  bool operator==(const name&) const = default;
};
std::size_t tbb_hasher(const name& n) { return n.text.size(); }
}  // namespace other

namespace {

TEST(ConcurrentHashMapKeys, HashesOfPrograms) {
  tbb::concurrent_hash_map<point, int> specialised;
  for (int i = 0; i < 100; ++i) specialised.insert({{i, -i}, i});
  EXPECT_EQ(specialised.count({3, -3}), 1u);
  EXPECT_EQ(specialised.count({3, 3}), 0u);
  tbb::concurrent_hash_map<other::name, int> overloaded;
  overloaded.insert({{"ab"}, 1});
  EXPECT_EQ(overloaded.count({"ab"}), 1u);
  EXPECT_EQ(overloaded.count({"ba"}), 0u);
  tbb::concurrent_hash_map<std::pair<int, std::string>, int> pairs;
  pairs.insert({{1, "a"}, 1});
  EXPECT_EQ(pairs.count({1, "a"}), 1u);
  int objects[100];
  tbb::concurrent_hash_map<int*, int> pointers;
  for (int& object : objects) pointers.insert({&object, 0});
  EXPECT_EQ(pointers.size(), 100u);
  tbb::concurrent_hash_map<double, int> numbers{{0.5, 1}, {-0.0, 2}};
  EXPECT_EQ(numbers.count(0.5), 1u);
  EXPECT_EQ(numbers.count(0.0), 1u);
}

struct text_compare {
  using is_transparent = void;
  std::size_t hash(const std::string& s) const { return std::hash<std::string>()(s); }
  std::size_t hash(const char* s) const { return std::hash<std::string>()(s); }
  bool equal(const std::string& a, const std::string& b) const { return a == b; }
  bool equal(const char* a, const std::string& b) const { return a == b; }
};

TEST(ConcurrentHashMapKeys, KeysOfOtherTypes) {
  tbb::concurrent_hash_map<std::string, int, text_compare> m{{"a", 1}};
  decltype(m)::accessor writer;
  decltype(m)::const_accessor reader;
  const char* const b = "b";
  EXPECT_TRUE(m.find(writer, "a"));
  writer.release();
  EXPECT_TRUE(m.find(reader, "a"));
  EXPECT_EQ(m.count(b), 0u);
  EXPECT_TRUE(m.insert(writer, b));
  writer.release();
  EXPECT_FALSE(m.insert(reader, b));
  reader.release();
  EXPECT_EQ(m.equal_range(b).first->first, "b");
  const auto& constant = m;
  EXPECT_EQ(std::distance(constant.equal_range("c").first, constant.equal_range("c").second), 0);
  EXPECT_TRUE(m.erase(b));
  EXPECT_FALSE(m.erase(b));
  EXPECT_EQ(m.size(), 1u);
}

// A map of elements with one hash finds them all, and erases any.
struct one_hash {
  static std::size_t hash(int) { return 0; }
  static bool equal(int a, int b) { return a == b; }
};

TEST(ConcurrentHashMapKeys, EqualHashes) {
  tbb::concurrent_hash_map<int, int, one_hash> m;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(m.insert({i, i}));
  decltype(m)::accessor held;
  ASSERT_TRUE(m.find(held, 50));
  for (int i = 0; i < 100; i += 2) EXPECT_TRUE(m.erase(i));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(m.count(i), std::size_t(i % 2));
  held.release();
  EXPECT_EQ(std::distance(m.begin(), m.end()), 50);
}

}  // namespace
