// SPDX-License-Identifier: Apache-2.0
// Work for the compiler: deep templates over much of the standard library. The demo and the lab
// compile it and never run it.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

// Depth and number of instantiations; smaller values compile faster.
#ifndef LEVELS
#define LEVELS 3
#endif
#ifndef TABLES
#define TABLES 6
#endif

template <int N>
struct Node {
  std::map<std::string, std::array<int, N + 1>> table;
  std::unordered_map<int, std::vector<std::tuple<int, std::string, Node<N - 1>>>> children;
  std::variant<std::array<char, N + 1>, std::string, std::unique_ptr<Node<N - 1>>> content;

  template <typename Visit>
  auto walk(Visit&& visit) {
    for (auto& [key, list] : children) {
      std::sort(list.begin(), list.end(),
                [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
      for (auto& child : list) std::get<2>(child).walk(visit);
    }
    return std::visit([&](auto& value) { return visit(std::integral_constant<int, N>{}, value); },
                      content);
  }
};

template <>
struct Node<0> {
  int leaf = 0;
  template <typename Visit>
  auto walk(Visit&& visit) {
    return visit(std::integral_constant<int, 0>{}, leaf);
  }
};

template <std::size_t... I>
auto tables(std::index_sequence<I...>) {
  return std::make_tuple(
      std::map<std::array<int, I + 1>, std::function<int(std::array<int, I + 1>)>>{}...);
}

int use(Node<LEVELS>& node) {
  int sum = 0;
  node.walk([&sum](auto level, auto& value) {
    sum += level + static_cast<int>(sizeof(value));
    return sum;
  });
  auto all = tables(std::make_index_sequence<TABLES>{});
  std::apply([&](auto&... table) { ((sum += static_cast<int>(table.size())), ...); }, all);
  return sum;
}
