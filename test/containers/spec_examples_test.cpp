// SPDX-License-Identifier: Apache-2.0
// What the examples in the containers chapter of the oneTBB specification and of its guide show,
// each as a test of what the text says.
#define TBB_PREVIEW_CONCURRENT_HASH_MAP_EXTENSIONS 1
#define TBB_PREVIEW_CONCURRENT_LRU_CACHE 1
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_lru_cache.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_priority_queue.h>
#include <tbb/concurrent_queue.h>
#include <tbb/concurrent_set.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>
#include <tbb/concurrent_vector.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

template <typename Expected, typename T>
void expect_type(const T&) {
  static_assert(std::is_same_v<Expected, T>);
}

using pair = std::pair<const int, float>;
const std::vector<std::pair<int, float>> kPairs = {{1, 2.0f}, {2, 3.0f}, {2, 4.0f}};
const std::vector<int> kNumbers = {3, 1, 2, 3};

struct hash {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key) * 3; }
};

// ---- deduction guides: from a sequence, with an allocator or a function, from a list, and from
// another container

TEST(SpecExamples, VectorIsDeduced) {
  const std::array<int, 100> numbers{};
  tbb::concurrent_vector from_range(numbers.begin(), numbers.end());
  expect_type<tbb::concurrent_vector<int>>(from_range);
  EXPECT_EQ(from_range.size(), 100u);
  const std::allocator<int> allocator;
  tbb::concurrent_vector allocated(numbers.begin(), numbers.end(), allocator);
  expect_type<tbb::concurrent_vector<int, std::allocator<int>>>(allocated);
  expect_type<decltype(allocated)>(tbb::concurrent_vector(allocated, allocator));
}

