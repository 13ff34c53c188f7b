// SPDX-License-Identifier: Apache-2.0
// The algorithms of wide_loops.hpp with OpenMP: the schedule that OpenMP offers for the purpose,
// and tasks where a loop cannot say it.
#pragma once

#include <forward_list>

#include "openmp_width.hpp"
#include "wide_loops.hpp"

namespace wide {

// Pointers, because a task copies what a reference refers to.
inline void feed(const Bodies* bodies, std::size_t i) {
  for (const std::size_t next : {2 * i + 1, 2 * i + 2}) {
    if (next >= bodies->count()) continue;
#pragma omp task
    feed(bodies, next);
  }
  (*bodies)(i);
}

inline void invoke(const Bodies* bodies, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return (*bodies)(begin);
  const std::size_t middle = begin + (end - begin) / 2;
#pragma omp task
  invoke(bodies, begin, middle);
  invoke(bodies, middle, end);
#pragma omp taskwait
}

class Loop {
 public:
  explicit Loop(unsigned threads) : width_(threads) {}

  void operator()(const std::string& how, const Bodies& bodies) {
    const int count = static_cast<int>(bodies.count());
    const auto at = [](auto i) { return static_cast<std::size_t>(i); };
    if (how == "auto") {
#pragma omp parallel for schedule(guided)
      for (int i = 0; i < count; ++i) bodies(at(i));
    } else if (how == "simple") {
#pragma omp parallel for schedule(dynamic, 1)
      for (int i = 0; i < count; ++i) bodies(at(i));
    } else if (how == "static") {
#pragma omp parallel for schedule(static)
      for (int i = 0; i < count; ++i) bodies(at(i));
    } else if (how == "reduce") {
      std::size_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
      for (int i = 0; i < count; ++i) {
        bodies(at(i));
        sum += at(i);
      }
      bench::check(sum == at(count) * (at(count) - 1) / 2, "not the sum");
    } else if (how == "2d") {
      const int rows = static_cast<int>(divisor(bodies.count()));
      const int columns = count / rows;
#pragma omp parallel for schedule(dynamic, 1) collapse(2)
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) bodies(at(i * columns + j));
      }
    } else if (how == "3d") {
      const int pages = count % 2 == 0 ? 2 : 1;
      const int rows = static_cast<int>(divisor(at(count / pages)));
      const int columns = count / pages / rows;
#pragma omp parallel for schedule(dynamic, 1) collapse(3)
      for (int h = 0; h < pages; ++h) {
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) bodies(at((h * rows + i) * columns + j));
        }
      }
    } else {
      width_.run([&] {
        tasks(how, bodies);
        return 0;
      });
    }
  }

 private:
  static void tasks(const std::string& how, const Bodies& bodies) {
    if (how == "forward") {
      std::forward_list<std::size_t> list;
      for (std::size_t i = bodies.count(); i > 0; --i) list.push_front(i - 1);
#pragma omp taskgroup
      for (const std::size_t i : list) {
#pragma omp task firstprivate(i) shared(bodies)
        bodies(i);
      }
    } else if (how == "group") {
#pragma omp taskgroup
      for (std::size_t i = 0; i < bodies.count(); ++i) {
#pragma omp task firstprivate(i) shared(bodies)
        bodies(i);
      }
    } else if (how == "feeder") {
#pragma omp taskgroup
      feed(&bodies, 0);
    } else {
      bench::check(how == "invoke", "there is no such how=");
      invoke(&bodies, 0, bodies.count());
    }
  }

  bench::Width width_;
};

}  // namespace wide
