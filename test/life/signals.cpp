// SPDX-License-Identifier: Apache-2.0
// A signal handler that interrupts the program anywhere, also inside malloc, and touches memory of
// the program. It does not allocate, which is forbidden. System calls of the allocator are
// interrupted, too.
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "life.hpp"

namespace {

constexpr std::size_t kBlocks = 512;
constexpr std::size_t kSize = 200;
std::atomic<unsigned char*> blocks[kBlocks];
std::atomic<unsigned> signals{0};

void handler(int) {
  const int saved = errno;
  // relaxed: a count
  const unsigned n = signals.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < 8; ++i) {
    unsigned char* block = blocks[(n * 8 + i) % kBlocks].load(std::memory_order_acquire);
    if (block == nullptr) continue;
    CHECK(block[0] == (kSize & 0xff));
    std::memset(block, int(kSize & 0xff), kSize);
  }
  errno = saved;
}

}  // namespace

int main() {
  life::give_up_after(120);
  life::check_replacement();
  for (auto& block : blocks) {
    block.store(life::make_block(kSize), std::memory_order_release);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  CHECK(sigaction(SIGVTALRM, &action, nullptr) == 0);
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  itimerval timer = {{0, 100}, {0, 100}};
  CHECK(setitimer(ITIMER_VIRTUAL, &timer, nullptr) == 0);

  std::atomic<bool> stop{false};
  const pid_t self = getpid();
  // A timer alone is only as fine as the kernel's tick.
  std::thread sender([&] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGVTALRM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
      kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  std::vector<std::thread> threads;
  constexpr unsigned kEnough = 1000;
  const auto start = std::chrono::steady_clock::now();
  const auto goes_on = [start] {
    const auto time = std::chrono::steady_clock::now() - start;
    const bool enough = signals.load(std::memory_order_relaxed) > kEnough;  // relaxed: a count
    return time < std::chrono::seconds(enough ? 4 : 60);
  };
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (goes_on()) life::use_malloc(5);
    });
  }
  while (goes_on()) life::use_malloc(5);
  for (std::thread& thread : threads) thread.join();
  stop.store(true, std::memory_order_relaxed);  // relaxed: only ends the loop
  sender.join();
  timer = {};
  CHECK(setitimer(ITIMER_VIRTUAL, &timer, nullptr) == 0);
  const unsigned count = signals.load(std::memory_order_relaxed);
  std::printf("%u signals\n", count);
  CHECK(count > kEnough);
  for (auto& block : blocks) {
    life::free_block(block.load(std::memory_order_acquire), kSize);
  }
  return life::passed("signals");
}
