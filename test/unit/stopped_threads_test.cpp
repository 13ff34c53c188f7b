// SPDX-License-Identifier: Apache-2.0
// Stopping all threads of the process, and reading its memory meanwhile.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/os.hpp"

namespace corbel::os {
namespace {

using Kind = StopOutcome::Kind;

// A value that no other code has in a register.
constexpr std::uintptr_t kMark = 0x00c0ffee12345678;

struct Seen {
  std::vector<std::atomic<std::uint64_t>>* counters;
  bool moved = false;
  unsigned threads = 0;
  unsigned with_mark = 0;
  std::uint32_t first = 0;
};

// Time for other threads to run, if they do. On a busy system, each yield may take long.
void let_others_run() {
  constexpr std::uint64_t kEnough = 20;  // ms
  const std::uint64_t begin = now_ms();
  for (int i = 0; i < 1000 && now_ms() - begin < kEnough; ++i) yield();
}

// No lambda's code allocates: this runs while every thread is at rest.
void look(void* context, const StoppedThreads& threads) {
  Seen* seen = static_cast<Seen*>(context);
  std::uint64_t sum[2] = {0, 0};
  for (std::uint64_t& each : sum) {
    for (auto& counter : *seen->counters) each += counter.load();
    let_others_run();
  }
  seen->moved = sum[0] != sum[1];
  threads.for_each(
      [](void* to, const StoppedThread& thread) {
        Seen* into = static_cast<Seen*>(to);
        if (into->threads++ == 0) into->first = thread.id;
        for (std::size_t i = 0; i < thread.register_count; ++i) {
          if (thread.registers[i] != kMark) continue;
          ++into->with_mark;
          break;
        }
      },
      seen);
}

void count_until(std::atomic<bool>* end, std::atomic<std::uint64_t>* counter) {
  while (!end->load()) {
    std::uintptr_t mark = kMark;
    for (int i = 0; i < 1000; ++i) {
      counter->fetch_add(1);
      asm volatile("" : "+r"(mark));  // in a register all the time
    }
  }
}

class Counting {
 public:
  explicit Counting(unsigned n) : counters(n) {
    for (auto& counter : counters) threads_.emplace_back(count_until, &end_, &counter);
    for (auto& counter : counters) {
      while (counter.load() == 0) std::this_thread::yield();
    }
  }
  ~Counting() {
    end_ = true;
    for (auto& thread : threads_) thread.join();
  }
  std::vector<std::atomic<std::uint64_t>> counters;

 private:
  std::atomic<bool> end_{false};
  std::vector<std::thread> threads_;
};

// Where the system refuses ptrace to every process, as in many containers, there is nothing to see.
class StoppedThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    Counting counting(1);
    const StopOutcome outcome = with_threads_stopped([](void*, const StoppedThreads&) {}, nullptr);
    if (outcome.kind == Kind::kForbidden) {
      GTEST_SKIP() << "the system refuses ptrace: error " << outcome.number;
    }
  }
};

TEST_F(StoppedThreadsTest, AllThreadsAreAtRestAndGoOnAfterwards) {
  Counting counting(3);
  unsigned with_mark = 0;
  for (int round = 0; round < 8; ++round) {
    Seen seen{&counting.counters};
    const StopOutcome outcome = with_threads_stopped(look, &seen);
    ASSERT_EQ(outcome.kind, Kind::kDone) << outcome.number;
    EXPECT_FALSE(seen.moved);
    EXPECT_EQ(seen.threads, 4u);
    EXPECT_EQ(seen.first, thread_id());
    with_mark = std::max(with_mark, seen.with_mark);
  }
  // Between its inner loops a thread may have something else in the register.
  EXPECT_EQ(with_mark, 3u);
  for (auto& counter : counting.counters) {
    const std::uint64_t before = counter.load();
    while (counter.load() == before) std::this_thread::yield();
  }
}

TEST_F(StoppedThreadsTest, TheAddressesOfItsStackAreFreeAfterwards) {
  Counting counting(1);
  StackRange stack{};
  const StopOutcome outcome = with_threads_stopped(
      [](void* to, const StoppedThreads& threads) {
        *static_cast<StackRange*>(to) = threads.scratch_stack();
      },
      &stack);
  ASSERT_EQ(outcome.kind, Kind::kDone) << outcome.number;
  const std::size_t size = stack.high - stack.low;
  char* const memory = static_cast<char*>(map(size, 64 << 10, reinterpret_cast<void*>(stack.low)));
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory), stack.low);
  // Not by memset: the address sanitizer checks each store.
  for (std::size_t i = 0; i < size; ++i) static_cast<volatile char*>(memory)[i] = 1;
  unmap(memory, size);
}

