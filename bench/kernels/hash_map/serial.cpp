// SPDX-License-Identifier: Apache-2.0
// A hash map of one thread: std::unordered_map.
#include <unordered_map>

#include "hash_map.hpp"

namespace {

template <typename Key>
class Map {
 public:
  bool insert(const Key& key, std::uint64_t value) { return map_.emplace(key, value).second; }

  bool find(const Key& key, std::uint64_t& value) {
    const auto found = map_.find(key);
    if (found == map_.end()) return false;
    value = found->second;
    return true;
  }

  bool add(const Key& key, std::uint64_t value) {
    const auto found = map_.find(key);
    if (found == map_.end()) return false;
    found->second += value;
    return true;
  }

  bool erase(const Key& key) { return map_.erase(key) == 1; }

 private:
  std::unordered_map<Key, std::uint64_t> map_;
};

}  // namespace

const bench::Kernel bench::kernel = hash_map::description(hash_map::measure<Map>);
