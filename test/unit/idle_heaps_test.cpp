// SPDX-License-Identifier: Apache-2.0
// Threads that sleep lose their heaps. Threads that do not sleep, or only seem to, keep theirs.
// Either way no byte of the program's memory changes.
#include <corbel/malloc.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/options.hpp"
#include "alloc/policy/idle_heaps.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

using namespace std::chrono_literals;

double stress_seconds() {
  const char* text = std::getenv("CORBEL_IDLE_HEAPS_SECONDS");
  return text != nullptr ? std::atof(text) : 1.5;
}

// Blocks filled with known content.
class Blocks {
 public:
  explicit Blocks(unsigned seed) : next_(seed) {}
  ~Blocks() {
    while (!blocks_.empty()) drop();
  }

  void add() {
    next_ = next_ * 1664525 + 1013904223;
    const std::size_t size = 8 + (next_ >> 8) % ((next_ >> 28) == 0 ? 9000 : 300);
    auto* p = static_cast<unsigned char*>(scalable_malloc(size));
    ASSERT_NE(p, nullptr);
    const auto fill = static_cast<unsigned char>(next_ >> 16);
    std::memset(p, fill, size);
    blocks_.push_back({p, size, fill});
  }

  void drop() {
    const std::size_t i = next_ % blocks_.size();
    const Block b = blocks_[i];
    blocks_[i] = blocks_.back();
    blocks_.pop_back();
    for (std::size_t k = 0; k < b.size; ++k) ASSERT_EQ(b.start[k], b.fill);
    scalable_free(b.start);
  }

  void churn(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      if (blocks_.size() < 40) add();
      add();
      drop();
    }
  }

 private:
  struct Block {
    unsigned char* start;
    std::size_t size;
    unsigned char fill;
  };
  unsigned next_;
  std::vector<Block> blocks_;
};

// Calls take_over_idle_heaps() until it takes a heap, or until the time is over.
bool take_one_within(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  do {
    if (take_over_idle_heaps(false) != 0) return true;
    std::this_thread::sleep_for(1ms);
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// A thread that uses its heap, sleeps in a call of the test's choice, and uses its heap again.
class Sleeper {
 public:
  explicit Sleeper(std::function<void()> sleep)
      : thread_([this, sleep] {
          Blocks blocks(7);
          blocks.churn(500);
          heap_before = heap_of_thread();
          ready.store(true);
          sleep();
          heap_at_wake = heap_of_thread();
          blocks.churn(500);
          heap_after = heap_of_thread();
        }) {
    while (!ready.load()) std::this_thread::sleep_for(1ms);
  }
  void join() { thread_.join(); }
  pthread_t handle() { return thread_.native_handle(); }

  // Valid only while the thread still has its heap.
  void wait_until_asleep() {
    os::ThreadWatch watch(heap_before->thread, heap_before->owner_slot, &this_heap);
    while (watch.seems() != os::ThreadWatch::Seems::kAsleep) std::this_thread::sleep_for(1ms);
  }

  std::atomic<bool> ready{false};
  Heap* heap_before = nullptr;
  Heap* heap_at_wake = nullptr;
  Heap* heap_after = nullptr;

 private:
  std::thread thread_;
};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void wake() { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  int ends[2];
};

void expect_taken(const std::function<void(int)>& sleep_on) {
  Pipe pipe;
  scalable_free(scalable_malloc(1));
  const std::size_t heaps = live_heaps();
  Sleeper sleeper([&] { sleep_on(pipe.ends[0]); });
  EXPECT_TRUE(take_one_within(20s));
  EXPECT_EQ(live_heaps(), heaps);
  pipe.wake();
  sleeper.join();
  EXPECT_EQ(sleeper.heap_at_wake, &unset_heap);
  EXPECT_NE(sleeper.heap_after, &unset_heap);
  EXPECT_EQ(live_heaps(), heaps);
}

void drain(int fd) {
  char c;
  EXPECT_EQ(read(fd, &c, 1), 1);
}

class IdleHeapsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::can_watch_threads()) GTEST_SKIP() << "the system does not show what its threads do";
    // A helper thread would look at the heaps, too.
    options.helper_thread.store(HelperThread::kNever, std::memory_order_relaxed);
  }
};

TEST_F(IdleHeapsTest, InRead) { expect_taken(drain); }

TEST_F(IdleHeapsTest, InPoll) {
  expect_taken([](int fd) {
    pollfd p{fd, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, -1), 1);
  });
}

