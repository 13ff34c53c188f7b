// SPDX-License-Identifier: Apache-2.0
// Random operations on any two kinds of ordered or unordered container, one with unique keys and
// one without, of which all results are logged that the specification determines.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log.hpp"

namespace conformance {

// How to make and read elements of maps and of sets.
template <typename Value>
struct element;
template <typename T>
struct element<std::pair<const string, T>> {
  using value = std::pair<const string, T>;
  static constexpr bool kMap = true;
  static value make(const string& key, int mapped) { return value(key, mapped); }
  static const string& key(const value& v) { return v.first; }
  static string text(const value& v) { return v.first + '=' + std::to_string(v.second.value); }
  template <typename Handle>
  static string handle(const Handle& h) {
    return h.empty() ? "none" : h.key() + '=' + std::to_string(h.mapped().value);
  }
};
template <>
struct element<string> {
  static constexpr bool kMap = false;
  static string make(const string& key, int) { return key; }
  static const string& key(const string& v) { return v; }
  static string text(const string& v) { return v; }
  template <typename Handle>
  static string handle(const Handle& h) {
    return h.empty() ? "none" : h.value();
  }
};

// The elements in the order of their texts.
template <typename Container>
string contents(const Container& c) {
  std::vector<string> texts;
  for (const auto& v : c) texts.push_back(element<typename Container::value_type>::text(v));
  std::sort(texts.begin(), texts.end());
  string all;
  for (const string& text : texts) all += text + ',';
  return all;
}
template <typename Container>
string keys(const Container& c) {
  std::vector<string> texts;
  for (const auto& v : c) texts.push_back(element<typename Container::value_type>::key(v));
  std::sort(texts.begin(), texts.end());
  string all;
  for (const string& text : texts) all += text + ',';
  return all;
}

template <typename Iterator>
Iterator place(const Iterator& i) {
  return i;
}
template <typename Iterator>
Iterator place(const std::pair<Iterator, bool>& result) {
  return result.first;
}
template <typename Iterator>
string is_new(const Iterator&) {
  return "-";
}
template <typename Iterator>
string is_new(const std::pair<Iterator, bool>& result) {
  return result.second ? "new" : "old";
}

// `Kind` has
//   unique, multi          the two kinds of container, with the same node and allocator type
//   kOrdered
//   static C make<C>(allocator)         an empty container
//   static void observe(log&, const C&, random&)     what only this kind of container can
template <typename Kind, typename Main, typename Other>
class associative_run {
  using value_type = typename Main::value_type;
  using elem = element<value_type>;
  using allocator = typename Main::allocator_type;
  static constexpr bool kMulti = std::is_same<Main, typename Kind::multi>::value;
  static constexpr bool kPropagates =
      std::allocator_traits<allocator>::propagate_on_container_swap::value;

 public:
  associative_run(log& out, std::uint64_t seed) : out_(out), random_(seed) {
    for (int i = 0; i < 4; ++i) mains_.push_back(Kind::template make<Main>(allocator(1 + i % 2)));
    for (int i = 0; i < 2; ++i) others_.push_back(Kind::template make<Other>(allocator(1 + i % 2)));
  }

  void run(int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t what = random_(20);
      out_("op", what);
      step(what);
      for (const Main& m : mains_) state(m);
      for (const Other& o : others_) state(o);
    }
  }

 private:
  Main& main() { return mains_[random_(mains_.size())]; }
  Other& other() { return others_[random_(others_.size())]; }
  string key() {
    const std::size_t n = random_(24);
    return (n < 12 ? "a rather long key " : "k") + std::to_string(n);
  }
  value_type value() { return elem::make(key(), static_cast<int>(random_(1000))); }

  template <typename C>
  void state(const C& c) {
    out_(contents(c), c.size(), c.empty(), c.get_allocator().number,
         static_cast<std::size_t>(std::distance(c.begin(), c.end())), c.cbegin() == c.begin(),
         c.cend() == c.end());
    if constexpr (Kind::kOrdered) {
      out_("sorted", std::is_sorted(c.begin(), c.end(), c.value_comp()));
    }
  }
  template <typename C, typename Iterator>
  string at(const C& c, Iterator i) {
    return i == c.end() ? "end" : elem::text(*i);
  }
  // Of several elements with the key, any may be found.
  template <typename C, typename Iterator>
  string key_at(const C& c, Iterator i) {
    return i == c.end() ? "end" : elem::key(*i);
  }
  template <typename C>
  typename C::const_iterator any(const C& c) {
    // By the order of the keys: that of the container may be any.
    if (c.empty()) return c.end();
    string least = elem::key(*c.begin());
    for (const auto& v : c) least = std::min(least, string(elem::key(v)));
    return c.find(least);
  }

