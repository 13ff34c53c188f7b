// SPDX-License-Identifier: Apache-2.0
// The program has used up the keys of pthread_key_create before the library asks for one: the end
// of a thread goes unnoticed, but finalize() still fails while a thread uses the library.
#include <pthread.h>
#include <corbel/global_control.hpp>
#include <corbel/task_arena.hpp>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>

namespace {

// Before the library's own constructors.
__attribute__((constructor(101))) void use_up_keys() {
  pthread_key_t key;
  while (pthread_key_create(&key, nullptr) == 0) {
  }
}

std::mutex mutex;
std::condition_variable changed;
bool is_attached = false;
bool may_end = false;

void* use_library(void*) {
  corbel::task_arena arena(1);
  arena.execute([] {
    std::unique_lock<std::mutex> lock(mutex);
    is_attached = true;
    changed.notify_all();
    changed.wait(lock, [] { return may_end; });
  });
  return nullptr;
}

}  // namespace

int main() {
  pthread_t other;  // libc++'s std::thread takes a key
  if (pthread_create(&other, nullptr, use_library, nullptr) != 0) return 1;
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return is_attached; });
  }
  corbel::task_scheduler_handle handle{corbel::attach{}};
  const bool succeeds = corbel::finalize(handle, std::nothrow);
  if (succeeds) std::fprintf(stderr, "finalize() succeeds while another thread is in an arena\n");
  {
    std::lock_guard<std::mutex> lock(mutex);
    may_end = true;
    changed.notify_all();
  }
  pthread_join(other, nullptr);
  return succeeds ? 1 : 0;
}
