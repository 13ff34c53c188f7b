// SPDX-License-Identifier: Apache-2.0
// A program for oneTBB, unchanged. docs/guide/moving.md shows it.
#include <cstdio>
#include <mutex>

// [onetbb]
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

double norm(std::vector<double>& v) {
  tbb::parallel_for(std::size_t(0), v.size(), [&](std::size_t i) { v[i] = double(i % 7); });
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, v.size()), 0.0,
      [&](const tbb::blocked_range<std::size_t>& range, double sum) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) sum += v[i] * v[i];
        return sum;
      },
      [](double a, double b) { return a + b; });
}
// [end]

// Code under the lock must not take the lock again while it waits.
// [isolate]
#include <tbb/task_arena.h>

std::mutex table_mutex;
long table[100];

void fill() {
  std::lock_guard<std::mutex> guard(table_mutex);
  // Without isolate the thread may run, while it waits, another task that calls fill().
  tbb::this_task_arena::isolate([] { tbb::parallel_for(0, 100, [](int i) { table[i] += i; }); });
}
// [end]

int main() {
  std::vector<double> v(100000);
  const double sum = norm(v);
  tbb::task_group group;
  for (int i = 0; i < 50; ++i) group.run(fill);
  group.wait();
  double serial = 0;
  for (const double x : v) serial += x * x;
  std::printf("%g %g %ld\n", sum, serial, table[99]);
  return sum == serial && table[99] == 50 * 99 ? 0 : 1;
}
