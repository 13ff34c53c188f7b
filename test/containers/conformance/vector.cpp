// SPDX-License-Identifier: Apache-2.0
// Logs what concurrent_vector does.
#include <tbb/concurrent_vector.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "log.hpp"

namespace conformance {
namespace {

template <bool kPropagates>
class vector_run {
  using allocator = numbered<counted, kPropagates>;
  using vector = tbb::concurrent_vector<counted, allocator>;
  using plain = tbb::concurrent_vector<counted>;

 public:
  explicit vector_run(log& out) : out_(out), random_(3) {
    for (int i = 0; i < 4; ++i) vectors_.emplace_back(allocator(1 + i % 2));
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t what = random_(12);
      out_("op", what);
      step(what);
      for (vector& v : vectors_) {
        if (v.size() > 200) v.clear();
        state(v);
      }
    }
  }

 private:
  vector& any() { return vectors_[random_(vectors_.size())]; }
  counted value() { return counted(static_cast<int>(random_(100))); }

  void state(const vector& v) {
    out_(values(v.begin(), v.end()), v.size(), v.empty(), v.get_allocator().number,
         v.capacity() >= v.size(), v.max_size() > v.size());
  }
  // Growth by nothing returns the place after all elements in oneTBB.
  void grown(vector& v, typename vector::iterator i, std::size_t by) {
    if (by != 0) out_("at", i - v.begin(), v.end() - i);
  }

  void step(std::size_t what) {
    vector& v = any();
    switch (what) {
      case 0:
        return push(v);
      case 1:
        return grow(v);
      case 2:
        return access(v);
      case 3:
        return iterate(v);
      case 4:
        return size(v);
      case 5:
        return assign(v);
      case 6:
        return swap(v);
      case 7:
        return copy(v);
      case 8:
        return move(v);
      case 9:
        return compare(v);
      case 10:
        return ranges(v);
      case 11:
        if (random_(4) == 0) v.clear();
    }
  }

  void push(vector& v) {
    const counted copied = value();
    switch (random_(4)) {
      case 0:
        return grown(v, v.push_back(copied), 1);
      case 1:
        return grown(v, v.push_back(value()), 1);
      case 2:
        return grown(v, v.emplace_back(static_cast<int>(random_(100))), 1);
      case 3:
        return grown(v, v.emplace_back(), 1);
    }
  }

  void grow(vector& v) {
    const std::size_t n = random_(9);
    const std::size_t more = v.size() + n;
    const std::vector<counted> several(n, value());
    switch (random_(7)) {
      case 0:
        return grown(v, v.grow_by(n), n);
      case 1:
        return grown(v, v.grow_by(n, value()), n);
      case 2:
        return grown(v, v.grow_by(several.begin(), several.end()), n);
      case 3:
        return grown(v, v.grow_by({counted(1), counted(2)}), 2);
      case 4:
        return grown(v, v.grow_to_at_least(more), n);
      case 5:
        return grown(v, v.grow_to_at_least(more, value()), n);
      case 6:
        v.grow_to_at_least(v.size() / 2);
        return;
    }
  }

  void access(vector& v) {
    const vector& constant = v;
    const std::size_t i = random_(20);
    try {
      out_("at", constant.at(i).value);
      v.at(i).value = 5;
      out_("[]", v[i].value, constant[i].value);
      out_("ends", v.front().value, constant.front().value, v.back().value, constant.back().value);
    } catch (const std::out_of_range&) {
      out_("out of range");
    }
  }

  void iterate(vector& v) {
    const vector& constant = v;
    out_(values(v.rbegin(), v.rend()), values(constant.rbegin(), constant.rend()),
         values(v.crbegin(), v.crend()), values(v.cbegin(), v.cend()));
    if (v.empty()) return;
    typename vector::iterator i = v.begin() + static_cast<std::ptrdiff_t>(random_(v.size()));
    typename vector::const_iterator c = i;
    out_("iterator", i->value, (*i).value, i[0].value, c == i, i - v.begin(), v.cend() - c,
         c < v.cend(), i >= v.begin());
    i += 1;
    i -= 1;
    ++i;
    i--;
    c = 1 + c - 1;
    out_(c == i, c <= i, c > i, c != i);
  }

  void size(vector& v) {
    switch (random_(5)) {
      case 0:
        v.reserve(random_(100));
        break;
      case 1:
        v.resize(random_(50));
        break;
      case 2:
        v.resize(random_(50), value());
        break;
      case 3:
        v.shrink_to_fit();
        break;
      case 4:
        try {
          v.reserve(v.max_size() + 1);
        } catch (const std::length_error&) {
          out_("too long");
        }
    }
  }

  void assign(vector& v) {
    const std::vector<counted> several(random_(30), value());
    switch (random_(4)) {
      case 0:
        v.assign(random_(30), value());
        break;
      case 1:
        v.assign(several.begin(), several.end());
        break;
      case 2:
        v.assign({counted(4), counted(5)});
        break;
      case 3:
        v = {counted(6)};
        break;
    }
  }

