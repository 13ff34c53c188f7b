// SPDX-License-Identifier: Apache-2.0
// Leaks of a program in C++ with threads, and blocks that only look like leaks. The threads wait
// when main returns.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "planted.h"

namespace {

std::atomic<int> ready{0};
std::atomic<bool> never{false};

void wait_forever() {
  ready.fetch_add(1);
  while (!never.load()) never.wait(false);
}

__attribute__((noinline)) void hold_on_stack() {
  void* volatile held = block_of(2081);
  forget_calls();
  wait_forever();
  asm volatile("" : : "r"(held));
}

__attribute__((noinline)) void hold_in_register() {
  char* held = block_of(2101);
  // An optimiser may keep a copy on the stack; this one has only the register.
  const std::uintptr_t hidden = ~reinterpret_cast<std::uintptr_t>(held);
  held = nullptr;
  forget_calls();
  std::uintptr_t value = ~hidden;
  ready.fetch_add(1);
  while (!never.load(std::memory_order_relaxed)) {
    asm volatile("" : "+r"(value));
    asm volatile("" : : : "memory");
  }
}

thread_local void* volatile of_thread;

__attribute__((noinline)) void hold_in_tls() {
  of_thread = block_of(2093);
  forget_calls();
  wait_forever();
}

pthread_key_t key;

__attribute__((noinline)) void hold_as_specific_value() {
  pthread_setspecific(key, block_of(2091));
  forget_calls();
  wait_forever();
}

// Deep in the stack, so that the thread's last calls do not overwrite it.
__attribute__((noinline)) void lose_in_thread() {
  void* volatile lost[4] = {block_of(2111)};
  of_thread = block_of(2112);
  asm volatile("" : : "r"(lost) : "memory");
}

void* lose_argument(void* argument) {
  asm volatile("" : : "r"(argument));
  lose_in_thread();
  return nullptr;
}

// On a stack that is too small for the other threads and for the allocator's helper thread: the C
// library keeps it for reuse, and a frame in which one of them has not yet written to all places
// could hold what was lost.
void run_and_join() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_t thread;
  pthread_create(&thread, &small, lose_argument, block_of(2113));
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

struct Element {
  ~Element() { asm volatile(""); }
  char bytes[1];
};

struct First {
  virtual ~First() = default;
  char bytes[1000];
};
struct Second {
  virtual ~Second() = default;
  char bytes[1000];
};
struct Both : First, Second {
  char more[147];
};

Element* volatile with_cookie;
Second* volatile second_base;

__attribute__((noinline)) void keep_objects() {
  with_cookie = new Element[2171];  // 8 bytes more, for their number
  second_base = new Both;
}

__attribute__((noinline)) void lose_containers() {
  auto* vector = new std::vector<char>(2201);
  auto* list = new std::list<std::vector<char>>;
  for (int i = 0; i < 3; ++i) list->emplace_back(2211 + i);
  auto* text = new std::string(2221, 'x');
  asm volatile("" : : "r"(vector), "r"(list), "r"(text) : "memory");
}

}  // namespace

int main() {
  pthread_key_create(&key, nullptr);
  for (void (*hold)() : {hold_on_stack, hold_in_register, hold_in_tls, hold_as_specific_value}) {
    std::thread(hold).detach();
  }
  run_and_join();
  keep_objects();
  lose_containers();
  while (ready.load() != 4) sched_yield();
  forget_calls();
  return 0;
}
