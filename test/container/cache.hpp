// SPDX-License-Identifier: Apache-2.0
// The server's cache: entries of a name and a value, in shards under locks. The oldest entry goes
// first, freed by the thread that needs the room. Storing a value again makes a new block.
#pragma once

#include <array>
#include <list>
#include <mutex>
#include <unordered_map>

#include "account.hpp"

namespace corbel::container {

class Cache {
 public:
  void put(std::uint64_t key, std::size_t size) {
    Entry fresh{key, Bytes(16 + key % 32), Bytes(size, key % 8 == 0)};
    Entries old;
    Shard& shard = of(key);
    const std::lock_guard guard(shard.lock);
    const auto found = shard.places.find(key);
    if (found != shard.places.end()) old.splice(old.begin(), shard.entries, found->second);
    shard.entries.push_back(std::move(fresh));
    shard.places[key] = --shard.entries.end();
  }

  // Copies the value out, as for an answer.
  bool get(std::uint64_t key) {
    Shard& shard = of(key);
    const std::lock_guard guard(shard.lock);
    const auto found = shard.places.find(key);
    if (found == shard.places.end()) return false;
    found->second->name.check();
    found->second->value.check();
    const Bytes answer(found->second->value.size());
    return true;
  }

  // Drops the oldest entry of one shard. Returns false if that shard is empty.
  bool drop_one(std::uint64_t which) {
    Shard& shard = of(which);
    Entries old;
    const std::lock_guard guard(shard.lock);
    if (shard.entries.empty()) return false;
    shard.places.erase(shard.entries.front().key);
    old.splice(old.begin(), shard.entries, shard.entries.begin());
    return true;
  }

 private:
  static constexpr std::size_t kShards = 16;
  struct Entry {
    std::uint64_t key;
    Bytes name, value;
  };
  using Entries = std::list<Entry, Counted<Entry>>;
  using Places = std::unordered_map<std::uint64_t, Entries::iterator, std::hash<std::uint64_t>,
                                    std::equal_to<>,
                                    Counted<std::pair<const std::uint64_t, Entries::iterator>>>;
  struct Shard {
    std::mutex lock;
    Entries entries;
    Places places;
  };

  Shard& of(std::uint64_t key) { return shards_[stress::mix(key) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace corbel::container