// Each of the threads makes the next one and ends, so that the list of threads changes all the
// time.
struct Relay {
  std::atomic<bool> end{false};
  std::atomic<unsigned> running{0};
  std::atomic<std::uint64_t> passed{0};
};
void* relay(void* argument) {
  Relay* const state = static_cast<Relay*>(argument);
  state->passed.fetch_add(1);
  pthread_t next;
  if (state->end || pthread_create(&next, nullptr, relay, state) != 0) {
    state->running.fetch_sub(1);
  } else {
    pthread_detach(next);
  }
  return nullptr;
}

TEST_F(StoppedThreadsTest, NoThreadEscapesByMakingAnother) {
  static Relay state;  // outlives the test if it fails
  state.end = false;
  for (int i = 0; i < 4; ++i) {
    state.running.fetch_add(1);
    pthread_t first;
    ASSERT_EQ(pthread_create(&first, nullptr, relay, &state), 0);
    pthread_detach(first);
  }
  struct Moved {
    Relay* state;
    bool moved = false;
  };
  for (int round = 0; round < 25; ++round) {
    Moved moved{&state};
    const StopOutcome outcome = with_threads_stopped(
        [](void* context, const StoppedThreads&) {
          Moved* m = static_cast<Moved*>(context);
          const std::uint64_t before = m->state->passed.load();
          let_others_run();
          m->moved = m->state->passed.load() != before;
        },
        &moved);
    EXPECT_EQ(outcome.kind, Kind::kDone) << outcome.number;
    EXPECT_FALSE(moved.moved);
    const std::uint64_t now = state.passed.load();
    while (state.passed.load() == now && state.running.load() != 0) std::this_thread::yield();
  }
  EXPECT_EQ(state.running.load(), 4u);
  state.end = true;
  while (state.running.load() != 0) std::this_thread::yield();
}

TEST_F(StoppedThreadsTest, ASignalThatIsDueComesAfterwards) {
  static std::atomic<int> taken{0};
  struct sigaction action{};
  action.sa_handler = [](int) { taken.fetch_add(1); };
  struct sigaction before{};
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> end{false};
  std::thread thread([&] {
    while (!end) std::this_thread::yield();
  });
  int sent = 0;
  for (int round = 0; round < 50; ++round) {
    pthread_kill(thread.native_handle(), SIGUSR1);
    ++sent;
    ASSERT_EQ(with_threads_stopped([](void*, const StoppedThreads&) {}, nullptr).kind, Kind::kDone);
    while (taken.load() != sent) std::this_thread::yield();
  }
  end = true;
  thread.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(StoppedThreadsTest, ACrashEndsTheLookAndNotTheProgram) {
  Counting counting(2);
  const StopOutcome outcome = with_threads_stopped(
      [](void*, const StoppedThreads&) {
        // Not null, which the undefined-behaviour sanitizer would report.
        auto* nowhere = reinterpret_cast<volatile int*>(16);
        asm("" : "+r"(nowhere));
        *nowhere = 1;
      },
      nullptr);
  EXPECT_EQ(outcome.kind, Kind::kCrashed);
  EXPECT_EQ(outcome.number, unsigned(SIGSEGV));
  const std::uint64_t before = counting.counters[0].load();
  while (counting.counters[0].load() == before) std::this_thread::yield();
}

// Runs `body` in a child process and returns its exit code.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  // Its traced threads, if it has any, report their ends, too.
  int status = 0;
  for (pid_t which = 0; which != child || WIFSTOPPED(status);) {
    which = waitpid(-1, &status, __WALL);
    if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, which, nullptr, nullptr);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

enum class Moment { kEnding, kEnded };

bool first_thread_has_ended() {
  const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/stat";
  std::string line;
  std::getline(std::ifstream(path), line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") Z") == 0;
}

// How many threads are stopped in a process whose first thread ends.
int without_first_thread(Moment moment) {
  return in_child([moment]() -> int {
    static std::atomic<bool> is_ending{false};
    std::thread([moment] {
      while (!is_ending || (moment == Moment::kEnded && !first_thread_has_ended())) {
        std::this_thread::yield();
      }
      unsigned threads = 0;
      const auto count = [](void* to, const StoppedThreads& stopped) {
        stopped.for_each([](void* n, const StoppedThread&) { ++*static_cast<unsigned*>(n); }, to);
      };
      const StopOutcome outcome = with_threads_stopped(count, &threads);
      _exit(outcome.kind == Kind::kDone ? int(threads) : 99);
    }).detach();
    is_ending = true;
    // Not pthread_exit(), whose unwinding gtest would catch.
    syscall(SYS_exit, 0);
    return 99;
  });
}

TEST_F(StoppedThreadsTest, TheFirstThreadMayEnd) {
  EXPECT_EQ(without_first_thread(Moment::kEnded), 1);
  for (int i = 0; i < 50; ++i) {
    const int stopped = without_first_thread(Moment::kEnding);
    EXPECT_TRUE(stopped == 1 || stopped == 2) << stopped;
  }
}

bool forbid(unsigned system_call) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{unsigned(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int kind_with_threads(unsigned threads) {
  Counting counting(threads);
  return int(with_threads_stopped([](void*, const StoppedThreads&) {}, nullptr).kind);
}

TEST(ForbiddenTracingTest, OneThreadNeedsNone) {
  EXPECT_EQ(in_child([] { return forbid(SYS_ptrace), kind_with_threads(1); }),
            int(Kind::kForbidden));
  EXPECT_EQ(in_child([] { return forbid(SYS_ptrace), kind_with_threads(0); }), int(Kind::kDone));
}

TEST_F(StoppedThreadsTest, ATracedProcessSaysSo) {
  const auto traced = [](unsigned threads) {
    return in_child([threads] {
      // Only the calling thread is traced, unless the system is asked to trace new ones.
      std::atomic<bool> ready{false}, end{false};
      std::thread other;
      if (threads != 0) {
        other = std::thread([&] {
          ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
          ready = true;
          while (!end) std::this_thread::yield();
        });
        while (!ready) std::this_thread::yield();
      }
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      const StopOutcome outcome =
          with_threads_stopped([](void*, const StoppedThreads&) {}, nullptr);
      end = true;
      if (threads != 0) other.join();
      if (outcome.kind == Kind::kTraced && outcome.number != unsigned(getppid())) return 99;
      return int(outcome.kind);
    });
  };
  EXPECT_EQ(traced(1), int(Kind::kTraced));
  EXPECT_EQ(traced(0), int(Kind::kDone));
}

struct Found {
  std::uintptr_t address;
  MemoryArea mapping;
  std::string name;
};

Found find(const void* address) {
  Found found{reinterpret_cast<std::uintptr_t>(address), {}, {}};
  EXPECT_TRUE(for_each_memory_area(
      [](void* context, const MemoryArea& mapping) {
        Found* to = static_cast<Found*>(context);
        if (to->address < mapping.start || to->address >= mapping.end) return;
        to->mapping = mapping;
        to->name = mapping.name;
      },
      &found));
  return found;
}

TEST(AddressSpaceTest, KindsOfMappings) {
  int local = 0;
  EXPECT_TRUE(find(&local).mapping.is_stack);
  EXPECT_EQ(find(&local).mapping.kind, MemoryArea::Kind::kPrivate);
  const Found code = find(reinterpret_cast<void*>(&forbid));
  EXPECT_TRUE(code.mapping.has_file);
  EXPECT_FALSE(code.mapping.writable);
  EXPECT_EQ(code.name.front(), '/');
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(find(shared).mapping.kind, MemoryArea::Kind::kSharedMemory);
  munmap(shared, 4096);
  FILE* file = tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), 4096), 0);
  shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  EXPECT_EQ(find(shared).mapping.kind, MemoryArea::Kind::kSharedFile);
  munmap(shared, 4096);
  fclose(file);
}

