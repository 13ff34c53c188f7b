// SPDX-License-Identifier: Apache-2.0
// Calls Thrust's algorithms on the device that it is compiled for, and prints the results. The
// numbers are integers, so that every device prints the same.
#include <thrust/device_vector.h>
#include <thrust/for_each.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_TBB
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#endif

namespace {

using Number = long long;

Number digest(const thrust::device_vector<Number>& numbers) {
  Number sum = 17;
  for (std::size_t i = 0; i < numbers.size(); ++i) sum = sum * 31 % 1000000007 + numbers[i] % 1009;
  return sum;
}

void use(std::size_t size) {
  std::vector<Number> made(size);
  unsigned state = 12345;
  for (Number& n : made) n = (state = state * 1664525U + 1013904223U) >> 12;
  const thrust::device_vector<Number> numbers(made.begin(), made.end());

  thrust::device_vector<Number> work = numbers;
  thrust::stable_sort(work.begin(), work.end());
  std::printf("%zu sort %lld\n", size, digest(work));
  thrust::inclusive_scan(numbers.begin(), numbers.end(), work.begin());
  std::printf("%zu scan %lld\n", size, digest(work));
  thrust::transform(numbers.begin(), numbers.end(), work.begin(),
                    [](Number n) { return n * n % 10007; });
  thrust::for_each(work.begin(), work.end(), [](Number& n) { n += 3; });
  std::printf("%zu for_each %lld\n", size, digest(work));
  std::printf("%zu reduce %lld\n", size, thrust::reduce(work.begin(), work.end(), Number(0)));
}

}  // namespace

// thrust_client <number of threads>
int main(int, char** arguments) {
  const auto use_all = [] {
    for (const std::size_t size : {0, 1, 1000, 5000000}) use(size);
  };
#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_TBB
  const int count = std::atoi(arguments[1]);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, count);
  tbb::task_arena(count).execute(use_all);
#else
  static_cast<void>(arguments);
  use_all();
#endif
  return 0;
}
