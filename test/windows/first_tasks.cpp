// SPDX-License-Identifier: Apache-2.0
// A program with tasks.
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

int main() {
  std::atomic<long long> sum{0};
  tbb::parallel_for(0, 100000, [&](int i) { sum += i; });
  if (sum != 4999950000) {
    std::fprintf(stderr, "wrong: the sum is %lld\n", sum.load());
    return 1;
  }

  std::atomic<int> runs{0};
  bool caught = false;
  tbb::task_group group;
  for (int i = 0; i < 100; ++i) {
    group.run([&] {
      if (++runs == 50) throw std::runtime_error("the fiftieth");
    });
  }
  try {
    group.wait();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  if (!caught || runs < 50) {
    std::fprintf(stderr, "wrong: %d tasks, exception %s\n", runs.load(),
                 caught ? "caught" : "lost");
    return 1;
  }
  std::puts("right");
}
