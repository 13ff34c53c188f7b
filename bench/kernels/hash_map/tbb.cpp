// SPDX-License-Identifier: Apache-2.0
// A hash map with the oneTBB API: concurrent_hash_map, whose accessors lock an element.
#include <tbb/concurrent_hash_map.h>

#include "hash_map.hpp"

namespace {

template <typename Key>
class Map {
 public:
  bool insert(const Key& key, std::uint64_t value) { return map_.insert({key, value}); }

  bool find(const Key& key, std::uint64_t& value) {
    typename Table::const_accessor found;
    if (!map_.find(found, key)) return false;
    value = found->second;
    return true;
  }

  bool add(const Key& key, std::uint64_t value) {
    typename Table::accessor found;
    if (!map_.find(found, key)) return false;
    found->second += value;
    return true;
  }

  bool erase(const Key& key) { return map_.erase(key); }

 private:
  using Table = tbb::concurrent_hash_map<Key, std::uint64_t>;

  Table map_;
};

}  // namespace

const bench::Kernel bench::kernel = hash_map::description(hash_map::measure<Map>);
