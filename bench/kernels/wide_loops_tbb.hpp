// SPDX-License-Identifier: Apache-2.0
// The algorithms of wide_loops.hpp with the oneTBB interface.
#pragma once

#include <tbb/blocked_nd_range.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/partitioner.h>
#include <tbb/task_group.h>

#include <execution>
#include <forward_list>
#include <functional>
#include <iterator>

#include "tbb_width.hpp"
#include "wide_loops.hpp"

namespace wide {

using Range = tbb::blocked_range<std::size_t>;

// A program's own range.
class OwnRange {
 public:
  OwnRange(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}
  OwnRange(OwnRange& other, tbb::split)
      : begin_(other.begin_ + (other.end_ - other.begin_) / 2), end_(other.end_) {
    other.end_ = begin_;
  }
  bool empty() const { return begin_ == end_; }
  bool is_divisible() const { return end_ - begin_ > 1; }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }

 private:
  std::size_t begin_, end_;
};

// Numbers that can be read once.
class Input {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = const std::size_t*;
  using reference = const std::size_t&;

  Input() = default;
  explicit Input(std::size_t at) : at_(at) {}
  reference operator*() const { return at_; }
  Input& operator++() {
    ++at_;
    return *this;
  }
  Input operator++(int) {
    const Input old = *this;
    ++at_;
    return old;
  }
  bool operator==(const Input& other) const { return at_ == other.at_; }
  bool operator!=(const Input& other) const { return at_ != other.at_; }

 private:
  std::size_t at_ = 0;
};

template <typename Parts>
void run_part(const Bodies& bodies, const Parts& part) {
  for (std::size_t i = part.begin(); i != part.end(); ++i) bodies(i);
}

class ScanBody {
 public:
  explicit ScanBody(const Bodies& bodies) : bodies_(bodies) {}
  ScanBody(const ScanBody& other, tbb::split) : bodies_(other.bodies_) {}
  template <typename Tag>
  void operator()(const Range& part, Tag) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) {
      sum_ += i;
      if (Tag::is_final_scan()) {
        bodies_(i);
      } else {
        bodies_.pause(i);
      }
    }
  }
  void reverse_join(const ScanBody& left) { sum_ += left.sum_; }
  void assign(const ScanBody& other) { sum_ = other.sum_; }
  std::size_t sum() const { return sum_; }

 private:
  const Bodies& bodies_;
  std::size_t sum_ = 0;
};

inline void invoke(const Bodies& bodies, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return bodies(begin);
  const std::size_t middle = begin + (end - begin) / 2;
  tbb::parallel_invoke([&] { invoke(bodies, begin, middle); },
                       [&] { invoke(bodies, middle, end); });
}

template <typename Reduce>
void reduce(const Bodies& bodies, const Reduce& parallel_reduce) {
  const std::size_t sum = parallel_reduce(
      Range(0, bodies.count(), 1), std::size_t{0},
      [&](const Range& part, std::size_t before) {
        run_part(bodies, part);
        for (std::size_t i = part.begin(); i != part.end(); ++i) before += i;
        return before;
      },
      std::plus<std::size_t>());
  bench::check(sum == bodies.count() * (bodies.count() - 1) / 2, "not the sum");
}

