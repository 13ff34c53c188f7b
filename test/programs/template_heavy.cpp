// SPDX-License-Identifier: Apache-2.0
//
// The file that test_compiler.py compiles: many instantiations, long mangled names, constant
// evaluation and a good deal of the standard library, so that the compiler allocates a lot. It also
// runs: its output shows that the object code is not only equal but right.

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <int N>
struct Tag {
  static constexpr int value = N;
};

template <class... Ts>
struct List {};

template <class L, class T>
struct Append;
template <class... Ts, class T>
struct Append<List<Ts...>, T> {
  using type = List<Ts..., T>;
};

template <class L>
struct Reverse;
template <>
struct Reverse<List<>> {
  using type = List<>;
};
template <class H, class... Ts>
struct Reverse<List<H, Ts...>> {
  using type = typename Append<typename Reverse<List<Ts...>>::type, H>::type;
};

template <class L>
struct Sum;
template <class... Ts>
struct Sum<List<Ts...>> {
  static constexpr long value = (0L + ... + Ts::value);
};

template <class Seq>
struct Tags;
template <int... Is>
struct Tags<std::integer_sequence<int, Is...>> {
  using type = List<Tag<Is * 3 + 1>...>;
};
using ManyTags = Tags<std::make_integer_sequence<int, 150>>::type;

template <int N>
constexpr auto sieve() {
  std::array<bool, N> composite{};
  for (int i = 2; i < N; ++i)
    for (int j = 2 * i; !composite[i] && j < N; j += i) composite[j] = true;
  return composite;
}

template <int Depth, class T>
struct Nested {
  std::variant<T, std::vector<T>, std::map<std::string, T>> here;
  std::optional<Nested<Depth - 1, std::pair<T, Tag<Depth>>>> below;
  int depth() const { return below ? below->depth() + 1 : 1; }
};
template <class T>
struct Nested<0, T> {
  T here;
  int depth() const { return 1; }
};

template <std::size_t... Is>
int grow(std::index_sequence<Is...>) {
  auto tuple =
      std::make_tuple(std::make_pair(Tag<static_cast<int>(Is)>{}, std::string(Is, 'x'))...);
  return std::apply(
      [](const auto&... item) {
        return (0 + ... + static_cast<int>(item.second.size() + item.first.value));
      },
      tuple);
}

template <int N>
int closures() {
  std::function<int(int)> f = [](int x) { return x + N; };
  if constexpr (N > 0) {
    std::map<Tag<N>*, std::function<int(int)>> table;
    table[nullptr] = f;
    return table[nullptr](closures<N - 1>());
  }
  return f(0);
}

}  // namespace

int main() {
  std::cout << Sum<Reverse<ManyTags>::type>::value << "\n";
  constexpr auto composite = sieve<4000>();
  std::cout << std::count(composite.begin() + 2, composite.end(), false) << "\n";
  Nested<4, int> nested{};
  nested.below.emplace();
  std::cout << nested.depth() << " " << grow(std::make_index_sequence<16>{}) << " "
            << closures<16>() << "\n";

  std::regex word(R"((\w+)-(\d+))");
  std::string text = "alpha-12 beta-7 gamma-300";
  std::unordered_map<std::string, std::set<int>> found;
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it)
    found[(*it)[1]].insert(std::stoi((*it)[2]));
  std::ostringstream out;
  for (const char* name : {"alpha", "beta", "gamma"}) out << name << *found[name].begin();
  std::cout << out.str() << "\n";
}
