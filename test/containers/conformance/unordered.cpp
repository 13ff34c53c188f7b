// SPDX-License-Identifier: Apache-2.0
// Logs what the unordered containers do.
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>

#include <functional>

#include "associative.hpp"

namespace conformance {
namespace {

// Takes keys of the other types that make a string_view.
struct hash_views {
  using transparent_key_equal = std::equal_to<>;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

struct unordered {
  static constexpr bool kOrdered = false;
  template <typename C>
  static C make(const typename C::allocator_type& a) {
    return C(a);
  }
  template <typename C>
  static void observe(log& out, C& c, random& r) {
    using elem = element<typename C::value_type>;
    out("functions", c.key_eq()("a", "a"), c.key_eq()("a", "b"),
        c.hash_function()("a") == hash_views()("a"), c.max_size() > c.size());
    const std::size_t before = c.unsafe_bucket_count();
    switch (r(4)) {
      case 0:
        c.rehash(r(200));
        break;
      case 1:
        c.reserve(r(200));
        break;
      case 2:
        c.max_load_factor(float(1 + r(8)) / 2);
        out("max_load_factor", c.max_load_factor());
        break;
      default:;
    }
    const std::size_t buckets = c.unsafe_bucket_count();
    const float load = c.load_factor();
    out("buckets", buckets >= before, buckets <= c.unsafe_max_bucket_count(),
        load == float(c.size()) / float(buckets));
    std::size_t size = 0, walked = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      size += c.unsafe_bucket_size(b);
      for (auto i = c.unsafe_begin(b); i != c.unsafe_end(b); ++i) {
        walked += c.unsafe_bucket(elem::key(*i)) == b;
      }
      walked += c.unsafe_cbegin(b) == c.unsafe_cend(b) ? 0 : 0;
    }
    out("in buckets", size, walked);
  }
  template <typename C>
  static void observe(log&, const C&, random&) {}
};
template <bool kPropagates>
struct maps : unordered {
  using allocator = numbered<std::pair<const string, counted>, kPropagates>;
  using unique =
      tbb::concurrent_unordered_map<string, counted, hash_views, std::equal_to<>, allocator>;
  using multi =
      tbb::concurrent_unordered_multimap<string, counted, hash_views, std::equal_to<>, allocator>;
};
template <bool kPropagates>
struct sets : unordered {
  using allocator = numbered<string, kPropagates>;
  using unique = tbb::concurrent_unordered_set<string, hash_views, std::equal_to<>, allocator>;
  using multi = tbb::concurrent_unordered_multiset<string, hash_views, std::equal_to<>, allocator>;
};

// A hash function and a comparison with numbers, which copies have.
struct hash_by_number {
  explicit hash_by_number(int n = 0) : number(n) {}
  std::size_t operator()(const string& key) const { return key.size() * std::size_t(number); }
  int number;
};
struct equal_by_number {
  explicit equal_by_number(int n = 0) : number(n) {}
  bool operator()(const string& a, const string& b) const { return a == b; }
  int number;
};

template <typename C>
void described(log& out, const C& c) {
  out(contents(c), c.hash_function().number, c.key_eq().number, c.get_allocator().number, c.size());
}
// At least this number of buckets.
template <typename C, typename... Arguments>
void constructed(log& out, std::size_t buckets, Arguments&&... arguments) {
  const C c(std::forward<Arguments>(arguments)...);
  described(out, c);
  out(c.unsafe_bucket_count() >= buckets);
}

template <typename C>
void constructors(const char* name) {
  using value = typename C::value_type;
  using elem = element<value>;
  using allocator = typename C::allocator_type;
  log out(string("unordered.constructors.") + name);
  const hash_by_number hash(3);
  const equal_by_number equal(4);
  const allocator memory(5);
  const std::size_t n = 100;
  const std::vector<value> values = {elem::make("b", 1), elem::make("a", 2), elem::make("c", 3),
                                     elem::make("b", 1)};
  const auto first = values.begin(), last = values.end();
  const std::initializer_list<value> list = {elem::make("y", 1), elem::make("z", 2)};
  constructed<C>(out, 0);
  constructed<C>(out, n, n);
  constructed<C>(out, n, n, hash);
  constructed<C>(out, n, n, hash, equal);
  constructed<C>(out, n, n, hash, equal, memory);
  constructed<C>(out, n, n, memory);
  constructed<C>(out, n, n, hash, memory);
  constructed<C>(out, 0, memory);
  constructed<C>(out, 0, first, last);
  constructed<C>(out, n, first, last, n);
  constructed<C>(out, n, first, last, n, hash);
  constructed<C>(out, n, first, last, n, hash, equal);
  constructed<C>(out, n, first, last, n, hash, equal, memory);
  constructed<C>(out, n, first, last, n, memory);
  constructed<C>(out, n, first, last, n, hash, memory);
  constructed<C>(out, 0, list);
  constructed<C>(out, n, list, n);
  constructed<C>(out, n, list, n, hash);
  constructed<C>(out, n, list, n, hash, equal);
  constructed<C>(out, n, list, n, hash, equal, memory);
  constructed<C>(out, n, list, n, memory);
  constructed<C>(out, n, list, n, hash, memory);
  const C from(list, n, hash, equal, memory);
  constructed<C>(out, 0, from);
  constructed<C>(out, 0, from, allocator(6));
  C moved(from);
  constructed<C>(out, 0, std::move(moved));
  moved = from;
  described(out, moved);
  constructed<C>(out, 0, std::move(moved), allocator(7));
  C listed{{elem::make("p", 1), elem::make("q", 2)}};
  listed = {elem::make("r", 1)};
  described(out, listed);
  C a(list, n, hash, equal, memory);
  C b(first, last, n, hash_by_number(7), equal_by_number(8), memory);
  a.max_load_factor(3);
  b.max_load_factor(5);
  a.swap(b);
  described(out, a);
  described(out, b);
  out(a.max_load_factor(), b.max_load_factor());
  a = b;
  described(out, a);
  out(a.max_load_factor());
  b = std::move(a);
  described(out, b);
}

struct plain_hash {
  std::size_t operator()(int key) const { return std::size_t(key); }
};
struct plain_equal {
  bool operator()(int a, int b) const { return a == b; }
};

void guides() {
  log out("unordered.guides");
  using pair = std::pair<const int, char>;
  using hash = std::hash<int>;
  using equal = std::equal_to<int>;
  const std::vector<std::pair<int, char>> w;
  const std::vector<int> n;
  const numbered<pair, false> a(1);
  const numbered<int, false> b(1);
  const plain_hash h;
  const plain_equal e;
  const std::initializer_list<pair> l = {};
  const std::initializer_list<int> nl = {};
  using tbb::concurrent_unordered_map;
  using tbb::concurrent_unordered_multimap;
  using tbb::concurrent_unordered_multiset;
  using tbb::concurrent_unordered_set;
#define GUIDES(C, T, A, a, first, last, list)                                        \
  same<decltype(C(first, last)), C<T>>(out);                                         \
  same<decltype(C(first, last, 1)), C<T>>(out);                                      \
  same<decltype(C(first, last, 1, h)), C<T, plain_hash>>(out);                       \
  same<decltype(C(first, last, 1, h, e)), C<T, plain_hash, plain_equal>>(out);       \
  same<decltype(C(first, last, 1, h, e, a)), C<T, plain_hash, plain_equal, A>>(out); \
  same<decltype(C(first, last, 1, a)), C<T, hash, equal, A>>(out);                   \
  same<decltype(C(first, last, 1, h, a)), C<T, plain_hash, equal, A>>(out);          \
  same<decltype(C(list)), C<T>>(out);                                                \
  same<decltype(C(list, 1)), C<T>>(out);                                             \
  same<decltype(C(list, 1, h)), C<T, plain_hash>>(out);                              \
  same<decltype(C(list, 1, h, e)), C<T, plain_hash, plain_equal>>(out);              \
  same<decltype(C(list, 1, h, e, a)), C<T, plain_hash, plain_equal, A>>(out);        \
  same<decltype(C(list, 1, a)), C<T, hash, equal, A>>(out);                          \
  same<decltype(C(list, 1, h, a)), C<T, plain_hash, equal, A>>(out);                 \
  same<decltype(C(C<T>())), C<T>>(out);
#define INT_CHAR int, char
  using map_memory = numbered<pair, false>;
  using set_memory = numbered<int, false>;
  GUIDES(concurrent_unordered_map, INT_CHAR, map_memory, a, w.begin(), w.end(), l)
  GUIDES(concurrent_unordered_multimap, INT_CHAR, map_memory, a, w.begin(), w.end(), l)
  GUIDES(concurrent_unordered_set, int, set_memory, b, n.begin(), n.end(), nl)
  GUIDES(concurrent_unordered_multiset, int, set_memory, b, n.begin(), n.end(), nl)
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  log::is_verbose() = argc > 1 && std::strcmp(argv[1], "-v") == 0;
  run_associative<maps<false>>("unordered.maps", 4000);
  run_associative<maps<true>>("unordered.maps.propagating", 4000);
  run_associative<sets<false>>("unordered.sets", 4000);
  run_associative<sets<true>>("unordered.sets.propagating", 4000);
  using map_memory = numbered<std::pair<const string, counted>, false>;
  constructors<
      tbb::concurrent_unordered_map<string, counted, hash_by_number, equal_by_number, map_memory>>(
      "map");
  constructors<tbb::concurrent_unordered_multimap<string, counted, hash_by_number, equal_by_number,
                                                  map_memory>>("multimap");
  constructors<tbb::concurrent_unordered_set<string, hash_by_number, equal_by_number,
                                             numbered<string, false>>>("set");
  constructors<tbb::concurrent_unordered_multiset<string, hash_by_number, equal_by_number,
                                                  numbered<string, false>>>("multiset");
  types<tbb::concurrent_unordered_map<int, int>>("unordered.types.map");
  types<tbb::concurrent_unordered_multimap<int, int>>("unordered.types.multimap");
  types<tbb::concurrent_unordered_set<int>>("unordered.types.set");
  types<tbb::concurrent_unordered_multiset<int>>("unordered.types.multiset");
  guides();
  return nothing_leaks() ? 0 : 1;
}
