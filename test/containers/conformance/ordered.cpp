// SPDX-License-Identifier: Apache-2.0
// Logs what the ordered containers do.
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_set.h>

#include <functional>

#include "associative.hpp"

namespace conformance {
namespace {

template <typename Value, typename Key, bool kPropagates>
struct ordered {
  static constexpr bool kOrdered = true;
  template <typename C>
  static C make(const typename C::allocator_type& a) {
    return C(a);
  }
  template <typename C>
  static void observe(log& out, const C& c, random& r) {
    const auto by_key = c.key_comp();
    out("key_comp", by_key("a", "b"), by_key("b", "a"));
    if (c.empty()) return;
    out("value_comp", c.value_comp()(*c.begin(), *std::next(c.begin(), long(r(c.size())))));
    out("max_size", c.max_size() > c.size());
  }
};
template <bool kPropagates>
struct maps : ordered<std::pair<const string, counted>, string, kPropagates> {
  using allocator = numbered<std::pair<const string, counted>, kPropagates>;
  using unique = tbb::concurrent_map<string, counted, std::less<>, allocator>;
  using multi = tbb::concurrent_multimap<string, counted, std::less<>, allocator>;
};
template <bool kPropagates>
struct sets : ordered<string, string, kPropagates> {
  using allocator = numbered<string, kPropagates>;
  using unique = tbb::concurrent_set<string, std::less<>, allocator>;
  using multi = tbb::concurrent_multiset<string, std::less<>, allocator>;
};

// A comparison with a number, which copies have.
struct by_number {
  explicit by_number(int n = 0) : number(n) {}
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return number % 2 == 0 ? a < b : b < a;
  }
  int number;
};

template <typename C, typename... Arguments>
void constructed(log& out, Arguments&&... arguments) {
  const C c(std::forward<Arguments>(arguments)...);
  out(contents(c), c.key_comp().number, c.get_allocator().number, c.size());
  string in_order;
  for (const auto& v : c) in_order += element<typename C::value_type>::key(v) + ',';
  out(in_order);
}

template <typename C>
void constructors(const char* name) {
  using value = typename C::value_type;
  using elem = element<value>;
  using allocator = typename C::allocator_type;
  log out(string("ordered.constructors.") + name);
  const by_number compare(3);
  const allocator memory(5);
  const std::vector<value> values = {elem::make("b", 1), elem::make("a", 2), elem::make("c", 3),
                                     elem::make("b", 1)};
  const std::initializer_list<value> list = {elem::make("y", 1), elem::make("z", 2)};
  constructed<C>(out);
  constructed<C>(out, compare);
  constructed<C>(out, compare, memory);
  constructed<C>(out, memory);
  constructed<C>(out, values.begin(), values.end());
  constructed<C>(out, values.begin(), values.end(), compare);
  constructed<C>(out, values.begin(), values.end(), compare, memory);
  constructed<C>(out, values.begin(), values.end(), memory);
  constructed<C>(out, list);
  constructed<C>(out, list, compare);
  constructed<C>(out, list, compare, memory);
  constructed<C>(out, list, memory);
  const C from(list, compare, memory);
  constructed<C>(out, from);
  constructed<C>(out, from, allocator(6));
  C moved(from);
  constructed<C>(out, std::move(moved));
  moved = from;
  out(moved.key_comp().number, contents(moved));
  constructed<C>(out, std::move(moved), allocator(7));
  C listed{{elem::make("p", 1), elem::make("q", 2)}};
  listed = {elem::make("r", 1)};
  out(contents(listed));
  C a(list, compare, memory), b(values.begin(), values.end(), by_number(2), memory);
  a.swap(b);
  out(contents(a), a.key_comp().number, contents(b), b.key_comp().number);
  a = b;
  out(contents(a), a.key_comp().number);
  b = std::move(a);
  out(contents(b), b.key_comp().number);
}

struct plain_less {
  bool operator()(int a, int b) const { return a < b; }
};

void guides() {
  log out("ordered.guides");
  using pair = std::pair<const int, char>;
  using mutable_pair = std::pair<int, char>;
  std::vector<pair> v;
  std::vector<mutable_pair> w;
  std::vector<int> n;
  const numbered<pair, false> a(1);
  const numbered<int, false> b(1);
  const plain_less less;
  const std::initializer_list<pair> l = {};
  const std::initializer_list<int> nl = {};
  using tbb::concurrent_map;
  using tbb::concurrent_multimap;
  using tbb::concurrent_multiset;
  using tbb::concurrent_set;
#define MAPS(C)                                                                                    \
  same<decltype(C(v.begin(), v.end())), C<int, char>>(out);                                        \
  same<decltype(C(w.begin(), w.end(), less)), C<int, char, plain_less>>(out);                      \
  same<decltype(C(w.begin(), w.end(), less, a)), C<int, char, plain_less, numbered<pair, false>>>( \
      out);                                                                                        \
  same<decltype(C(w.begin(), w.end(), a)), C<int, char, std::less<int>, numbered<pair, false>>>(   \
      out);                                                                                        \
  same<decltype(C(l)), C<int, char>>(out);                                                         \
  same<decltype(C(l, less)), C<int, char, plain_less>>(out);                                       \
  same<decltype(C(l, less, a)), C<int, char, plain_less, numbered<pair, false>>>(out);             \
  same<decltype(C(l, a)), C<int, char, std::less<int>, numbered<pair, false>>>(out);               \
  same<decltype(C(C<int, char>())), C<int, char>>(out);
  MAPS(concurrent_map)
  MAPS(concurrent_multimap)
#define SETS(C)                                                                                  \
  same<decltype(C(n.begin(), n.end())), C<int>>(out);                                            \
  same<decltype(C(n.begin(), n.end(), less)), C<int, plain_less>>(out);                          \
  same<decltype(C(n.begin(), n.end(), less, b)), C<int, plain_less, numbered<int, false>>>(out); \
  same<decltype(C(n.begin(), n.end(), b)), C<int, std::less<int>, numbered<int, false>>>(out);   \
  same<decltype(C(nl)), C<int>>(out);                                                            \
  same<decltype(C(nl, less)), C<int, plain_less>>(out);                                          \
  same<decltype(C(nl, less, b)), C<int, plain_less, numbered<int, false>>>(out);                 \
  same<decltype(C(nl, b)), C<int, std::less<int>, numbered<int, false>>>(out);                   \
  same<decltype(C(C<int>())), C<int>>(out);
  SETS(concurrent_set)
  SETS(concurrent_multiset)
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  log::is_verbose() = argc > 1 && std::strcmp(argv[1], "-v") == 0;
  run_associative<maps<false>>("ordered.maps", 4000);
  run_associative<maps<true>>("ordered.maps.propagating", 4000);
  run_associative<sets<false>>("ordered.sets", 4000);
  run_associative<sets<true>>("ordered.sets.propagating", 4000);
  using map_memory = numbered<std::pair<const string, counted>, false>;
  constructors<tbb::concurrent_map<string, counted, by_number, map_memory>>("map");
  constructors<tbb::concurrent_multimap<string, counted, by_number, map_memory>>("multimap");
  constructors<tbb::concurrent_set<string, by_number, numbered<string, false>>>("set");
  constructors<tbb::concurrent_multiset<string, by_number, numbered<string, false>>>("multiset");
  types<tbb::concurrent_map<int, int>>("ordered.types.map");
  types<tbb::concurrent_multimap<int, int>>("ordered.types.multimap");
  types<tbb::concurrent_set<int>>("ordered.types.set");
  types<tbb::concurrent_multiset<int>>("ordered.types.multiset");
  guides();
  return nothing_leaks() ? 0 : 1;
}