  void swap(vector& v) {
    vector& other = any();
    if (!kPropagates && v.get_allocator() != other.get_allocator()) return;
    using std::swap;
    const long copies = counted::copies();
    if (random_(2) == 0) {
      v.swap(other);
    } else {
      swap(v, other);
    }
    out_("copies", counted::copies() - copies);
  }

  void copy(vector& v) {
    switch (random_(4)) {
      case 0:
        return state(vector(v));
      case 1:
        return state(vector(v, allocator(7)));
      case 2: {
        vector& to = any();
        to = v;
        return;
      }
      case 3: {
        vector made(allocator(8));
        made = v;
        return state(made);
      }
    }
  }

  void move(vector& v) {
    const long copies = counted::copies();
    const allocator with(static_cast<int>(1 + random_(2)));
    const bool equal = with == v.get_allocator();
    switch (random_(3)) {
      case 0: {
        const vector made(std::move(v));
        state(made);
        out_("copies", counted::copies() - copies);
        break;
      }
      case 1: {
        const vector made(std::move(v), with);
        state(made);
        if (equal) out_("copies", counted::copies() - copies);
        break;
      }
      case 2: {
        // oneTBB hangs if the allocators differ and stay.
        vector made(kPropagates ? with : v.get_allocator());
        made = std::move(v);
        state(made);
        out_("copies", counted::copies() - copies);
      }
    }
    v.clear();
  }

  void compare(vector& v) {
    const vector& a = v;
    const vector& b = any();
    out_(a == b, a != b, a<b, a> b, a <= b, a >= b);
  }

  template <typename Range>
  void split(Range& range, std::vector<string>& parts) {
    if (!range.is_divisible()) {
      parts.push_back(values(range.begin(), range.end()));
      return;
    }
    Range second(range, tbb::split());
    split(range, parts);
    split(second, parts);
  }
  void ranges(vector& v) {
    auto range = v.range(3);
    auto constant = const_cast<const vector&>(v).range();
    out_("range", range.size(), range.grainsize(), range.empty(), constant.size(),
         constant.grainsize());
    std::vector<string> parts;
    split(range, parts);
    split(constant, parts);
    for (const string& part : parts) out_(part);
  }

  log& out_;
  random random_;
  std::deque<vector> vectors_;
};

void vector_constructors() {
  log out("vector.constructors");
  using allocator = numbered<counted, false>;
  using vector = tbb::concurrent_vector<counted, allocator>;
  const allocator memory(5);
  const std::vector<counted> source(7, counted(3));
  const auto described = [&](const vector& v) {
    out(values(v.begin(), v.end()), v.get_allocator().number);
  };
  described(vector());
  described(vector(memory));
  described(vector(3));
  described(vector(3, memory));
  described(vector(3, counted(2)));
  described(vector(3, counted(2), memory));
  described(vector(source.begin(), source.end()));
  described(vector(source.begin(), source.end(), memory));
  described(vector({counted(1), counted(2)}));
  described(vector({counted(1), counted(2)}, memory));
  using other = tbb::concurrent_vector<counted>;
  const other from(source.begin(), source.end());
  described(vector(source.begin(), source.end()) = {counted(1)});
  out(vector(source.begin(), source.end()) == vector(7, counted(3)));
}

void vector_types() {
  log out("vector.types");
  using vector = tbb::concurrent_vector<int>;
  using iterator = vector::iterator;
  same<vector::value_type, int>(out);
  same<vector::size_type, std::size_t>(out);
  same<vector::difference_type, std::ptrdiff_t>(out);
  same<vector::reference, int&>(out);
  same<vector::const_reference, const int&>(out);
  same<vector::pointer, int*>(out);
  same<vector::const_pointer, const int*>(out);
  same<vector::reverse_iterator, std::reverse_iterator<iterator>>(out);
  same<vector::allocator_type, tbb::cache_aligned_allocator<int>>(out);
  same<std::iterator_traits<iterator>::iterator_category, std::random_access_iterator_tag>(out);
  same<decltype(std::declval<vector&>().push_back(1)), iterator>(out);
  same<decltype(std::declval<vector&>().grow_to_at_least(1)), iterator>(out);
  std::vector<int> n;
  const numbered<int, false> a(1);
  using tbb::concurrent_vector;
  same<decltype(concurrent_vector(n.begin(), n.end())), vector>(out);
  same<decltype(concurrent_vector(n.begin(), n.end(), a)),
       concurrent_vector<int, numbered<int, false>>>(out);
  same<decltype(concurrent_vector({1, 2})), vector>(out);
  same<decltype(concurrent_vector({1, 2}, a)), concurrent_vector<int, numbered<int, false>>>(out);
  same<decltype(concurrent_vector(3, 4.0)), concurrent_vector<double>>(out);
  same<decltype(concurrent_vector(vector())), vector>(out);
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  conformance::log::is_verbose() = argc > 1 && std::strcmp(argv[1], "-v") == 0;
  {
    conformance::log out("vector");
    vector_run<false>(out).run(3000);
    conformance::log propagating("vector.propagating");
    vector_run<true>(propagating).run(3000);
  }
  vector_constructors();
  vector_types();
  return nothing_leaks() ? 0 : 1;
}