inline void loop(const std::string& how, const Bodies& bodies) {
  const std::size_t count = bodies.count();
  const auto body = [&](std::size_t i) { bodies(i); };
  const auto part_body = [&](const Range& part) { run_part(bodies, part); };
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (how == "auto") {
    tbb::parallel_for(std::size_t{0}, count, body);
  } else if (how == "simple") {
    tbb::parallel_for(Range(0, count, 1), part_body, tbb::simple_partitioner());
  } else if (how == "static") {
    tbb::parallel_for(Range(0, count, 1), part_body, tbb::static_partitioner());
  } else if (how == "affinity") {
    tbb::affinity_partitioner partitioner;
    tbb::parallel_for(Range(0, count, 1), part_body, partitioner);
  } else if (how == "reduce") {
    reduce(bodies, [](const auto&... more) { return tbb::parallel_reduce(more...); });
  } else if (how == "deterministic") {
    reduce(bodies, [](const auto&... more) { return tbb::parallel_deterministic_reduce(more...); });
  } else if (how == "scan") {
    ScanBody scan(bodies);
    tbb::parallel_scan(Range(0, count, 1), scan);
    bench::check(scan.sum() == count * (count - 1) / 2, "not the sum");
  } else if (how == "each") {
    tbb::parallel_for_each(numbers.begin(), numbers.end(), body);
  } else if (how == "forward") {
    const std::forward_list<std::size_t> list(numbers.begin(), numbers.end());
    tbb::parallel_for_each(list.begin(), list.end(), body);
  } else if (how == "input") {
    tbb::parallel_for_each(Input(0), Input(count), body);
  } else if (how == "feeder") {
    tbb::parallel_for_each(numbers.begin(), numbers.begin() + 1,
                           [&](std::size_t i, tbb::feeder<std::size_t>& feeder) {
                             for (const std::size_t next : {2 * i + 1, 2 * i + 2}) {
                               if (next < count) feeder.add(next);
                             }
                             bodies(i);
                           });
  } else if (how == "2d") {
    const std::size_t rows = divisor(count);
    const std::size_t columns = count / rows;
    using Range2d = tbb::blocked_range2d<std::size_t>;
    tbb::parallel_for(Range2d(0, rows, 1, 0, columns, 1), [&](const Range2d& part) {
      for (std::size_t i = part.rows().begin(); i != part.rows().end(); ++i) {
        for (std::size_t j = part.cols().begin(); j != part.cols().end(); ++j) {
          bodies(i * columns + j);
        }
      }
    });
  } else if (how == "3d") {
    const std::size_t pages = count % 2 == 0 ? 2 : 1;
    const std::size_t rows = divisor(count / pages);
    const std::size_t columns = count / pages / rows;
    using Range3d = tbb::blocked_range3d<std::size_t>;
    tbb::parallel_for(Range3d(0, pages, 1, 0, rows, 1, 0, columns, 1), [&](const Range3d& part) {
      for (std::size_t h = part.pages().begin(); h != part.pages().end(); ++h) {
        for (std::size_t i = part.rows().begin(); i != part.rows().end(); ++i) {
          for (std::size_t j = part.cols().begin(); j != part.cols().end(); ++j) {
            bodies((h * rows + i) * columns + j);
          }
        }
      }
    });
  } else if (how == "nd") {
    const std::size_t rows = divisor(count);
    const std::size_t columns = count / rows;
    using RangeNd = tbb::blocked_nd_range<std::size_t, 2>;
    tbb::parallel_for(RangeNd({0, rows, 1}, {0, columns, 1}), [&](const RangeNd& part) {
      for (std::size_t i = part.dim(0).begin(); i != part.dim(0).end(); ++i) {
        for (std::size_t j = part.dim(1).begin(); j != part.dim(1).end(); ++j) {
          bodies(i * columns + j);
        }
      }
    });
  } else if (how == "own") {
    tbb::parallel_for(OwnRange(0, count), [&](const OwnRange& part) { run_part(bodies, part); });
  } else if (how == "std") {
    std::for_each(std::execution::par, numbers.begin(), numbers.end(), body);
  } else if (how == "group") {
    tbb::task_group group;
    for (std::size_t i = 0; i < count; ++i) group.run([&, i] { bodies(i); });
    group.wait();
  } else {
    bench::check(how == "invoke", "there is no such how=");
    invoke(bodies, 0, count);
  }
}

// One call of `loop` in the scope of all threads.
class Loop {
 public:
  explicit Loop(unsigned threads) : width_(threads) {}
  void operator()(const std::string& how, const Bodies& bodies) {
    width_.run([&] {
      loop(how, bodies);
      return 0;
    });
  }

 private:
  bench::Width width_;
};

}  // namespace wide