TEST_F(IdleHeapsTest, InSelect) {
  expect_taken([](int fd) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    EXPECT_EQ(select(fd + 1, &set, nullptr, nullptr, nullptr), 1);
  });
}

TEST_F(IdleHeapsTest, InEpollWait) {
  expect_taken([](int fd) {
    const int epoll = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
    EXPECT_EQ(epoll_wait(epoll, &event, 1, -1), 1);
    close(epoll);
  });
}

TEST_F(IdleHeapsTest, WithAllSignalsBlocked) {
  expect_taken([](int fd) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    drain(fd);
  });
}

TEST_F(IdleHeapsTest, OnAConditionVariableAndManyTimes) {
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  std::thread thread([&] {
    Blocks blocks(3);
    for (int i = 0; i < 20; ++i) {
      blocks.churn(50);
      std::unique_lock<std::mutex> lock(mutex);
      turn = 1;
      changed.wait(lock, [&] { return turn == 0; });
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(take_one_within(20s));
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(turn, 1);
    turn = 0;
    changed.notify_one();
  }
  thread.join();
}

TEST_F(IdleHeapsTest, RemoteFreesComeBack) {
  constexpr std::size_t kBlocks = 4000;
  constexpr std::size_t kSize = 1000;
  std::vector<void*> blocks(kBlocks);
  Pipe pipe;
  std::atomic<bool> made{false};
  Sleeper sleeper([&] {
    for (void*& block : blocks) block = scalable_malloc(kSize);
    made.store(true);
    drain(pipe.ends[0]);
  });
  while (!made.load()) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(take_one_within(20s));
  const std::size_t before = stats().live;
  for (void* block : blocks) scalable_free(block);
  scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
  EXPECT_LT(stats().live + kBlocks * kSize / 2, before);
  pipe.wake();
  sleeper.join();
}

TEST_F(IdleHeapsTest, IdleOnlySkipsHeapsThatHaveAllocated) {
  Pipe pipe;
  Pipe back;
  std::thread thread([&] {
    Blocks blocks(5);
    for (int i = 0; i < 3; ++i) {
      blocks.churn(10);
      EXPECT_EQ(write(back.ends[1], "x", 1), 1);
      drain(pipe.ends[0]);
    }
  });
  for (int i = 0; i < 3; ++i) {
    drain(back.ends[0]);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(take_over_idle_heaps(true), 0u);
    std::size_t taken = 0;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (taken == 0 && std::chrono::steady_clock::now() < end) taken = take_over_idle_heaps(true);
    EXPECT_EQ(taken, 1u);
    pipe.wake();
  }
  thread.join();
}

// ---- threads that keep their heaps --------------------------------------------------------------

void expect_kept(const std::function<void(int)>& sleep_on, int tries = 30) {
  Pipe pipe;
  Sleeper sleeper([&] { sleep_on(pipe.ends[0]); });
  for (int i = 0; i < tries; ++i) {
    EXPECT_EQ(take_over_idle_heaps(false), 0u);
    std::this_thread::sleep_for(1ms);
  }
  pipe.wake();
  sleeper.join();
  EXPECT_EQ(sleeper.heap_at_wake, sleeper.heap_before);
}

TEST_F(IdleHeapsTest, NotWhileAwake) {
  expect_kept([](int fd) {
    pollfd p{fd, POLLIN, 0};
    while (poll(&p, 1, 0) == 0) {
    }
  });
}

TEST_F(IdleHeapsTest, NotInASlowPath) {
  expect_kept([](int fd) {
    SlowPath slow_path(find_heap());
    drain(fd);
  });
}

std::atomic<int> handler_fd{-1};
std::atomic<bool> in_handler{false};
std::atomic<int> wait_kind{0};

// The ways of waiting in a handler that the signal mask alone does not reveal.
void waiting_handler(int signal) {
  const int saved = errno;
  in_handler.store(true);
  sigset_t none;
  sigemptyset(&none);
  const int kind = wait_kind.load();
  if (kind == 1) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  }
  pollfd p{handler_fd.load(), POLLIN, 0};
  while (ppoll(&p, 1, nullptr, kind == 2 ? &none : nullptr) != 1) {
  }
  in_handler.store(false);
  errno = saved;
}

void expect_kept_in_handler(int flags, int kind, bool other_stack = false) {
  wait_kind.store(kind);
  struct sigaction action = {};
  action.sa_handler = waiting_handler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  Pipe pipe;
  Pipe stop;
  handler_fd.store(pipe.ends[0]);
  Sleeper sleeper([&] {
    std::vector<char> memory;
    if (other_stack) {
      memory.resize(64 << 10);
      stack_t stack = {};
      stack.ss_sp = memory.data();
      stack.ss_size = memory.size();
      EXPECT_EQ(sigaltstack(&stack, nullptr), 0);
    }
    pollfd p{stop.ends[0], POLLIN, 0};
    while (poll(&p, 1, -1) != 1) {
    }
    if (other_stack) {
      stack_t stack = {};
      stack.ss_flags = SS_DISABLE;
      EXPECT_EQ(sigaltstack(&stack, nullptr), 0);
    }
  });
  // Send the signal once the thread is in poll(): the thread sanitizer defers earlier signals, and
  // then runs the handler as an ordinary call or, rarely, not at all.
  sleeper.wait_until_asleep();
  ASSERT_EQ(pthread_kill(sleeper.handle(), SIGUSR2), 0);
  while (!in_handler.load()) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(take_over_idle_heaps(false), 0u);
    std::this_thread::sleep_for(1ms);
  }
  pipe.wake();
  while (in_handler.load()) std::this_thread::sleep_for(1ms);
  // The frames that the handler leaves on the stack must not be taken for a running handler
  // forever. (They may be, as long as the thread has called nothing since.)
  stop.wake();
  sleeper.join();
}

