// SPDX-License-Identifier: Apache-2.0
// Logs what concurrent_hash_map and concurrent_lru_cache do.
#define TBB_PREVIEW_CONCURRENT_LRU_CACHE 1
#define TBB_PREVIEW_CONCURRENT_HASH_MAP_EXTENSIONS 1
#include <tbb/blocked_range.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_lru_cache.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "log.hpp"

namespace conformance {
namespace {

using value_type = std::pair<const string, counted>;

struct compare_views {
  using is_transparent = void;
  explicit compare_views(int n = 0) : number(n) {}
  std::size_t hash(std::string_view key) const { return std::hash<std::string_view>()(key); }
  bool equal(std::string_view a, std::string_view b) const { return a == b; }
  int number;
};

string text(const value_type& v) { return v.first + '=' + std::to_string(v.second.value); }
template <typename Iterator>
string contents(Iterator first, Iterator last) {
  std::vector<string> texts;
  for (; first != last; ++first) texts.push_back(text(*first));
  std::sort(texts.begin(), texts.end());
  string all;
  for (const string& each : texts) all += each + ',';
  return all;
}

template <bool kPropagates>
class map_run {
  using allocator = numbered<value_type, kPropagates>;
  using map = tbb::concurrent_hash_map<string, counted, compare_views, allocator>;
  using accessor = typename map::accessor;
  using const_accessor = typename map::const_accessor;

 public:
  explicit map_run(log& out) : out_(out), random_(6) {
    for (int i = 0; i < 4; ++i) maps_.emplace_back(allocator(1 + i % 2));
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t what = random_(12);
      out_("op", what);
      step(what);
      for (const map& m : maps_) state(m);
    }
  }

 private:
  map& any() { return maps_[random_(maps_.size())]; }
  string key() {
    const std::size_t n = random_(20);
    return (n < 10 ? "a rather long key " : "k") + std::to_string(n);
  }
  value_type value() { return value_type(key(), static_cast<int>(random_(100))); }

  void state(const map& m) {
    out_(contents(m.begin(), m.end()), contents(m.cbegin(), m.cend()), m.size(), m.empty(),
         m.get_allocator().number, m.bucket_count() > 0, m.max_size() > m.size());
  }
  template <typename Accessor>
  void found(bool result, const Accessor& a) {
    out_("accessor", result, a.empty(), a.empty() ? string("none") : text(*a));
    if (!a.empty()) out_(a->first, (*a).second.value, std::addressof(*a) == a.operator->());
  }

  void step(std::size_t what) {
    map& m = any();
    switch (what) {
      case 0:
        return insert(m);
      case 1:
        return insert_with<accessor>(m);
      case 2:
        return insert_with<const_accessor>(m);
      case 3:
        return find(m);
      case 4:
        return erase(m);
      case 5:
        return erase_found(m);
      case 6:
        return several(m);
      case 7:
        return swap(m);
      case 8:
        return copy(m);
      case 9:
        return move(m);
      case 10:
        return iterate(m);
      case 11:
        out_("count", m.count(key()), m.count(std::string_view("k15")));
        if (random_(8) == 0) m.clear();
        m.rehash(random_(300));
    }
  }

  void insert(map& m) {
    const value_type copied = value();
    switch (random_(4)) {
      case 0:
        out_("insert", m.insert(copied));
        break;
      case 1:
        out_("insert", m.insert(value()));
        break;
      case 2:
        out_("emplace", m.emplace(key(), 7));
        break;
      case 3:
        out_("emplace", m.emplace(std::piecewise_construct, std::forward_as_tuple(key()),
                                  std::forward_as_tuple(8)));
    }
  }

  template <typename Accessor>
  void insert_with(map& m) {
    Accessor a;
    out_(a.empty());
    // What an accessor holds is released.
    if (random_(2) == 0) found(m.find(a, key()), a);
    const value_type copied = value();
    switch (random_(6)) {
      case 0:
        found(m.insert(a, copied.first), a);
        break;
      case 1:
        found(m.insert(a, copied), a);
        break;
      case 2:
        found(m.insert(a, value()), a);
        break;
      case 3:
        found(m.emplace(a, key(), 9), a);
        break;
      case 4:
        found(m.insert(a, std::string_view(copied.first)), a);
        break;
      case 5:
        found(m.emplace(a, copied), a);
        break;
    }
    change(a);
    a.release();
    out_(a.empty());
  }
  void change(const accessor& a) { a->second.value += 100; }
  void change(const const_accessor&) {}

