// SPDX-License-Identifier: Apache-2.0
// Maps that threads share and that grow only: insertions into an empty map, and look-ups of which
// half find their key.
//
// An adapter of a contestant is a template Map<Key> of 64-bit values:
//   bool insert(const Key&, std::uint64_t)   whether the key was new
//   bool find(const Key&, std::uint64_t&)    whether it was found, and its value
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "container_keys.hpp"
#include "core_time.hpp"
#include "harness.hpp"

namespace insert_find {

template <template <typename> class Map, typename Key>
std::uint64_t insert(unsigned threads, std::uint64_t count, double& seconds) {
  Map<Key> map;
  const std::uint64_t each = count / bench::kLanes;
  std::atomic<std::uint64_t> refused{0};
  seconds = bench::in_lanes(threads, [&](std::uint64_t lane) {
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      bench::check(map.insert(bench::key_of<Key>(i), i), "a new key is there already");
    }
    // The lanes race to insert one more key: all but one must fail.
    refused.fetch_add(!map.insert(bench::key_of<Key>(count), count),
                      std::memory_order_relaxed);  // a sum, read after the threads end
  });
  std::uint64_t sum = refused.load(std::memory_order_relaxed);
  bench::check(sum == bench::kLanes - 1, "a key was inserted twice");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    bench::check(map.find(bench::key_of<Key>(i), value) && value == i, "a key is missing");
    sum += bench::mark_of(value);
  }
  return sum;
}

// The keys with even numbers are in the map.
template <template <typename> class Map, typename Key>
std::uint64_t find(unsigned threads, std::uint64_t keys, std::uint64_t count, double& seconds) {
  Map<Key> map;
  const std::vector<Key> all = bench::keys_of<Key>(keys);
  for (std::uint64_t i = 0; i < keys; i += 2) map.insert(all[i], i);
  bench::Random random(1);
  std::vector<std::uint32_t> drawn(count);
  for (std::uint32_t& one : drawn) one = random.below(static_cast<std::uint32_t>(keys));
  const std::uint64_t each = count / bench::kLanes;
  std::atomic<std::uint64_t> sum{0};
  seconds = bench::in_lanes(threads, [&](std::uint64_t lane) {
    std::uint64_t own = 0, value = 0;
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      const std::uint32_t number = drawn[i];
      const bool found = map.find(all[number], value);
      bench::check(found == (number % 2 == 0) && (!found || value == number), "a look-up is wrong");
      own += found ? value : 1;
    }
    sum.fetch_add(own, std::memory_order_relaxed);  // a sum, read after the threads end
  });
  return sum.load(std::memory_order_relaxed);
}

template <template <typename> class Map, typename Key>
void measure_with(bench::Arguments& arguments, bench::Result& result) {
  const std::string work = arguments.text("work", "insert");
  const std::uint64_t count = arguments.number("count", 64'000);
  bench::check(count % bench::kLanes == 0, "count= is a multiple of 64");
  const unsigned threads = arguments.threads();
  if (work == "insert") {
    result.checksum = insert<Map, Key>(threads, count, result.seconds);
  } else {
    bench::check(work == "find", "work= is insert or find");
    result.checksum =
        find<Map, Key>(threads, arguments.number("keys", 64'000), count, result.seconds);
  }
  result.value = bench::core_seconds_each(result.seconds, threads, count) * 1e9;
}

// The run function of a contestant.
template <template <typename> class Map>
void measure(bench::Arguments& arguments, bench::Result& result) {
  const std::string key = arguments.text("key", "integer");
  bench::check(key == "integer" || key == "string", "key= is integer or string");
  if (key == "string") {
    measure_with<Map, std::string>(arguments, result);
  } else {
    measure_with<Map, std::uint64_t>(arguments, result);
  }
}

inline bench::Kernel description(const char* name, const char* title, const char* what,
                                 void (*run)(bench::Arguments&, bench::Result&)) {
  const auto inserting = [](const char* label, const std::string& key) {
    return bench::Case{label, key + " count=64000", key + " count=640000", key + " count=6400000"};
  };
  const auto finding = [](const char* label, const std::string& key) {
    return bench::Case{label, key + " keys=64000 count=256000", key + " keys=640000 count=2560000",
                       key + " keys=6400000 count=25600000"};
  };
  return {
      .name = name,
      .title = title,
      .what = what,
      .group = "container",
      .metric = "processor time of an operation",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4},
      .brief_threads = {1, 2},
      .cases = {inserting("insert, integers", "work=insert key=integer"),
                inserting("insert, strings", "work=insert key=string"),
                finding("find, integers", "work=find key=integer"),
                finding("find, strings", "work=find key=string")},
      .run = run,
  };
}

// The adapter of a map whose interface is that of the standard maps.
template <typename Table, typename Key>
class StandardMap {
 public:
  bool insert(const Key& key, std::uint64_t value) { return table_.emplace(key, value).second; }

  bool find(const Key& key, std::uint64_t& value) {
    const auto found = table_.find(key);
    if (found == table_.end()) return false;
    value = found->second;
    return true;
  }

 private:
  Table table_;
};

}  // namespace insert_find
