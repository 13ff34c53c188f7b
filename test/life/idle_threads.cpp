// SPDX-License-Identifier: Apache-2.0
// Two thousand idle threads that have each used malloc: their caches stay small, all of them can
// still allocate, and nothing is left when they have ended.
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "life.hpp"

namespace {

constexpr int kThreads = 2000;
// A thread touches 100 KiB, its stack included. A slab made of previously used memory also keeps
// all of that memory resident.
constexpr std::size_t kKibPerThread = 448;

std::mutex mutex;
std::condition_variable changed;
int ready = 0;
bool leave = false;

void* idle(void*) {
  life::use_malloc(2);
  unsigned char* kept = life::make_block(64);
  {
    std::unique_lock<std::mutex> lock(mutex);
    ++ready;
    changed.notify_all();
    changed.wait(lock, [] { return leave; });
  }
  life::free_block(kept, 64);
  life::use_malloc(1);
  return nullptr;
}

}  // namespace

int main() {
  life::give_up_after(300);
  life::check_replacement();
  life::use_malloc(10);
  const std::size_t before = life::status_kib("VmRSS");
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
  std::vector<pthread_t> threads(kThreads);
  for (pthread_t& thread : threads) {
    CHECK(pthread_create(&thread, &attributes, idle, nullptr) == 0);
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return ready == kThreads; });
  }
  const std::size_t idling = life::status_kib("VmRSS");
  {
    std::unique_lock<std::mutex> lock(mutex);
    leave = true;
    changed.notify_all();
  }
  for (pthread_t thread : threads) CHECK(pthread_join(thread, nullptr) == 0);
  const std::size_t after = life::status_kib("VmRSS");
  std::fprintf(stderr,
               "RSS %zu KiB before, %zu KiB with %d idle threads (%zu KiB each), %zu KiB after\n",
               before, idling, kThreads, (idling - before) / kThreads, after);
  CHECK(idling < before + kThreads * kKibPerThread);
  return life::passed("idle threads");
}
