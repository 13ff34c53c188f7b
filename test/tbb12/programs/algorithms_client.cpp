// SPDX-License-Identifier: Apache-2.0
// For test_compiled.py: libstdc++'s parallel algorithms, which it builds on TBB. Argument: the
// number of elements.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <execution>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

static std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15U;
  return x ^ (x >> 29);
}

static void show(const char* name, std::uint64_t value) {
  std::printf("result %s %llu\n", name, static_cast<unsigned long long>(value));
}

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200000;
  const auto all = std::execution::par;
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::for_each(all, numbers.begin(), numbers.end(), [](std::uint64_t& x) { x = mixed(x); });
  const auto total = [&] {
    return std::reduce(all, numbers.begin(), numbers.end(), std::uint64_t(0));
  };
  show("total", total());
  std::sort(all, numbers.begin(), numbers.end());
  show("sorted", std::is_sorted(all, numbers.begin(), numbers.end()) ? numbers[count / 2] : 0);
  std::vector<std::uint64_t> sums(count);
  std::inclusive_scan(all, numbers.begin(), numbers.end(), sums.begin());
  show("scan", sums.back());
  const auto odd = [](std::uint64_t x) { return x % 2 != 0; };
  std::stable_partition(all, numbers.begin(), numbers.end(), odd);
  show("partition", mixed(numbers.front()) + mixed(numbers.back()));
  show("odd", static_cast<std::uint64_t>(std::count_if(all, numbers.begin(), numbers.end(), odd)));
  numbers.erase(std::remove_if(all, numbers.begin(), numbers.end(), odd), numbers.end());
  show("even", total());
  std::stable_sort(all, numbers.begin(), numbers.end(), std::greater<>());
  show("merged",
       std::transform_reduce(all, numbers.begin(), numbers.end(), sums.begin(), std::uint64_t(0)));
  show("found", static_cast<std::uint64_t>(
                    std::find(all, sums.begin(), sums.end(), sums[count / 3]) - sums.begin()));
  std::puts("result end");
}