using Runs = std::vector<std::pair<std::size_t, std::size_t>>;  // of pages

// Touches pages of a mapping, and returns which ones are visited.
Runs visited_of(std::size_t pages, const Runs& touched) {
  const std::size_t page = page_size();
  char* memory = static_cast<char*>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) return {};
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (const auto& [from, to] : touched) {
    for (std::size_t i = from; i < to; ++i) memory[i * page] = 1;
  }
  struct To {
    Runs runs;
    std::uintptr_t base;
  } to{{}, reinterpret_cast<std::uintptr_t>(memory)};
  for_each_touched(
      to.base, to.base + pages * page,
      [](void* context, std::uintptr_t start, std::uintptr_t end) {
        To* into = static_cast<To*>(context);
        into->runs.emplace_back((start - into->base) / page_size(),
                                (end - into->base) / page_size());
      },
      &to);
  munmap(memory, pages * page);
  return to.runs;
}

// A bit for each case in which other pages are visited than those that were touched.
int wrong_visits() {
  const Runs few{{3, 5}, {510, 515}, {1999, 2000}};
  Runs many;  // more than are found at a time, and than are listed at a time
  for (std::size_t i = 0; i < 1000; ++i) many.emplace_back(3 * i + 1, 3 * i + 2);
  const std::pair<std::size_t, Runs> cases[] = {{2000, few}, {3000, many}, {5, {}}, {5, {{0, 5}}}};
  int wrong = 0;
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    if (visited_of(cases[i].first, cases[i].second) != cases[i].second) wrong |= 1 << i;
  }
  return wrong;
}

TEST(AddressSpaceTest, OnlyTouchedPagesAreVisited) { EXPECT_EQ(wrong_visits(), 0); }

// Before Linux 6.7, and in a sandbox, the kernel does not find them.
TEST(AddressSpaceTest, OnlyTouchedPagesAreVisitedByTheList) {
  EXPECT_EQ(in_child([] { return forbid(SYS_ioctl) ? wrong_visits() : 64; }), 0);
}

}  // namespace
}  // namespace corbel::os
