// SPDX-License-Identifier: Apache-2.0
// concurrent_hash_map: short random histories of three threads are linearizable, while a part of
// them makes the map grow.
#include <tbb/concurrent_hash_map.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>

#include "linearizable.hpp"

namespace corbel::test {
namespace {

constexpr int kKeys = 3;
constexpr int kThreads = 3;
constexpr int kOperations = 4;  // of each thread

enum kind { kFind, kCount, kInsert, kUpsert, kUpdate, kErase, kEraseHeld, kKinds };
constexpr const char* kNames[] = {"find",   "count", "insert",    "upsert",
                                  "update", "erase", "erase held"};

struct operation {
  kind what;
  int key;
  int value = 0;       // to insert or to store
  bool done = false;   // what the function returned
  bool found = false;  // of kEraseHeld
  int seen = 0;        // the value before

  friend std::ostream& operator<<(std::ostream& out, const operation& o) {
    return out << kNames[o.what] << ' ' << o.key << " value " << o.value << ": "
               << (o.done ? "true" : "false") << (o.found ? ", found" : "") << ", saw " << o.seen;
  }
};

// The map as it would be without other threads.
struct a_map {
  std::array<std::optional<int>, kKeys> elements;

  bool apply(const operation& o) {
    std::optional<int>& element = elements[std::size_t(o.key)];
    switch (o.what) {
      case kFind:
        return o.done == element.has_value() && (!o.done || o.seen == *element);
      case kCount:
        return o.done == element.has_value();
      case kInsert:
        if (o.done == element.has_value()) return false;
        if (o.done) element = o.value;
        return true;
      case kUpsert:
        if (o.done == element.has_value() || (!o.done && o.seen != *element)) return false;
        element = o.value;
        return true;
      case kUpdate:
        if (o.done != element.has_value() || (o.done && o.seen != *element)) return false;
        if (o.done) element = o.value;
        return true;
      case kErase:
        if (o.done != element.has_value()) return false;
        element.reset();
        return true;
      case kEraseHeld:
        if (o.found && !o.done) return true;  // another thread erased what this one held
        if (o.done != element.has_value() || (o.done && o.seen != *element)) return false;
        element.reset();
        return true;
      case kKinds:
        break;
    }
    return false;
  }
  bool operator==(const a_map&) const = default;
};

template <typename Map>
void perform(Map& map, const typename Map::key_type& key, operation& o) {
  typename Map::accessor writer;
  typename Map::const_accessor reader;
  switch (o.what) {
    case kFind:
      o.done = map.find(reader, key);
      if (o.done) o.seen = reader->second;
      break;
    case kCount:
      o.done = map.count(key) != 0;
      break;
    case kInsert:
      o.done = map.insert(typename Map::value_type(key, o.value));
      break;
    case kUpsert:
      o.done = map.insert(writer, key);
      o.seen = writer->second;
      writer->second = o.value;
      break;
    case kUpdate:
      o.done = map.find(writer, key);
      if (!o.done) break;
      o.seen = writer->second;
      writer->second = o.value;
      break;
    case kErase:
      o.done = map.erase(key);
      break;
    case kEraseHeld:
      // Half of the threads hold it for reading.
      if (o.value % 2 == 0) {
        o.found = map.find(writer, key);
        if (o.found) o.seen = writer->second;
        o.done = o.found && map.erase(writer);
      } else {
        o.found = map.find(reader, key);
        if (o.found) o.seen = reader->second;
        o.done = o.found && map.erase(reader);
      }
      break;
    case kKinds:
      break;
  }
}

// key_of(i) gives keys: those below kKeys are recorded, the others only make the map grow.
template <typename Map, typename KeyOf>
void check(int rounds, KeyOf key_of) {
  std::unique_ptr<Map> map;
  history<operation> happened(kThreads);
  a_map before;
  std::array<std::mt19937, kThreads> random;
  for (int t = 0; t < kThreads; ++t) random[std::size_t(t)].seed(std::mt19937::result_type(t + 1));
  std::mt19937 random_before;
  int failed = 0;
  run_rounds(
      kThreads, rounds,
      [&] {
        happened.clear();
        map = std::make_unique<Map>();
        before = a_map();
        for (int k = 0; k < kKeys; ++k) {
          if (random_before() % 2 == 0) continue;
          before.elements[std::size_t(k)] = 100 + k;
          map->insert(typename Map::value_type(key_of(k), 100 + k));
        }
        for (unsigned k = 0; k < random_before() % 8; ++k) map->insert({key_of(500 + int(k)), 0});
      },
      [&](int thread) {
        std::mt19937& r = random[std::size_t(thread)];
        for (int i = 0; i < kOperations; ++i) {
          const operation o{kind(r() % kKinds), int(r() % kKeys), 10 * thread + i};
          happened.record(thread, o,
                          [&](operation& done) { perform(*map, key_of(done.key), done); });
          for (unsigned k = r() % 4; k > 0; --k) map->insert({key_of(int(r() % 400) + kKeys), 0});
        }
      },
      [&] {
        if (is_linearizable(before, happened) || ++failed > 3) return;
        ADD_FAILURE() << happened;
      });
}

constexpr int kRounds = 4000;

TEST(ConcurrentHashMapLinear, Numbers) {
  check<tbb::concurrent_hash_map<int, int>>(kRounds, [](int i) { return i; });
}

TEST(ConcurrentHashMapLinear, Strings) {
  check<tbb::concurrent_hash_map<std::string, int>>(kRounds,
                                                    [](int i) { return std::to_string(i); });
}

// All elements have the same hash: they are in one bucket, and the lock of one may be tried for
// another.
struct same_hash {
  static std::size_t hash(const std::string&) { return 17; }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
};

TEST(ConcurrentHashMapLinear, EqualHashes) {
  check<tbb::concurrent_hash_map<std::string, int, same_hash>>(
      kRounds / 2, [](int i) { return std::to_string(i); });
}

}  // namespace
}  // namespace corbel::test
