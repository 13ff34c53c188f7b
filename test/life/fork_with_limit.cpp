// SPDX-License-Identifier: Apache-2.0
// fork under limits: while threads allocate at the limit, run the callback, and change the limit.
// The child has the same limits, is refused memory, frees, and may lift the limits.
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heap_limit.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLimit = 48 * kMiB;

int called(void* context, std::size_t) {
  static_cast<std::atomic<int>*>(context)->fetch_add(1, std::memory_order_relaxed);
  return 0;
}

// Exits with 7, which cannot happen by accident.
[[noreturn]] void live_as_child(std::atomic<int>& calls) {
  alarm(60);
  // Blocks of threads that the child does not have stay allocated: there may be no memory left.
  const int before = calls.load(std::memory_order_relaxed);
  CHECK(std::malloc(2 * kLimit) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(calls.load(std::memory_order_relaxed) > before);
  life::Hoard hoard;
  hoard.fill(3000);
  hoard.free_some(hoard.count());
  life::set_heap_limit(kMiB);
  life::set_hard_limit(0);
  std::thread([] { life::use_malloc(20); }).join();
  free(life::make_block(2 * kLimit));
  std::exit(7);
}

}  // namespace

int main() {
  life::check_replacement();
  life::give_up_after(200);
  std::atomic<int> calls{0};
  std::atomic<bool> over{false};
  std::atomic<bool> begun{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&begun, &over, i] {
      begun.wait(false, std::memory_order_acquire);  // no thread can be started at the limit
      life::Hoard hoard;
      while (!over.load(std::memory_order_relaxed)) {
        hoard.fill(100 << i * 3);
        hoard.free_some(hoard.count());
      }
    });
  }
  threads.emplace_back([&over] {
    for (int i = 0; !over.load(std::memory_order_relaxed); ++i) {
      life::set_heap_limit(kLimit / 2 + std::size_t(i % 8) * kMiB);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  life::on_limit(called, &calls);
  life::set_heap_limit(kLimit / 2);
  life::set_hard_limit(kLimit);
  begun.store(true, std::memory_order_release);
  begun.notify_all();
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) live_as_child(calls);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  over.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
  life::set_heap_limit(0);
  life::set_hard_limit(0);
  life::on_limit(nullptr, nullptr);
  life::use_malloc(20);
  return life::passed("fork-with-limit");
}
