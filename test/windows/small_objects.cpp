// SPDX-License-Identifier: Apache-2.0
// A program of two threads that new and delete 100,000 objects of 10 to 41 bytes again and again,
// on the replacement it is linked with: a loop by which tbbmalloc_proxy.dll was measured early.
#include <corbel/malloc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

int main() {
  constexpr int kObjects = 100000;
  constexpr int kRounds = 20;
  std::atomic<long> foreign{0};
  std::atomic<long> damaged{0};
  const auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<unsigned char*> objects;
    objects.reserve(kObjects);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kObjects; ++i) {
        const unsigned size = 10 + unsigned(random() & 31);
        objects.push_back(new unsigned char[size]);
        objects.back()[0] = objects.back()[size - 1] = static_cast<unsigned char>(i);
      }
      // A block that is not Corbel's has no size.
      for (int i = 0; i < kObjects; i += 1000) foreign += scalable_msize(objects[i]) < 10;
      for (int i = 0; i < kObjects; ++i) {
        damaged += objects[i][0] != static_cast<unsigned char>(i);
        delete[] objects[i];
      }
      objects.clear();
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  std::thread other(work, 2);
  work(1);
  other.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.2f s, %ld foreign, %ld damaged\n", took.count(), foreign.load(), damaged.load());
  return foreign == 0 && damaged == 0 ? 0 : 1;
}