  void step(std::size_t what) {
    switch (what) {
      case 0:
      case 1:
        return insert();
      case 2:
        return emplace();
      case 3:
        return insert_several();
      case 4:
        return erase();
      case 5:
      case 6:
        return handles();
      case 7:
        return look_up(main());
      case 8:
        return look_up(const_cast<const Main&>(main()));
      case 9:
        return merge();
      case 10:
        return swap();
      case 11:
      case 12:
        return copy();
      case 13:
        return move();
      case 14:
        return compare();
      case 15:
        return ranges(main());
      case 16:
        return ranges(const_cast<const Main&>(main()));
      case 17:
        return by_key();
      case 18:
        Kind::observe(out_, main(), random_);
        return;
      case 19:
        if (random_(4) == 0) main().clear();
    }
  }

  template <typename Result>
  void inserted(Main& m, const Result& result) {
    out_("inserted", at(m, place(result)), is_new(result));
  }

  void insert() {
    Main& m = main();
    const value_type copied = value();
    value_type moved = value();
    switch (random_(5)) {
      case 0:
        return inserted(m, m.insert(copied));
      case 1:
        return inserted(m, m.insert(std::move(moved)));
      case 2:
        return inserted(m, m.insert(any(m), copied));
      case 3:
        return inserted(m, m.insert(m.begin(), std::move(moved)));
      case 4:
        if constexpr (elem::kMap) {
          std::pair<const char*, int> raw("k7", static_cast<int>(random_(1000)));
          if (random_(2) == 0) return inserted(m, m.insert(raw));
          return inserted(m, m.insert(m.cend(), std::move(raw)));
        } else {
          return inserted(m, m.insert("k7"));
        }
    }
  }

  void emplace() {
    Main& m = main();
    const string k = key();
    const int mapped = static_cast<int>(random_(1000));
    const std::size_t how = random_(4);
    if constexpr (elem::kMap) {
      if (how == 0) return inserted(m, m.emplace(k, mapped));
      if (how == 1) return inserted(m, m.emplace_hint(m.end(), k, mapped));
      if (how == 2) {
        return inserted(m, m.emplace(std::piecewise_construct, std::forward_as_tuple(k),
                                     std::forward_as_tuple(mapped)));
      }
      inserted(m, m.emplace(value()));
    } else {
      if (how == 0) return inserted(m, m.emplace(k));
      if (how == 1) return inserted(m, m.emplace_hint(m.cend(), k));
      if (how == 2) return inserted(m, m.emplace(3, 'x'));
      inserted(m, m.emplace(k.c_str()));
    }
  }

  void insert_several() {
    Main& m = main();
    // Of equal keys in the sequence any may win: there are none.
    const string k = key();
    const std::initializer_list<value_type> list = {elem::make(k + "1", 1), elem::make(k + "2", 2)};
    if (random_(2) == 0) {
      m.insert(list);
    } else {
      const std::vector<value_type> values(list);
      m.insert(values.begin(), values.end());
    }
    if (random_(5) == 0) m = list;
  }

  void erase() {
    Main& m = main();
    const string k = key();
    switch (random_(5)) {
      case 0:
        out_("erased", m.unsafe_erase(k));
        return;
      case 1:
        out_("erased", m.unsafe_erase(std::string_view(k)));
        return;
      case 2:
        if (!kMulti && m.find(k) != m.end()) {
          const auto next = m.unsafe_erase(m.find(k));
          if (Kind::kOrdered) out_("next", at(m, next));
        }
        return;
      case 3:
        if (!kMulti && m.find(k) != m.end()) {
          const auto next = m.unsafe_erase(typename Main::const_iterator(m.find(k)));
          if (Kind::kOrdered) out_("next", at(m, next));
        }
        return;
      case 4: {
        const auto equal = m.equal_range(k);
        m.unsafe_erase(equal.first, equal.second);
        if (random_(8) == 0) m.unsafe_erase(m.begin(), m.end());
      }
    }
  }

