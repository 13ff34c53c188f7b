// SPDX-License-Identifier: Apache-2.0
// What a scan for leaks finds in a thread that it stops in the middle of free or realloc.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "alloc/map/instrument_hooks.hpp"
#include "alloc/sample/sampler.hpp"
#include "corbel/malloc.h"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

bool sleeps(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  return end != std::string::npos && line.compare(end, 3, ") S") == 0;
}

struct Search {
  std::uint32_t thread;
  std::uintptr_t stack_end;
  std::uintptr_t hidden;  // the complement of the address
  bool found = false;
};

void look(void* context, const os::StoppedThreads& threads) {
  threads.for_each(
      [](void* to, const os::StoppedThread& thread) {
        Search* search = static_cast<Search*>(to);
        if (thread.id != search->thread) return;
        for (std::size_t i = 0; i < thread.register_count; ++i) {
          if (~thread.registers[i] == search->hidden) search->found = true;
        }
        for (std::uintptr_t at = thread.stack_pointer; at < search->stack_end; at += 8) {
          // As the scan reads it, and not by a load, to which the address sanitizer would object.
          std::uintptr_t word = 0;
          if (os::copy_memory(&word, at, sizeof word) && ~word == search->hidden) {
            search->found = true;
          }
        }
      },
      context);
}

__attribute__((noinline)) void use(std::uintptr_t hidden, std::size_t size) {
  void* const block = reinterpret_cast<void*>(~hidden);
  if (size == 0) {
    scalable_free(block);
  } else {
    scalable_free(scalable_realloc(block, size));
  }
}

// Whether the address of a sampled block is found in a thread that frees it or changes its size,
// and waits for the lock that a scan holds.
bool is_found(std::size_t size) {
  std::uintptr_t hidden = 0;
  std::thread([&] {
    hidden = ~reinterpret_cast<std::uintptr_t>(scalable_malloc(std::size_t(16) << 20));
  }).join();
  std::atomic<bool> ready{false};
  Search search{0, 0, hidden};
  samples_lock.lock();
  std::thread thread([&] {
    pthread_attr_t attributes;
    void* low;
    std::size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    search.thread = os::thread_id();
    search.stack_end = reinterpret_cast<std::uintptr_t>(low) + bytes;
    ready = true;
    use(hidden, size);
  });
  while (!ready || !sleeps(int(search.thread))) std::this_thread::yield();
  const os::StopOutcome outcome = os::with_threads_stopped(look, &search);
  samples_lock.unlock();
  thread.join();
  EXPECT_EQ(outcome.kind, os::StopOutcome::Kind::kDone);
  return search.found;
}

TEST(KeptAddressTest, ASampledBlockIsFoundUntilItIsForgotten) {
  const auto nothing = [](void*, const os::StoppedThreads&) {};
  std::atomic<bool> end{false};
  std::thread other([&] {
    while (!end) std::this_thread::yield();
  });
  const os::StopOutcome outcome = os::with_threads_stopped(nothing, nullptr);
  end = true;
  other.join();
  if (outcome.kind == os::StopOutcome::Kind::kForbidden) GTEST_SKIP() << "ptrace is refused";
  start_sampling(1, SampledFor::kProfile);
  EXPECT_TRUE(is_found(0));
  EXPECT_TRUE(is_found(std::size_t(32) << 20));
  EXPECT_TRUE(is_found(std::size_t(8) << 20));
  stop_sampling();
}

}  // namespace
}  // namespace corbel::alloc
