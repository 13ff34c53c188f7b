// SPDX-License-Identifier: Apache-2.0
// The same loops with OpenMP and with Corbel. docs/guide/moving.md shows them. Both forms must give
// the same results.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include <corbel/blocked_range.hpp>
#include <corbel/combinable.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/parallel_reduce.hpp>
#include <corbel/task_group.hpp>

namespace {

using Numbers = std::vector<long>;

namespace openmp {

Numbers squares(int n) {
  Numbers out(static_cast<std::size_t>(n));
  // [for-openmp]
#pragma omp parallel for
  for (int i = 0; i < n; ++i) out[i] = long(i) * i;
  // [end]
  return out;
}

long sum(const Numbers& in) {
  // [reduction-openmp]
  long total = 0;
#pragma omp parallel for reduction(+ : total)
  for (std::size_t i = 0; i < in.size(); ++i) total += in[i];
  // [end]
  return total;
}

Numbers ordered(int n) {
  Numbers log;
  // [ordered-openmp]
#pragma omp parallel for ordered
  for (int i = 0; i < n; ++i) {
    const long value = long(i) * 3;
#pragma omp ordered
    log.push_back(value);
  }
  // [end]
  return log;
}

Numbers histogram(const Numbers& in) {
  // [private-openmp]
  Numbers counts(10);
#pragma omp parallel
  {
    Numbers mine(10);
#pragma omp for nowait
    for (std::size_t i = 0; i < in.size(); ++i) ++mine[std::size_t(in[i] % 10)];
#pragma omp critical
    for (std::size_t d = 0; d < 10; ++d) counts[d] += mine[d];
  }
  // [end]
  return counts;
}

long sections(int n) {
  // [sections-openmp]
  long low = 0, high = 0;
#pragma omp parallel sections
  {
#pragma omp section
    for (int i = 0; i < n / 2; ++i) low += i;
#pragma omp section
    for (int i = n / 2; i < n; ++i) high += i;
  }
  // [end]
  return low + high;
}

long depends(long n) {
  // [depend-openmp]
  long a = 0, b = 0, c = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : a)
    a = n + 1;
#pragma omp task depend(out : b)
    b = n + 2;
#pragma omp task depend(in : a, b)
    c = a * b;
#pragma omp taskwait
  }
  // [end]
  return c;
}

}  // namespace openmp

namespace with_corbel {

Numbers squares(int n) {
  Numbers out(static_cast<std::size_t>(n));
  // [for-corbel]
  corbel::parallel_for(0, n, [&](int i) { out[i] = long(i) * i; });
  // [end]
  return out;
}

long sum(const Numbers& in) {
  // [reduction-corbel]
  const long total = corbel::parallel_reduce(
      corbel::blocked_range<std::size_t>(0, in.size()), 0L,
      [&](const corbel::blocked_range<std::size_t>& range, long so_far) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) so_far += in[i];
        return so_far;
      },
      [](long x, long y) { return x + y; });
  // [end]
  return total;
}

Numbers ordered(int n) {
  Numbers log;
  // [ordered-corbel]
  int next = 0;
  corbel::parallel_pipeline(
      16,
      corbel::make_filter<void, int>(corbel::filter_mode::serial_in_order,
                                     [&](corbel::flow_control& control) {
                                       if (next == n) control.stop();
                                       return next++;
                                     }),
      corbel::make_filter<int, long>(corbel::filter_mode::parallel,
                                     [](int i) { return long(i) * 3; }),
      corbel::make_filter<long, void>(corbel::filter_mode::serial_in_order,
                                      [&](long value) { log.push_back(value); }));
  // [end]
  return log;
}

Numbers histogram(const Numbers& in) {
  // [private-corbel]
  Numbers counts(10);
  corbel::combinable<Numbers> mine([] { return Numbers(10); });
  corbel::parallel_for(std::size_t(0), in.size(),
                       [&](std::size_t i) { ++mine.local()[std::size_t(in[i] % 10)]; });
  mine.combine_each([&](const Numbers& part) {
    for (std::size_t d = 0; d < 10; ++d) counts[d] += part[d];
  });
  // [end]
  return counts;
}

long sections(int n) {
  // [sections-corbel]
  long low = 0, high = 0;
  corbel::parallel_invoke(
      [&] {
        for (int i = 0; i < n / 2; ++i) low += i;
      },
      [&] {
        for (int i = n / 2; i < n; ++i) high += i;
      });
  // [end]
  return low + high;
}

long depends(long n) {
  // [depend-corbel]
  long a = 0, b = 0, c = 0;
  corbel::task_group group;
  corbel::task_handle make_a = group.defer([&] { a = n + 1; });
  corbel::task_handle make_b = group.defer([&] { b = n + 2; });
  corbel::task_handle multiply = group.defer([&] { c = a * b; });
  corbel::task_group::set_task_order(make_a, multiply);
  corbel::task_group::set_task_order(make_b, multiply);
  group.run(std::move(make_a));
  group.run(std::move(make_b));
  group.run(std::move(multiply));
  group.wait();
  // [end]
  return c;
}

}  // namespace with_corbel

}  // namespace

int main() {
  const int n = 10000;
  const Numbers in = openmp::squares(n);
  const bool equal = in == with_corbel::squares(n) && openmp::sum(in) == with_corbel::sum(in) &&
                     openmp::ordered(n) == with_corbel::ordered(n) &&
                     openmp::histogram(in) == with_corbel::histogram(in) &&
                     openmp::sections(n) == with_corbel::sections(n) &&
                     openmp::depends(n) == with_corbel::depends(n);
  std::printf("%s\n", equal ? "equal" : "not equal");
  return equal ? 0 : 1;
}
