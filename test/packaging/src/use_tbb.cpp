// SPDX-License-Identifier: Apache-2.0
// A program written for TBB 2020 or oneTBB: it uses only what both have, with LIBTBB_ALONE only
// what they have in libtbb. Exit code 0 if every result is right.
#include <tbb/tbb.h>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

bool loops_and_sums() {
  constexpr int kCount = 100000;
  std::vector<int, tbb::cache_aligned_allocator<int>> squares(kCount);
  tbb::parallel_for(tbb::blocked_range<int>(0, kCount), [&](const tbb::blocked_range<int>& part) {
    for (int i = part.begin(); i != part.end(); ++i) squares[i] = i % 100;
  });
  const long sum = tbb::parallel_reduce(
      tbb::blocked_range<int>(0, kCount), 0L,
      [&](const tbb::blocked_range<int>& part, long before) {
        return std::accumulate(squares.begin() + part.begin(), squares.begin() + part.end(),
                               before);
      },
      [](long left, long right) { return left + right; });
  return sum == 99L * 50 * (kCount / 100);
}

long fibonacci(int n) {
  if (n < 12) return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  long left = 0, right = 0;
  tbb::task_group group;
  group.run([&] { left = fibonacci(n - 1); });
  group.run([&] { right = fibonacci(n - 2); });
  group.wait();
  return left + right;
}

bool an_exception_arrives() {
  try {
    tbb::parallel_for(0, 1000, [](int i) {
      if (i == 500) throw std::out_of_range("500");
    });
  } catch (const std::out_of_range& error) {
    return error.what() == std::string("500");
  }
  return false;
}

#if defined(LIBTBB_ALONE)
using Allocator = tbb::tbb_allocator<int>;
#else
using Allocator = tbb::scalable_allocator<int>;
#endif

bool memory() {
  std::vector<int, Allocator> numbers(1000, 1);
  return std::accumulate(numbers.begin(), numbers.end(), 0) == 1000;
}

}  // namespace

int main() {
  const bool right[] = {loops_and_sums(), fibonacci(22) == 17711, an_exception_arrives(), memory()};
  int wrong = 0;
  for (const bool each : right) wrong += !each;
  std::printf("tbb %d: %s\n", TBB_VERSION_MAJOR, wrong == 0 ? "ok" : "wrong results");
  return wrong;
}
