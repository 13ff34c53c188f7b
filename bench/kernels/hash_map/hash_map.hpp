// SPDX-License-Identifier: Apache-2.0
// A hash map that threads share, with the operations of a cache: look-ups by a key, a tenth of them
// updates (YCSB's workloads B and C lie on both sides of that); growth from empty; and half
// insertions, half erasures at a steady size.
//
// An adapter of a contestant is a template Map<Key> of 64-bit values:
//   bool insert(const Key&, std::uint64_t)   whether the key was new
//   bool find(const Key&, std::uint64_t&)    whether it was found, and its value
//   bool add(const Key&, std::uint64_t)      adds to the value, as one step for other threads
//   bool erase(const Key&)
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "../container_keys.hpp"
#include "../core_time.hpp"
#include "../harness.hpp"

namespace hash_map {

// A value has its key's number in the lower half, which a look-up checks, and the number of updates
// in the upper half.
inline constexpr std::uint64_t kUpdate = std::uint64_t{1} << 32;
inline constexpr std::uint32_t kUpdateBit = std::uint32_t{1} << 31;

// The number of a key, and in the top bit whether the operation updates or inserts.
using Operations = std::vector<std::uint32_t>;

inline void check_value(std::uint64_t value, std::uint32_t number) {
  bench::check((value & (kUpdate - 1)) == number, "a key has another key's value");
}

// One in ten operations is an update.
inline Operations lookups(std::uint64_t keys, std::uint64_t count, bool zipf) {
  const bench::Ranks ranks(keys, zipf);
  bench::Random random(1);
  Operations made(count);
  for (std::uint32_t& one : made) {
    one = ranks.draw(random);
    if (random.below(10) == 0) one |= kUpdateBit;
  }
  return made;
}

// Insertions and erasures of keys that belong to the operation's lane.
inline Operations changes(std::uint64_t keys, std::uint64_t count) {
  bench::Random random(2);
  Operations made(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t lane = i / (count / bench::kLanes);
    made[i] = random.below(static_cast<std::uint32_t>(keys / bench::kLanes)) *
                  static_cast<std::uint32_t>(bench::kLanes) +
              static_cast<std::uint32_t>(lane);
    if (random.below(2) == 0) made[i] |= kUpdateBit;
  }
  return made;
}

template <typename Key>
struct Run {
  unsigned threads;
  std::uint64_t keys;
  std::uint64_t count;  // of operations; a multiple of the lanes
};

template <template <typename> class Map, typename Key>
void fill(Map<Key>& map, const std::vector<Key>& keys, std::uint64_t step) {
  for (std::uint64_t i = 0; i < keys.size(); i += step) {
    bench::check(map.insert(keys[i], i), "a new key is there already");
  }
}

// The sum over all values, by look-ups of the keys.
template <template <typename> class Map, typename Key>
std::uint64_t sum_of(Map<Key>& map, std::uint64_t keys) {
  std::uint64_t sum = 0, value = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    if (!map.find(bench::key_of<Key>(i), value)) continue;
    check_value(value, static_cast<std::uint32_t>(i));
    sum += bench::mark_of(i) ^ value;
  }
  return sum;
}

template <template <typename> class Map, typename Key>
std::uint64_t look_up(const Run<Key>& run, bool zipf, double& seconds) {
  Map<Key> map;
  const std::vector<Key> keys = bench::keys_of<Key>(run.keys);
  fill<Map, Key>(map, keys, 1);
  const Operations operations = lookups(run.keys, run.count, zipf);
  const std::uint64_t each = run.count / bench::kLanes;
  seconds = bench::in_lanes(run.threads, [&](std::uint64_t lane) {
    std::uint64_t value = 0;
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      const std::uint32_t number = operations[i] & ~kUpdateBit;
      if (operations[i] & kUpdateBit) {
        bench::check(map.add(keys[number], kUpdate), "a key is missing");
      } else {
        bench::check(map.find(keys[number], value), "a key is missing");
        check_value(value, number);
      }
    }
  });
  return sum_of<Map, Key>(map, run.keys);
}

