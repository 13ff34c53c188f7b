// SPDX-License-Identifier: Apache-2.0
// Ordered containers of texts, which begin alike or do not: searches go by hints from the
// characters after what they have in common.
#include <gtest/gtest.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_set.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace corbel::test {
namespace {

using Random = std::mt19937;

// Few characters, so that texts are often equal, or one begins with the other.
std::string short_text(Random& random) {
  std::string made(random() % 12, '\0');
  for (char& c : made) c = std::string("\0ab\x7f\xff", 5)[random() % 5];
  return made;
}

const std::string kPrefixes[] = {"",
                                 "u",
                                 "user:000",
                                 std::string(63, 'p'),
                                 std::string(64, 'p'),
                                 std::string(90, 'p'),
                                 std::string("\0\0", 2),
                                 "\xff\xff"};

template <typename Compare>
class ConcurrentTexts : public testing::Test {
 protected:
  using tested = tbb::concurrent_set<std::string, Compare>;
  using expected = std::set<std::string, Compare>;

  static void expect_equal_searches(tested& set, const expected& model, const std::string& key) {
    EXPECT_EQ(set.contains(key), model.count(key) == 1);
    const auto expect_equal = [&](auto found, auto modelled) {
      ASSERT_EQ(found == set.end(), modelled == model.end()) << key;
      if (modelled != model.end()) {
        EXPECT_EQ(*found, *modelled);
      }
    };
    expect_equal(set.lower_bound(key), model.lower_bound(key));
    expect_equal(set.upper_bound(key), model.upper_bound(key));
  }

  static void insert(tested& set, expected& model, const std::string& key) {
    EXPECT_EQ(set.insert(key).second, model.insert(key).second);
  }
};
using compares = testing::Types<std::less<std::string>, std::greater<std::string>>;
TYPED_TEST_SUITE(ConcurrentTexts, compares);

TYPED_TEST(ConcurrentTexts, BehaveAsTheStandardSet) {
  Random random(1);
  for (const std::string& prefix : kPrefixes) {
    typename TestFixture::tested set;
    typename TestFixture::expected model;
    for (int i = 0; i < 3000; ++i) {
      const bool is_alike = random() % 32 != 0;  // others are in the index, too
      this->insert(set, model, (is_alike ? prefix : "") + short_text(random));
    }
    for (int i = 0; i < 3000; ++i) {
      // With the prefix, a part of it, or others.
      const std::string key = prefix.substr(0, random() % 4 == 0 ? random() % 100 : prefix.size());
      const std::string text = (random() % 8 == 0 ? "" : key) + short_text(random);
      this->expect_equal_searches(set, model, text);
      if (i % 3 == 0) this->insert(set, model, text);
      if (i % 3 == 1) {
        EXPECT_EQ(set.unsafe_erase(text), model.erase(text));
      }
    }
    EXPECT_TRUE(std::equal(set.begin(), set.end(), model.begin(), model.end()));
  }
}

// All that is inserted after the index was made lies between two of its elements.
TYPED_TEST(ConcurrentTexts, MayBeInsertedInOnePlace) {
  typename TestFixture::tested set;
  typename TestFixture::expected model;
  const auto text = [](const char* part, int i) {
    return "a common prefix/" + std::string(part) + std::to_string(100000 + i);
  };
  for (int i = 0; i < 1000; ++i) this->insert(set, model, text("a", i));
  for (int i = 0; i < 900; ++i) {
    this->insert(set, model, text("a100500/", i * 7 % 900));
    this->expect_equal_searches(set, model, text("a100500/", i));
  }
  EXPECT_TRUE(std::equal(set.begin(), set.end(), model.begin(), model.end()));
}

TYPED_TEST(ConcurrentTexts, MayMoveToAnotherContainer) {
  typename TestFixture::tested from;
  typename TestFixture::tested to;
  typename TestFixture::expected model;
  typename TestFixture::expected none;
  for (int i = 0; i < 2000; ++i) {
    this->insert(from, model, "prefix/" + std::to_string(i));
    this->insert(to, none, "other/" + std::to_string(i));
  }
  model.merge(none);
  to.merge(from);
  EXPECT_TRUE(from.empty());
  for (const std::string& key : model) this->expect_equal_searches(to, model, key + "0");
  typename TestFixture::tested copy(to);
  from.swap(copy);
  for (const std::string& key : model) {
    auto node = from.unsafe_extract(key);
    ASSERT_FALSE(node.empty());
    node.value() += "!";
    EXPECT_TRUE(copy.insert(std::move(node)).second);
  }
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(copy.size(), model.size());
  for (const std::string& key : model) EXPECT_TRUE(copy.contains(key + "!"));
}

TEST(ConcurrentTextMultiset, KeepsEqualTextsInTheOrderOfInsertion) {
  tbb::concurrent_multimap<std::string, int> map;
  std::multimap<std::string, int> model;
  Random random(2);
  for (int i = 0; i < 6000; ++i) {
    const std::string key = "a common prefix/" + std::to_string(random() % 300);
    map.emplace(key, i);
    model.emplace(key, i);
  }
  EXPECT_TRUE(std::equal(map.begin(), map.end(), model.begin(), model.end()));
  for (const auto& [key, value] : model) EXPECT_EQ(map.count(key), model.count(key));
}

TYPED_TEST(ConcurrentTexts, AreInsertedByThreads) {
  constexpr int kThreads = 4;
  constexpr int kTexts = 20000;
  typename TestFixture::tested set;
  const auto text = [](int i) { return "user:000" + std::to_string(i * 7919 % kTexts); };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t % 2; i < kTexts; i += 2) {
        set.insert(text(i));
        EXPECT_TRUE(set.contains(text(i)));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(set.size(), std::size_t(kTexts));
  EXPECT_TRUE(std::is_sorted(set.begin(), set.end(), set.key_comp()));
  for (int i = 0; i < kTexts; ++i) EXPECT_TRUE(set.contains(text(i)));
}

}  // namespace
}  // namespace corbel::test