  void find(map& m) {
    const map& constant = m;
    const string k = key();
    {
      accessor a;
      found(m.find(a, k), a);
      found(m.find(a, std::string_view(key())), a);
      found(m.find(a, std::string_view("not there")), a);
    }
    {
      const_accessor a, b;
      found(constant.find(a, k), a);
      found(m.find(b, std::string_view(k)), b);
      found(constant.find(a, string("not there")), a);
    }
    const auto range = m.equal_range(k);
    const auto same = constant.equal_range(std::string_view(k));
    out_("equal_range", contents(range.first, range.second), contents(same.first, same.second));
  }

  void erase(map& m) { out_("erase", m.erase(key()), m.erase(std::string_view("k15"))); }
  void erase_found(map& m) {
    if (random_(2) == 0) {
      accessor a;
      if (m.find(a, key())) out_("erased", m.erase(a), a.empty());
    } else {
      const_accessor a;
      if (m.find(a, key())) out_("erased", m.erase(a), a.empty());
    }
  }

  void several(map& m) {
    const string k = key();
    const std::initializer_list<value_type> list = {{k + '1', 1}, {k + '2', 2}};
    const std::vector<value_type> values(list);
    switch (random_(3)) {
      case 0:
        m.insert(list);
        break;
      case 1:
        m.insert(values.begin(), values.end());
        break;
      case 2:
        m = list;
        break;
    }
  }

  void swap(map& m) {
    map& other = any();
    if (&m == &other || (!kPropagates && m.get_allocator() != other.get_allocator())) return;
    using std::swap;
    const long copies = counted::copies();
    if (random_(2) == 0) {
      m.swap(other);
    } else {
      swap(m, other);
    }
    out_("copies", counted::copies() - copies);
  }

  void copy(map& m) {
    switch (random_(4)) {
      case 0:
        return state(map(m));
      case 1:
        return state(map(m, allocator(7)));
      case 2: {
        map& to = any();
        to = m;
        return;
      }
      case 3: {
        map made(allocator(8));
        made = m;
        return state(made);
      }
    }
  }

  void move(map& m) {
    const long copies = counted::copies();
    const allocator with(static_cast<int>(1 + random_(2)));
    const bool equal = with == m.get_allocator();
    switch (random_(3)) {
      case 0: {
        const map made(std::move(m));
        state(made);
        out_("copies", counted::copies() - copies);
        break;
      }
      case 1: {
        const map made(std::move(m), with);
        state(made);
        if (equal) out_("copies", counted::copies() - copies);
        break;
      }
      case 2: {
        map made(with);
        made = std::move(m);
        state(made);
        if (equal || kPropagates) out_("copies", counted::copies() - copies);
      }
    }
    m.clear();
  }

  template <typename Range>
  void split(Range& range, std::vector<string>& found) {
    if (range.is_divisible()) {
      Range second(range, tbb::split());
      split(range, found);
      split(second, found);
      return;
    }
    for (auto i = range.begin(); i != range.end(); ++i) found.push_back(text(*i));
  }
  void iterate(map& m) {
    const map& constant = m;
    const map& other = any();
    out_("equal", m == other, m != other);
    auto range = m.range(2);
    auto whole = constant.range();
    out_("range", range.grainsize(), whole.grainsize());
    std::vector<string> parts;
    split(range, parts);
    split(whole, parts);
    std::sort(parts.begin(), parts.end());
    for (const string& part : parts) out_(part);
    for (auto i = m.begin(); i != m.end(); i++) i->second.value += 1;
  }