  void handles() {
    Main& from = main();
    Main& to = main();
    string k = key();
    if (random_(2) == 0 && !from.empty()) k = elem::key(*any(from));
    if (from.count(k) > 1) return;
    // oneTBB's handles have a default allocator, whatever that of the container is.
    if (from.get_allocator() != allocator()) return;
    typename Main::node_type none;
    out_("handle", none.empty(), static_cast<bool>(none));
    const long copies = counted::copies();
    typename Main::node_type handle = extract(from, k);
    out_("extracted", elem::handle(handle));
    if (!handle.empty()) {
      out_("allocator", handle.get_allocator().number);
      if (handle.get_allocator() != to.get_allocator()) return;
      if (random_(2) == 0) {
        if constexpr (elem::kMap) {
          handle.key() = "changed";
          handle.mapped().value = 7;
        } else {
          handle.value() = "changed";
        }
      }
    }
    typename Main::node_type moved(std::move(handle));
    out_("moved", elem::handle(moved), handle.empty());
    none = std::move(moved);
    out_("assigned", elem::handle(none), moved.empty());
    swap_handles(moved, none);
    out_("swapped", elem::handle(moved), none.empty());
    insert_handle(to, moved);
    out_("copies", counted::copies() - copies);
  }
  typename Main::node_type extract(Main& from, const string& k) {
    const std::size_t how = random_(4);
    if (how == 0) return from.unsafe_extract(k);
    if (how == 1 || from.find(k) == from.end()) return from.unsafe_extract(std::string_view(k));
    if (how == 2) return from.unsafe_extract(from.find(k));
    return from.unsafe_extract(typename Main::const_iterator(from.find(k)));
  }
  void insert_handle(Main& to, typename Main::node_type& handle) {
    if (random_(3) == 0) {
      const auto result = to.insert(std::move(handle));
      out_("back", at(to, place(result)), is_new(result), elem::handle(handle));
    } else if (random_(2) == 0) {
      const auto result = to.insert(to.begin(), std::move(handle));
      out_("back", at(to, result), elem::handle(handle));
    } else {
      // Handles fit the other kind of container.
      for (Other& o : others_) {
        if (handle.empty() || handle.get_allocator() != o.get_allocator()) continue;
        const auto result = o.insert(std::move(handle));
        out_("back", key_at(o, place(result)), is_new(result), elem::handle(handle));
      }
    }
  }
  template <typename Handle>
  void swap_handles(Handle& a, Handle& b) {
    using std::swap;
    if (random_(2) == 0) return a.swap(b);
    swap(a, b);
  }

  template <typename M>
  void look_up(M& m) {
    const string k = key();
    const std::string_view view(k);
    out_("find", key_at(m, m.find(k)), key_at(m, m.find(view)), m.contains(k), m.contains(view),
         m.count(k), m.count(view));
    const auto equal = m.equal_range(k);
    const auto viewed = m.equal_range(view);
    out_("equal", std::distance(equal.first, equal.second), equal == viewed);
    if constexpr (Kind::kOrdered) {
      out_("bounds", key_at(m, m.lower_bound(k)), key_at(m, m.upper_bound(k)),
           m.lower_bound(view) == m.lower_bound(k), m.upper_bound(view) == m.upper_bound(k),
           m.lower_bound(k) == equal.first, m.upper_bound(k) == equal.second);
    }
  }

  void merge() {
    Main& to = main();
    const long copies = counted::copies();
    if (random_(2) == 0) {
      Main& from = main();
      if (&from == &to || from.get_allocator() != to.get_allocator()) return;
      if (random_(2) == 0) {
        to.merge(from);
      } else {
        to.merge(std::move(from));
      }
    } else {
      Other& from = other();
      if (from.get_allocator() != to.get_allocator()) return;
      if (random_(2) == 0) {
        to.merge(from);
      } else {
        to.merge(std::move(from));
      }
      // Which one of elements with equal keys stays is unspecified.
      out_("merged", keys(to), keys(from));
      if (!kMulti) {
        to.clear();
        from.clear();
      }
    }
    out_("copies", counted::copies() - copies);
  }

  void swap() {
    Main& a = main();
    Main& b = main();
    if (&a == &b || (!kPropagates && a.get_allocator() != b.get_allocator())) return;
    using std::swap;
    const long copies = counted::copies();
    if (random_(2) == 0) {
      a.swap(b);
    } else {
      swap(a, b);
    }
    out_("copies", counted::copies() - copies);
  }