TEST(SpecExamples, QueuesAreDeduced) {
  tbb::concurrent_queue queue(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_queue<int>>(queue);
  tbb::concurrent_queue allocated(kNumbers.begin(), kNumbers.end(), std::allocator<int>());
  expect_type<tbb::concurrent_queue<int, std::allocator<int>>>(allocated);
  tbb::concurrent_bounded_queue bounded(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_bounded_queue<int>>(bounded);
  tbb::concurrent_bounded_queue both(kNumbers.begin(), kNumbers.end(), std::allocator<int>());
  expect_type<tbb::concurrent_bounded_queue<int, std::allocator<int>>>(both);
  int first = 0;
  EXPECT_TRUE(queue.try_pop(first));
  EXPECT_EQ(first, 3);
  bounded.pop(first);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(bounded.size(), 3);
}

TEST(SpecExamples, PriorityQueueIsDeduced) {
  tbb::concurrent_priority_queue greatest(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_priority_queue<int>>(greatest);
  tbb::concurrent_priority_queue least(kNumbers.begin(), kNumbers.end(), std::greater{});
  expect_type<tbb::concurrent_priority_queue<int, std::greater<>>>(least);
  int first = 0;
  EXPECT_TRUE(greatest.try_pop(first));
  EXPECT_EQ(first, 3);
  EXPECT_TRUE(least.try_pop(first));
  EXPECT_EQ(first, 1);
}

TEST(SpecExamples, HashMapIsDeduced) {
  tbb::concurrent_hash_map map(kPairs.begin(), kPairs.end());
  expect_type<tbb::concurrent_hash_map<int, float>>(map);
  EXPECT_EQ(map.size(), 2u);
  const std::allocator<pair> allocator;
  tbb::concurrent_hash_map allocated(kPairs.begin(), kPairs.end(), allocator);
  using with_allocator =
      tbb::concurrent_hash_map<int, float, tbb::tbb_hash_compare<int>, std::allocator<pair>>;
  expect_type<with_allocator>(allocated);
  expect_type<with_allocator>(tbb::concurrent_hash_map(allocated, allocator));
}

TEST(SpecExamples, OrderedMapsAreDeduced) {
  const std::allocator<pair> allocator;
  tbb::concurrent_map map(kPairs.begin(), kPairs.end());
  expect_type<tbb::concurrent_map<int, float>>(map);
  tbb::concurrent_map listed({std::pair(1, 2.0f), std::pair(2, 3.0f)});
  expect_type<tbb::concurrent_map<int, float>>(listed);
  EXPECT_EQ(map, listed);
  tbb::concurrent_map allocated(kPairs.begin(), kPairs.end(), allocator);
  expect_type<tbb::concurrent_map<int, float, std::less<int>, std::allocator<pair>>>(allocated);
  expect_type<decltype(allocated)>(tbb::concurrent_map(allocated, allocator));

  tbb::concurrent_multimap multimap(kPairs.begin(), kPairs.end());
  expect_type<tbb::concurrent_multimap<int, float>>(multimap);
  EXPECT_EQ(multimap.count(2), 2u);
  tbb::concurrent_multimap listed_too({std::pair(1, 2.0f), std::pair(1, 2.0f)});
  expect_type<tbb::concurrent_multimap<int, float>>(listed_too);
  EXPECT_EQ(listed_too.size(), 2u);
}

TEST(SpecExamples, OrderedSetsAreDeduced) {
  tbb::concurrent_set set(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_set<int>>(set);
  tbb::concurrent_set listed({1, 2, 3});
  expect_type<tbb::concurrent_set<int>>(listed);
  EXPECT_EQ(set, listed);
  tbb::concurrent_multiset multiset(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_multiset<int>>(multiset);
  tbb::concurrent_multiset listed_too({1, 2, 3, 3});
  expect_type<tbb::concurrent_multiset<int>>(listed_too);
  EXPECT_EQ(multiset, listed_too);
  const std::allocator<int> allocator;
  tbb::concurrent_set allocated({1, 2, 3}, allocator);
  expect_type<tbb::concurrent_set<int, std::less<int>, std::allocator<int>>>(allocated);
  expect_type<decltype(allocated)>(tbb::concurrent_set(std::move(allocated), allocator));
}

// The example in the text leaves the number of buckets out, which no constructor does.
TEST(SpecExamples, UnorderedContainersAreDeduced) {
  tbb::concurrent_unordered_map map(kPairs.begin(), kPairs.end());
  expect_type<tbb::concurrent_unordered_map<int, float>>(map);
  tbb::concurrent_unordered_map hashed(kPairs.begin(), kPairs.end(), 100, hash{});
  expect_type<tbb::concurrent_unordered_map<int, float, hash>>(hashed);
  EXPECT_EQ(hashed.size(), map.size());
  tbb::concurrent_unordered_multimap multimap(kPairs.begin(), kPairs.end());
  expect_type<tbb::concurrent_unordered_multimap<int, float>>(multimap);
  EXPECT_EQ(multimap.count(2), 2u);
  tbb::concurrent_unordered_multimap hashed_too(kPairs.begin(), kPairs.end(), 100, hash{});
  expect_type<tbb::concurrent_unordered_multimap<int, float, hash>>(hashed_too);

  tbb::concurrent_unordered_set set(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_unordered_set<int>>(set);
  tbb::concurrent_unordered_set listed({3, 2, 1}, 100, hash{});
  expect_type<tbb::concurrent_unordered_set<int, hash>>(listed);
  EXPECT_EQ(listed.size(), set.size());
  tbb::concurrent_unordered_multiset multiset(kNumbers.begin(), kNumbers.end());
  expect_type<tbb::concurrent_unordered_multiset<int>>(multiset);
  EXPECT_EQ(multiset.count(3), 2u);
  const std::allocator<int> allocator;
  tbb::concurrent_unordered_multiset allocated(kNumbers.begin(), kNumbers.end(), allocator);
  expect_type<decltype(allocated)>(tbb::concurrent_unordered_multiset(allocated, allocator));
}

// ---- concurrent_hash_map

// Words hash and compare by their letters, whatever the case.
struct ignoring_case {
  static std::size_t hash(const std::string& word) {
    std::size_t made = 0;
    for (const char letter : word) made = made * 31 + static_cast<std::size_t>(lower(letter));
    return made;
  }
  static bool equal(const std::string& a, const std::string& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
  }
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
};

TEST(SpecExamples, HashMapCountsWords) {
  using table = tbb::concurrent_hash_map<std::string, int, ignoring_case>;
  const char* const few[] = {"one", "Two", "two", "three", "THREE", "Three"};
  std::vector<std::string> words;
  for (int i = 0; i < 6000; ++i) words.emplace_back(few[i % 6]);
  table counts;
  // An insertion of a key returns with the element locked, be it new or not.
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, words.size(), 100), [&](const auto& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) {
      table::accessor element;
      counts.insert(element, words[i]);
      ++element->second;
    }
  });
  EXPECT_EQ(counts.size(), 3u);
  for (const auto& word : counts) {
    EXPECT_EQ(word.second, word.first.size() == 5 ? 3000 : word.first[0] == 'o' ? 1000 : 2000);
  }
  table::const_accessor found;
  EXPECT_TRUE(counts.find(found, "ONE"));
  EXPECT_FALSE(counts.find(found, "four"));
  EXPECT_TRUE(found.empty());
}

// A thread that holds an element keeps others from changing it, but not from changing others. An
// erased element stays as long as an accessor points to it.
TEST(SpecExamples, HashMapAccessorsAreLocks) {
  using table = tbb::concurrent_hash_map<int, int>;
  table map{{1, 10}, {2, 20}};
  {
    table::const_accessor one, too;
    EXPECT_TRUE(map.find(one, 1));
    EXPECT_TRUE(map.find(too, 1));  // readers share
    table::accessor two;
    EXPECT_TRUE(map.find(two, 2));
    two->second = 21;
    two.release();
    EXPECT_TRUE(two.empty());
    too.release();
    EXPECT_TRUE(map.erase(one));
    EXPECT_TRUE(one.empty());
  }
  EXPECT_EQ(map.count(1), 0u);
  EXPECT_EQ(map.count(2), 1u);
}

// The standard's mutex in the shape of a ReaderWriterMutex of oneTBB.
class shared_mutex {
 public:
  [[maybe_unused]] static constexpr bool is_rw_mutex = true;
  [[maybe_unused]] static constexpr bool is_recursive_mutex = false;
  [[maybe_unused]] static constexpr bool is_fair_mutex = false;

  class scoped_lock {
   public:
    constexpr scoped_lock() noexcept = default;
    explicit scoped_lock(shared_mutex& m, bool write = true) { acquire(m, write); }
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;
    ~scoped_lock() {
      if (held_ != nullptr) release();
    }
    void acquire(shared_mutex& m, bool write = true) {
      if (write) {
        m.mutex_.lock();
      } else {
        m.mutex_.lock_shared();
      }
      held_ = &m;
      writes_ = write;
    }
    bool try_acquire(shared_mutex& m, bool write = true) {
      if (!(write ? m.mutex_.try_lock() : m.mutex_.try_lock_shared())) return false;
      held_ = &m;
      writes_ = write;
      return true;
    }
    void release() {
      if (writes_) {
        held_->mutex_.unlock();
      } else {
        held_->mutex_.unlock_shared();
      }
      held_ = nullptr;
    }
    bool upgrade_to_writer() {
      shared_mutex& m = *held_;
      release();
      acquire(m);
      return false;
    }
    bool downgrade_to_reader() {
      shared_mutex& m = *held_;
      release();
      acquire(m, false);
      return false;
    }
    bool is_writer() const { return writes_; }

   private:
    shared_mutex* held_ = nullptr;
    bool writes_ = false;
  };

 private:
  std::shared_mutex mutex_;
};

TEST(SpecExamples, HashMapTakesAnotherMutex) {
  using table =
      tbb::concurrent_hash_map<int, int, tbb::tbb_hash_compare<int>,
                               tbb::tbb_allocator<std::pair<const int, int>>, shared_mutex>;
  static_assert(std::is_same_v<table::mutex_type, shared_mutex>);
  table map;
  tbb::parallel_for(0, 1000, [&](int i) {
    table::accessor element;
    map.insert(element, i % 10);
    ++element->second;
  });
  for (const auto& element : map) EXPECT_EQ(element.second, 100);
}

// ---- the examples of the guide

// Appends the characters of a string together, whatever other threads append.
TEST(SpecExamples, VectorAppendsStrings) {
  tbb::concurrent_vector<char> text;
  tbb::parallel_for(0, 100, [&](int i) {
    const char* const word = i % 2 == 0 ? "even" : "odd";
    const std::size_t size = std::strlen(word) + 1;
    std::copy(word, word + size, text.grow_by(size));
  });
  EXPECT_EQ(text.size(), 50u * 5 + 50u * 4);
  int even = 0;
  for (auto c = text.begin(); c != text.end(); c = std::find(c, text.end(), '\0') + 1) {
    even += *c == 'e' ? 1 : 0;
  }
  EXPECT_EQ(even, 50);
}

// What one thread pushes is popped in this order; a pop of an empty queue returns at once.
TEST(SpecExamples, QueueIsFirstInFirstOut) {
  tbb::concurrent_queue<int> queue;
  for (int i = 0; i < 10; ++i) queue.push(i);
  int expected = 0;
  for (auto i = queue.unsafe_begin(); i != queue.unsafe_end(); ++i) EXPECT_EQ(*i, expected++);
  int popped = 0;
  for (int i = 0; queue.try_pop(popped); ++i) EXPECT_EQ(popped, i);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.try_pop(popped));
}

// Values are made for keys that are not there, stay while a handle refers to them, and as many as
// the cache has room for after that.
TEST(SpecExamples, CacheKeepsWhatIsUsed) {
  std::atomic<int> made{0};
  const auto square = [&](int key) {
    ++made;
    return key * key;
  };
  tbb::concurrent_lru_cache<int, int, decltype(square)> cache(square, 1);
  auto kept = cache[3];
  EXPECT_TRUE(kept);
  EXPECT_EQ(kept.value(), 9);
  cache[4];
  cache[5];
  EXPECT_EQ(cache[3].value(), 9);
  EXPECT_EQ(cache[5].value(), 25);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(cache[4].value(), 16);
  EXPECT_EQ(made, 4);
}

}  // namespace
