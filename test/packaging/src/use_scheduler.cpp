// SPDX-License-Identifier: Apache-2.0
// A program that calls Corbel's scheduler by its own names.
#include <atomic>
#include <corbel/parallel_for.hpp>
#include <corbel/task_group.hpp>
#include <cstdio>

int main() {
  std::atomic<int> count{0};
  corbel::parallel_for(0, 1000, [&](int) { count.fetch_add(1, std::memory_order_relaxed); });
  corbel::task_group group;
  group.run([&] { count.fetch_add(1, std::memory_order_relaxed); });
  group.wait();
  std::puts(count == 1001 ? "corbel: ok" : "corbel: wrong count");
  return count == 1001 ? 0 : 1;
}
