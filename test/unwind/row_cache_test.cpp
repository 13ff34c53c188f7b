// SPDX-License-Identifier: Apache-2.0
// The cache of rows keeps what it is given, and takes no entry for another key's.
#include <memory>
#include <random>
#include <vector>

#include "unwind/row_cache.hpp"
#include "unwind_test.hpp"

namespace {

using corbel::unwind::Row;
using corbel::unwind::RowCache;

struct Added {
  std::uint32_t object, offset, bits;
};

std::vector<Added> make_keys(std::size_t count) {
  std::mt19937 random(1);
  std::vector<Added> keys;
  for (std::size_t i = 0; i < count; ++i) {
    // Any bits that are not those of Kind::kNone.
    keys.push_back({std::uint32_t(1 + random() % 40), std::uint32_t(i * 16 + random() % 16),
                    std::uint32_t(random()) | 1});
  }
  return keys;
}

std::size_t count_found(const RowCache& cache, const std::vector<Added>& keys) {
  std::size_t found = 0;
  for (const Added& key : keys) {
    const Row row = cache.find(key.object, key.offset);
    CHECK(row.kind() == Row::Kind::kNone || row.bits() == key.bits);
    found += row.kind() != Row::Kind::kNone;
  }
  return found;
}

// As many as a large program's sampled stacks have. In sets of one entry, one key in ten would
// replace another one.
TEST_CASE(keys_seldom_replace_each_other) {
  const auto cache = std::make_unique<RowCache>();
  const std::vector<Added> keys = make_keys(1500);
  CHECK(count_found(*cache, keys) == 0);
  for (const Added& key : keys) cache->add(key.object, key.offset, Row::from_bits(key.bits));
  CHECK(count_found(*cache, keys) > 1490);
}

TEST_CASE(the_newest_keys_stay) {
  const auto cache = std::make_unique<RowCache>();
  const std::vector<Added> keys = make_keys(100000);
  for (const Added& key : keys) cache->add(key.object, key.offset, Row::from_bits(key.bits));
  const std::size_t found = count_found(*cache, keys);
  CHECK(found > 8000 && found <= 8192);
  const std::vector<Added> last(keys.end() - 1000, keys.end());
  CHECK(count_found(*cache, last) > 990);
}

}  // namespace
