// SPDX-License-Identifier: Apache-2.0
// The same work with std::thread and std::async, and with Corbel. docs/guide/moving.md shows it.
// Both forms must give the same results.
#include <algorithm>
#include <cstdio>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <corbel/parallel_for.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

namespace {

using Numbers = std::vector<int>;

namespace standard {

void doubled(Numbers& v) {
  // [threads-standard]
  const std::size_t parts = 4;
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < parts; ++p) {
    threads.emplace_back([&v, p, parts] {
      const std::size_t end = v.size() * (p + 1) / parts;
      for (std::size_t i = v.size() * p / parts; i != end; ++i) v[i] *= 2;
    });
  }
  for (std::thread& t : threads) t.join();
  // [end]
}

// [async-standard]
void sort(Numbers& v, std::size_t first, std::size_t last) {
  if (last - first < 1000) return std::sort(v.begin() + first, v.begin() + last);
  const std::size_t middle = first + (last - first) / 2;
  std::future<void> left = std::async(std::launch::async, [&] { sort(v, first, middle); });
  sort(v, middle, last);
  left.get();
  std::inplace_merge(v.begin() + first, v.begin() + middle, v.begin() + last);
}
// [end]

std::string failure() {
  // [exception-standard]
  std::future<int> answer =
      std::async(std::launch::async, []() -> int { throw std::runtime_error("no answer"); });
  try {
    return std::to_string(answer.get());
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  // [end]
}

int detached(int n) {
  // [promise-standard]
  std::promise<int> promise;
  std::thread([&promise, n] { promise.set_value(n * n); }).detach();
  return promise.get_future().get();
  // [end]
}

}  // namespace standard

namespace with_corbel {

void doubled(Numbers& v) {
  // [threads-corbel]
  corbel::parallel_for(std::size_t(0), v.size(), [&](std::size_t i) { v[i] *= 2; });
  // [end]
}

// [async-corbel]
void sort(Numbers& v, std::size_t first, std::size_t last) {
  if (last - first < 1000) return std::sort(v.begin() + first, v.begin() + last);
  const std::size_t middle = first + (last - first) / 2;
  corbel::parallel_invoke([&] { sort(v, first, middle); }, [&] { sort(v, middle, last); });
  std::inplace_merge(v.begin() + first, v.begin() + middle, v.begin() + last);
}
// [end]

std::string failure() {
  // [exception-corbel]
  int answer = 0;
  corbel::task_group group;
  group.run([&answer] {
    answer = 42;
    throw std::runtime_error("no answer");
  });
  try {
    group.wait();
    return std::to_string(answer);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  // [end]
}

int detached(int n) {
  // [promise-corbel]
  std::promise<int> promise;
  corbel::task_arena arena;
  arena.enqueue([&promise, n] { promise.set_value(n * n); });
  return promise.get_future().get();
  // [end]
}

}  // namespace with_corbel

}  // namespace

int main() {
  Numbers a(20000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = int(i * 7919 % 20011);
  Numbers b = a;
  standard::doubled(a);
  with_corbel::doubled(b);
  standard::sort(a, 0, a.size());
  with_corbel::sort(b, 0, b.size());
  const bool equal = a == b && std::is_sorted(a.begin(), a.end()) &&
                     standard::failure() == with_corbel::failure() &&
                     standard::detached(7) == with_corbel::detached(7);
  std::printf("%s\n", equal ? "equal" : "not equal");
  return equal ? 0 : 1;
}
