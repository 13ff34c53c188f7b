// SPDX-License-Identifier: Apache-2.0
// Two thousand threads that have done a little work and sleep: what the allocator holds for each of
// them, by its own figures, which exclude their stacks.
#include <corbel/malloc.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "heap_limit.hpp"
#include "helper.hpp"
#include "life.hpp"

namespace {

constexpr int kThreads = 2000;
constexpr int kBlocks = 200;
constexpr int kKept = 4;
constexpr std::size_t kMaxPerThread = 16 << 10;
constexpr int kUnchangedSeconds = 3;
constexpr int kMaxSeconds = 20;

std::mutex mutex;
std::condition_variable changed;
int ready = 0;
bool leave = false;

std::size_t size_of(int i) { return 16 + std::size_t(i) * 37 % 240; }

void* work_and_sleep(void*) {
  unsigned char* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = life::make_block(size_of(i));
  for (int i = kKept; i < kBlocks; ++i) life::free_block(blocks[i], size_of(i));
  {
    std::unique_lock<std::mutex> lock(mutex);
    ++ready;
    changed.notify_all();
    changed.wait(lock, [] { return leave; });
  }
  for (int i = 0; i < kKept; ++i) life::free_block(blocks[i], size_of(i));
  return nullptr;
}

using Stats = struct corbel_heap_stats;

Stats stats() {
  Stats result = {};
  static const auto read = life::found<int (*)(Stats*, std::size_t)>("corbel_heap_stats");
  CHECK(read(&result, sizeof result) == 0);
  return result;
}

}  // namespace

int main() {
  life::give_up_after(300);
  life::check_replacement();
  const std::size_t before = stats().footprint;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
  std::vector<pthread_t> threads(kThreads);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    CHECK(pthread_create(&threads[i], &attributes, work_and_sleep, nullptr) == 0);
    // About a thousand threads a second, so that the helper thread gets its turn on a busy machine.
    if (i % 20 == 19) life::pause_ms(10);
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return ready == kThreads; });
  }
  const auto per_thread = [before](const Stats& at) {
    return at.footprint > before ? (at.footprint - before) / kThreads : 0;
  };
  const std::size_t at_once = per_thread(stats());
  // At rest means that the footprint has not fallen for some seconds.
  Stats rest = stats();
  int unchanged = 0;
  for (int i = 0; i < kMaxSeconds && unchanged < kUnchangedSeconds; ++i) {
    life::pause_ms(1000);
    const Stats now = stats();
    unchanged = now.footprint < rest.footprint ? 0 : unchanged + 1;
    rest = now;
  }
  std::fprintf(stderr,
               "footprint of each of %d sleeping threads: %zu bytes at once, %zu at rest (%zu of "
               "them live, %zu tables); %zu heaps, %zu taken over\n",
               kThreads, at_once, per_thread(rest), rest.live / kThreads, rest.metadata / kThreads,
               rest.threads, rest.heaps_taken_over);
  {
    std::unique_lock<std::mutex> lock(mutex);
    leave = true;
    changed.notify_all();
  }
  for (pthread_t thread : threads) CHECK(pthread_join(thread, nullptr) == 0);
  CHECK(per_thread(rest) <= kMaxPerThread);
  return life::passed("idle heaps");
}