TEST_F(IdleHeapsTest, NotInAHandler) { expect_kept_in_handler(0, 0); }
TEST_F(IdleHeapsTest, NotInAHandlerThatBlocksNothing) {
  expect_kept_in_handler(SA_NODEFER | int(SA_RESETHAND), 0);
}
TEST_F(IdleHeapsTest, NotInAHandlerThatUnblocksItsSignal) { expect_kept_in_handler(0, 1); }
TEST_F(IdleHeapsTest, NotInAHandlerThatWaitsWithAnotherMask) { expect_kept_in_handler(0, 2); }

#if !defined(__SANITIZE_THREAD__)  // it runs handlers later, at points of its own choice
TEST_F(IdleHeapsTest, NotInAHandlerOnAnotherStack) { expect_kept_in_handler(SA_ONSTACK, 0, true); }

// The handler interrupts malloc and free at any point, and sleeps.
std::atomic<unsigned> naps{0};
void napping_handler(int) {
  const int saved = errno;
  const timespec nap{0, 300000};
  nanosleep(&nap, nullptr);
  naps.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  errno = saved;
}

TEST_F(IdleHeapsTest, NotInAHandlerThatInterruptsMalloc) {
  struct sigaction action = {};
  action.sa_handler = napping_handler;
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  std::atomic<bool> stop{false};
  std::atomic<bool> ready{false};
  std::thread thread([&] {
    void* ring[64] = {};
    ready.store(true);
    for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {  // relaxed: ends the loop
      void*& slot = ring[i * 7 % 64];
      if (slot != nullptr) {
        ASSERT_EQ(*static_cast<std::uintptr_t*>(slot), ~reinterpret_cast<std::uintptr_t>(slot));
      }
      scalable_free(slot);
      slot = scalable_malloc(24);
      *static_cast<std::uintptr_t*>(slot) = ~reinterpret_cast<std::uintptr_t>(slot);
    }
    for (void* p : ring) scalable_free(p);
  });
  while (!ready.load()) std::this_thread::sleep_for(1ms);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  std::size_t taken = 0;
  while (std::chrono::steady_clock::now() < end) {
    pthread_kill(thread.native_handle(), SIGUSR2);
    for (int i = 0; i < 10; ++i) taken += take_over_idle_heaps(false);
  }
  stop.store(true);
  thread.join();
  EXPECT_GT(naps.load(), 20u);
  // A few take-overs are correct: a thread that returns from the handler while it is examined waits
  // in the allocator for the outcome, and that is a sleep like any other.
  std::printf("[          ] %u naps, %zu take-overs\n", naps.load(), taken);
}

