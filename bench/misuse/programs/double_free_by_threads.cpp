// SPDX-License-Identifier: Apache-2.0
// Two threads free the same block at the same time.
#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "misuse.hpp"

namespace {

char* block;
std::atomic<int> ready{0};

void* free_block(void*) {
  misuse::release(misuse::take(40));              // the thread's own heap is made before they meet
  ready.fetch_add(1, std::memory_order_acq_rel);  // both see the block, and each other
  while (ready.load(std::memory_order_acquire) < 2) {
  }
  misuse::release(block);
  return nullptr;
}

void commit(const misuse::Run& run) {
  block = misuse::take(run.size);
  pthread_t threads[2];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, free_block, nullptr) != 0) {
      misuse::impossible("there is no second thread");
    }
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  misuse::go_on(run);
}

const misuse::Kind kind("double_free_by_threads", misuse::Fault::kDoubleFree, misuse::kByChance,
                        "a block freed by two threads at the same time", commit);

}  // namespace