  log& out_;
  random random_;
  std::deque<map> maps_;
};

void constructors() {
  log out("hash_map.constructors");
  using allocator = numbered<value_type, false>;
  using map = tbb::concurrent_hash_map<string, counted, compare_views, allocator>;
  const allocator memory(5);
  const compare_views compare(3);
  const std::vector<value_type> source = {{"a", 1}, {"b", 2}, {"c", 3}};
  const std::initializer_list<value_type> list = {{"x", 1}, {"y", 2}};
  const auto described = [&](const map& m, std::size_t buckets = 0) {
    out(contents(m.begin(), m.end()), m.size(), m.get_allocator().number,
        m.bucket_count() >= buckets);
  };
  described(map());
  described(map(memory));
  described(map(compare));
  described(map(compare, memory));
  described(map(100), 100);
  described(map(100, memory), 100);
  described(map(100, compare), 100);
  described(map(100, compare, memory), 100);
  described(map(source.begin(), source.end()));
  described(map(source.begin(), source.end(), memory));
  described(map(source.begin(), source.end(), compare));
  described(map(source.begin(), source.end(), compare, memory));
  described(map(list));
  described(map(list, memory));
  described(map(list, compare));
  described(map(list, compare, memory));
}

struct plain_compare {
  static std::size_t hash(int key) { return std::size_t(key); }
  static bool equal(int a, int b) { return a == b; }
};

void types() {
  log out("hash_map.types");
  using pair = std::pair<const int, char>;
  using map = tbb::concurrent_hash_map<int, char>;
  same<map::value_type, pair>(out);
  same<map::mapped_type, char>(out);
  same<map::size_type, std::size_t>(out);
  same<map::difference_type, std::ptrdiff_t>(out);
  same<map::pointer, pair*>(out);
  same<map::const_pointer, const pair*>(out);
  same<map::reference, pair&>(out);
  same<map::allocator_type, tbb::tbb_allocator<pair>>(out);
  same<std::iterator_traits<map::iterator>::iterator_category, std::forward_iterator_tag>(out);
  same<map::accessor::value_type, pair>(out);
  same<map::const_accessor::value_type, const pair>(out);
  out(std::is_base_of<map::const_accessor, map::accessor>::value,
      std::is_copy_constructible<map::accessor>::value,
      std::is_convertible<map::iterator, map::const_iterator>::value);
  const std::vector<std::pair<int, char>> v;
  const numbered<pair, false> a(1);
  const plain_compare c;
  const std::initializer_list<pair> l = {};
  using memory = numbered<pair, false>;
  using standard = tbb::tbb_hash_compare<int>;
  using tbb::concurrent_hash_map;
  same<decltype(concurrent_hash_map(v.begin(), v.end())), map>(out);
  same<decltype(concurrent_hash_map(v.begin(), v.end(), c)),
       concurrent_hash_map<int, char, plain_compare>>(out);
  same<decltype(concurrent_hash_map(v.begin(), v.end(), c, a)),
       concurrent_hash_map<int, char, plain_compare, memory>>(out);
  same<decltype(concurrent_hash_map(v.begin(), v.end(), a)),
       concurrent_hash_map<int, char, standard, memory>>(out);
  same<decltype(concurrent_hash_map(l)), map>(out);
  same<decltype(concurrent_hash_map(l, c)), concurrent_hash_map<int, char, plain_compare>>(out);
  same<decltype(concurrent_hash_map(l, c, a)),
       concurrent_hash_map<int, char, plain_compare, memory>>(out);
  same<decltype(concurrent_hash_map(l, a)), concurrent_hash_map<int, char, standard, memory>>(out);
  same<decltype(concurrent_hash_map(map())), map>(out);
}

void lru_cache(int count) {
  log out("lru_cache");
  int made = 0;
  const auto make = [&made](int key) { return key * 1000 + ++made; };
  using cache = tbb::concurrent_lru_cache<int, int, decltype(make)>;
  cache c(make, 3);
  random r(7);
  std::deque<cache::handle> handles;
  for (int i = 0; i < count; ++i) {
    const int key = static_cast<int>(r(10));
    switch (r(4)) {
      case 0: {
        cache::handle h = c[key];
        out("got", static_cast<bool>(h), h.value(), made);
        handles.push_back(std::move(h));
        out("moved", static_cast<bool>(h));
        break;
      }
      case 1:
        out("got", c[key].value(), made);
        break;
      case 2:
        if (!handles.empty()) handles.pop_front();
        break;
      case 3:
        if (handles.size() > 1) {
          handles.front() = std::move(handles.back());
          out("assigned", static_cast<bool>(handles.back()), handles.front().value());
          handles.pop_back();
        }
    }
  }
  cache::handle none;
  out(static_cast<bool>(none));
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  conformance::log::is_verbose() = argc > 1 && std::strcmp(argv[1], "-v") == 0;
  {
    conformance::log out("hash_map");
    map_run<false>(out).run(4000);
    conformance::log propagating("hash_map.propagating");
    map_run<true>(propagating).run(4000);
  }
  constructors();
  types();
  lru_cache(4000);
  return nothing_leaks() ? 0 : 1;
}