// A vfork child runs on the thread's own memory, thread-local variables included.
TEST_F(IdleHeapsTest, NotWhileAVforkChildRuns) {
  expect_kept([](int fd) {
    const pid_t child = vfork();
    if (child == 0) {
      char c;
      const ssize_t n = read(fd, &c, 1);
      _exit(n == 1 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}
#endif

// ---- races --------------------------------------------------------------------------------------

TEST_F(IdleHeapsTest, WokenAtFullRateWhileTakenOver) {
  constexpr int kPairs = 2;
  std::atomic<bool> stop{false};
  std::atomic<unsigned> wakes{0};
  std::vector<std::thread> threads;
  struct Turn {
    std::mutex mutex;
    std::condition_variable changed;
    int whose = 0;
  };
  std::vector<Turn> turns(kPairs);
  for (int i = 0; i < kPairs * 2; ++i) {
    threads.emplace_back([&, i] {
      Turn& turn = turns[std::size_t(i / 2)];
      Blocks blocks(unsigned(i) + 11);
      void* passed = nullptr;
      for (;;) {
        {
          std::unique_lock<std::mutex> lock(turn.mutex);
          turn.changed.wait(lock, [&] { return turn.whose == i % 2 || stop.load(); });
          if (stop.load()) break;
        }
        blocks.churn(1 + i);
        scalable_free(passed);
        passed = scalable_malloc(40);
        wakes.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
        std::lock_guard<std::mutex> lock(turn.mutex);
        turn.whose = 1 - i % 2;
        turn.changed.notify_one();
      }
      scalable_free(passed);
    });
  }
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  std::size_t taken = 0;
  std::thread second([&] {
    while (!stop.load()) take_over_idle_heaps(true);
  });
  while (std::chrono::steady_clock::now() < end) taken += take_over_idle_heaps(false);
  stop.store(true);
  for (Turn& turn : turns) {
    std::lock_guard<std::mutex> lock(turn.mutex);
    turn.changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  second.join();
  std::printf("[          ] %u wake-ups, %zu take-overs\n", wakes.load(), taken);
  EXPECT_GT(taken, 0u);
}

TEST_F(IdleHeapsTest, ThreadsThatEndWhileTakenOver) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> makers;
  for (int m = 0; m < 2; ++m) {
    makers.emplace_back([&, m] {
      for (unsigned i = 0; !stop.load(); ++i) {
        std::thread thread([&] {
          Blocks blocks(i * 2 + unsigned(m));
          blocks.churn(20);
          const timespec nap{0, i % 5 * 40000};
          nanosleep(&nap, nullptr);
          if (i % 2 == 0) blocks.churn(5);
        });
        thread.join();
      }
    });
  }
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  std::size_t taken = 0;
  while (std::chrono::steady_clock::now() < end) taken += take_over_idle_heaps(false);
  stop.store(true);
  for (std::thread& maker : makers) maker.join();
  std::printf("[          ] %zu take-overs\n", taken);
  EXPECT_GT(taken, 0u);
}

#if !defined(__SANITIZE_THREAD__)  // it runs no destructor that late
// A heap that is attached after the exit hook has run stays with its thread: no later hook would
// tell when the thread's memory is released.
TEST_F(IdleHeapsTest, NotAfterTheExitHook) {
  static std::atomic<bool> late{false};
  static std::atomic<bool> go_on{false};
  static Heap* late_heap = nullptr;
  pthread_key_t key;
  // Set again each time, so that the last destructor call comes after the exit hook's last run.
  static pthread_key_t* again = &key;
  static int rounds;
  rounds = 0;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
                                   pthread_setspecific(*again, value);
                                   return;
                                 }
                                 scalable_free(scalable_malloc(100));
                                 late_heap = heap_of_thread();
                                 late.store(true);
                                 while (!go_on.load()) std::this_thread::sleep_for(1ms);
                               }),
            0);
  std::thread thread([&] {
    scalable_free(scalable_malloc(10));
    pthread_setspecific(key, &key);
  });
  while (!late.load()) std::this_thread::sleep_for(1ms);
  ASSERT_NE(late_heap, &unset_heap);
  EXPECT_EQ(late_heap->owner_slot, nullptr);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(take_over_idle_heaps(false), 0u);
    std::this_thread::sleep_for(1ms);
  }
  go_on.store(true);
  thread.join();
  pthread_key_delete(key);
}
#endif

TEST_F(IdleHeapsTest, AForkedChildLeavesTheOthersAlone) {
  Pipe pipe;
  Sleeper sleeper([&] { drain(pipe.ends[0]); });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Blocks blocks(9);
    blocks.churn(100);
    const bool good = take_over_idle_heaps(false) == 0 && live_heaps() == 1;
    blocks.churn(100);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(take_one_within(20s));
  pipe.wake();
  sleeper.join();
}

}  // namespace
}  // namespace corbel::alloc
