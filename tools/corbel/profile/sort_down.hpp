// SPDX-License-Identifier: Apache-2.0
// Sorting, largest first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace corbel::cli {

// Sorts by `key_of`, largest first; equal ones stay in their order. (The library's stable_sort
// calls a function that C++20 no longer has, which clang does not let pass.)
template <typename T, typename KeyOf>
void sort_down(std::vector<T>& list, KeyOf&& key_of) {
  using Key = decltype(key_of(list.front()));
  std::vector<std::pair<Key, std::size_t>> order;
  for (std::size_t i = 0; i < list.size(); ++i) order.emplace_back(key_of(list[i]), i);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const auto& [key, place] : order) sorted.push_back(std::move(list[place]));
  list = std::move(sorted);
}

}  // namespace corbel::cli