  void copy() {
    Main& m = main();
    const Main& from = m;
    switch (random_(4)) {
      case 0: {
        const Main made(from);
        return state(made);
      }
      case 1: {
        const Main made(from, allocator(static_cast<int>(1 + random_(3))));
        return state(made);
      }
      case 2: {
        Main& to = main();
        to = from;
        return;
      }
      case 3: {
        Main made = Kind::template make<Main>(allocator(3));
        made = from;
        return state(made);
      }
    }
  }
  // What is moved from is empty, but if its elements were moved one by one.
  void move() {
    Main& m = main();
    const long copies = counted::copies();
    switch (random_(4)) {
      case 0: {
        Main made(std::move(m));
        state(made);
        out_("copies", counted::copies() - copies);
        break;
      }
      case 1: {
        const allocator with(static_cast<int>(1 + random_(3)));
        const bool same = with == m.get_allocator();
        Main made(std::move(m), with);
        state(made);
        if (same) out_("copies", counted::copies() - copies);
        break;
      }
      default: {
        Main made = Kind::template make<Main>(allocator(static_cast<int>(1 + random_(3))));
        const bool same = kPropagates || made.get_allocator() == m.get_allocator();
        made = std::move(m);
        state(made);
        if (same) out_("copies", counted::copies() - copies);
      }
    }
    m.clear();
  }

  void compare() {
    const Main& a = main();
    const Main& b = main();
    out_("equal", a == b, a != b);
    if constexpr (Kind::kOrdered) {
      out_("less", a<b, a> b, a <= b, a >= b);
    }
  }

  template <typename Range>
  void split(Range& range, std::vector<string>& found, int& most) {
    if (range.is_divisible() && most-- > 0) {
      using tbb_split = tbb::split;
      Range half(range, tbb_split());
      split(range, found, most);
      split(half, found, most);
      return;
    }
    for (auto i = range.begin(); i != range.end(); ++i) found.push_back(elem::text(*i));
  }
  template <typename M>
  void ranges(M& m) {
    auto range = m.range();
    // Not empty(), which oneTBB says of a range of one element, too.
    out_("range", std::distance(range.begin(), range.end()));
    std::vector<string> found;
    int most = 1000;
    split(range, found, most);
    std::sort(found.begin(), found.end());
    string all;
    for (const string& text : found) all += text + ',';
    out_(all);
  }

  void by_key() {
    if constexpr (elem::kMap && !kMulti) {
      Main& m = main();
      const Main& constant = m;
      string k = key();
      try {
        out_("at", constant.at(k).value);
        m.at(k).value = 5;
      } catch (const std::out_of_range&) {
        out_("out of range");
      }
      m[k].value += 1;
      out_("[]", m[std::move(k)].value);
      m["k1"] = 12;
    }
  }

  log& out_;
  random random_;
  std::deque<Main> mains_;
  std::deque<Other> others_;
};

template <typename Kind>
void run_associative(const char* name, int count) {
  log unique(string(name) + ".unique");
  associative_run<Kind, typename Kind::unique, typename Kind::multi>(unique, 1).run(count);
  log multi(string(name) + ".multi");
  associative_run<Kind, typename Kind::multi, typename Kind::unique>(multi, 2).run(count);
}

template <typename C>
void types(const char* name) {
  log out(name);
  using value = typename C::value_type;
  using iterator = typename C::iterator;
  using const_iterator = typename C::const_iterator;
  same<typename C::reference, value&>(out);
  same<typename C::const_reference, const value&>(out);
  same<typename C::pointer, value*>(out);
  same<typename C::const_pointer, const value*>(out);
  same<typename C::size_type, std::size_t>(out);
  same<typename C::difference_type, std::ptrdiff_t>(out);
  same<decltype(std::declval<C&>().insert(std::declval<const value&>())),
       std::pair<iterator, bool>>(out);
  same<decltype(std::declval<C&>().insert(std::declval<value>())), std::pair<iterator, bool>>(out);
  same<decltype(std::declval<C&>().emplace(std::declval<value>())), std::pair<iterator, bool>>(out);
  same<decltype(std::declval<C&>().insert(std::declval<typename C::node_type>())),
       std::pair<iterator, bool>>(out);
  same<decltype(std::declval<C&>().unsafe_erase(std::declval<const_iterator>())), iterator>(out);
  same<typename std::iterator_traits<iterator>::iterator_category, std::forward_iterator_tag>(out);
  same<typename std::iterator_traits<const_iterator>::reference, const value&>(out);
  out(std::is_convertible<iterator, const_iterator>::value,
      std::is_convertible<const_iterator, iterator>::value,
      std::is_default_constructible<iterator>::value,
      std::is_copy_constructible<typename C::node_type>::value);
}

}  // namespace conformance
