// SPDX-License-Identifier: Apache-2.0
// The end of a thread: destructors of thread-local objects and pthread keys that free, allocate and
// pass blocks on, in every order that the C library has, and key destructors that run repeatedly.
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "life.hpp"

namespace {

std::atomic<int> key_calls{0};
std::atomic<unsigned char*> left_behind{nullptr};
pthread_key_t keys[3];

struct Object {
  Object() : block(life::make_block(1234)) {}
  ~Object() {
    life::free_block(block, 1234);
    life::use_malloc(2);
    late = std::make_unique<std::string>(5000, 'x');
    late.reset();
  }
  unsigned char* block;
  std::unique_ptr<std::string> late;
};
thread_local Object object;

// Each key sets itself again until the C library gives up, so the last call comes after the
// allocator's own hook, in either order.
void key_destructor(void* value) {
  life::free_block(static_cast<unsigned char*>(value), 900);
  life::use_malloc(1);
  // A thread frees a block that an ended thread allocated.
  unsigned char* old = left_behind.exchange(life::make_block(333), std::memory_order_acq_rel);
  if (old != nullptr) life::free_block(old, 333);
  const int calls = key_calls.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  if (calls % 16 != 0) pthread_setspecific(keys[calls % 3], life::make_block(900));
}

void thread_body() {
  CHECK(object.block != nullptr);
  for (pthread_key_t key : keys) CHECK(pthread_setspecific(key, life::make_block(900)) == 0);
  life::use_malloc(1);
}

// A thread that first uses malloc while it ends.
void late_thread_body(void* value) { CHECK(pthread_setspecific(keys[0], value) == 0); }

}  // namespace

int main() {
  life::give_up_after(120);
  life::check_replacement();
  // Keys made before and after the allocator's own key.
  for (pthread_key_t& key : keys) {
    CHECK(pthread_key_create(&key, key_destructor) == 0);
    life::use_malloc(1);
  }
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(thread_body);
    threads.emplace_back(late_thread_body, life::make_block(900));
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(key_calls.load(std::memory_order_relaxed) > 1500);
  return life::passed("thread destructors");
}