template <template <typename> class Map, typename Key>
std::uint64_t grow(const Run<Key>& run, double& seconds) {
  Map<Key> map;
  const std::uint64_t each = run.count / bench::kLanes;
  seconds = bench::in_lanes(run.threads, [&](std::uint64_t lane) {
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      bench::check(map.insert(bench::key_of<Key>(i), i), "a new key is there already");
    }
  });
  return sum_of<Map, Key>(map, run.count);
}

template <template <typename> class Map, typename Key>
std::uint64_t change(const Run<Key>& run, double& seconds) {
  Map<Key> map;
  const std::vector<Key> keys = bench::keys_of<Key>(run.keys);
  fill<Map, Key>(map, keys, 2);
  const Operations operations = changes(run.keys, run.count);
  const std::uint64_t each = run.count / bench::kLanes;
  std::atomic<std::uint64_t> successes{0};
  seconds = bench::in_lanes(run.threads, [&](std::uint64_t lane) {
    std::uint64_t own = 0;
    for (std::uint64_t i = lane * each; i < (lane + 1) * each; ++i) {
      const std::uint32_t number = operations[i] & ~kUpdateBit;
      own +=
          operations[i] & kUpdateBit ? map.insert(keys[number], number) : map.erase(keys[number]);
    }
    successes.fetch_add(own, std::memory_order_relaxed);  // a sum, read after the threads end
  });
  return sum_of<Map, Key>(map, run.keys) + successes.load(std::memory_order_relaxed);
}

template <template <typename> class Map, typename Key>
void measure_with(bench::Arguments& arguments, bench::Result& result) {
  const std::string work = arguments.text("work", "uniform");
  const std::uint64_t count = arguments.number("count", 64'000);
  const Run<Key> run{arguments.threads(), work == "grow" ? 0 : arguments.number("keys", 64'000),
                     count};
  bench::check(count % bench::kLanes == 0, "count= is a multiple of 64");
  bench::check(run.keys % bench::kLanes == 0, "keys= is a multiple of 64");
  if (work == "grow") {
    result.checksum = grow<Map, Key>(run, result.seconds);
  } else if (work == "change") {
    result.checksum = change<Map, Key>(run, result.seconds);
  } else {
    bench::check(work == "uniform" || work == "zipf", "work= is uniform, zipf, grow or change");
    result.checksum = look_up<Map, Key>(run, work == "zipf", result.seconds);
  }
  result.value = bench::core_seconds_each(result.seconds, run.threads, count) * 1e9;
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

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  const auto sizes = [](const char* label, const std::string& work, const char* quick,
                        const char* normal, const char* full) {
    return bench::Case{label, work + quick, work + normal, work + full};
  };
  const char *quick = " keys=64000 count=320000", *normal = " keys=640000 count=2560000",
             *full = " keys=6400000 count=25600000";
  const char *quick_growth = " count=128000", *normal_growth = " count=1280000",
             *full_growth = " count=12800000";
  return {
      .name = "hash_map",
      .title = "Hash map",
      .what =
          "Threads share one hash map: look-ups with one update in ten, of keys drawn uniformly or "
          "by Zipf's law, growth from empty, or insertions and erasures. The figure is core time "
          "per operation, and a string key's allocation counts where it is inserted.",
      .group = "container",
      .metric = "processor time of an operation",
      .unit = "ns",
      .plot = "lines",
      .threads = {1, 2, 4},
      .brief_threads = {1, 2},
      .cases = {sizes("look up, integers", "work=uniform key=integer", quick, normal, full),
                sizes("look up, strings", "work=uniform key=string", quick, normal, full),
                sizes("Zipf, integers", "work=zipf key=integer", quick, normal, full),
                sizes("Zipf, strings", "work=zipf key=string", quick, normal, full),
                sizes("grow, integers", "work=grow key=integer", quick_growth, normal_growth,
                      full_growth),
                sizes("grow, strings", "work=grow key=string", quick_growth, normal_growth,
                      full_growth),
                sizes("change, integers", "work=change key=integer", quick, normal, full),
                sizes("change, strings", "work=change key=string", quick, normal, full)},
      .run = run,
  };
}

}  // namespace hash_map
