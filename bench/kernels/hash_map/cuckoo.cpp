// SPDX-License-Identifier: Apache-2.0
// A hash map with libcuckoo (Li et al., EuroSys 2014).
#include <libcuckoo/cuckoohash_map.hh>

#include "hash_map.hpp"

namespace {

template <typename Key>
class Map {
 public:
  bool insert(const Key& key, std::uint64_t value) { return map_.insert(key, value); }
  bool find(const Key& key, std::uint64_t& value) { return map_.find(key, value); }
  bool add(const Key& key, std::uint64_t value) {
    return map_.update_fn(key, [&](std::uint64_t& found) { found += value; });
  }
  bool erase(const Key& key) { return map_.erase(key); }

 private:
  libcuckoo::cuckoohash_map<Key, std::uint64_t> map_;
};

}  // namespace

const bench::Kernel bench::kernel = hash_map::description(hash_map::measure<Map>);
