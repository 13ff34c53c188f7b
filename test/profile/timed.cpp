// SPDX-License-Identifier: Apache-2.0
// A program that spends its time at known places, for time_profile_test.py.
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Each place is a function of its own, of at most 128 bytes, whose address main() prints.
#define PLACE __attribute__((noinline, aligned(128)))

PLACE void hot(long n) {
  for (long i = 0; i < n; ++i) asm volatile("");
}
PLACE void cool(long n) {
  for (long i = 0; i < n; ++i) asm volatile("");
}
PLACE void touch(char* memory, std::size_t size, std::size_t page) {
  for (std::size_t i = 0; i < size; i += page) static_cast<volatile char*>(memory)[i] = 1;
  madvise(memory, size, MADV_DONTNEED);
  asm volatile("" : : : "memory");
}
PLACE void locked(pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  asm volatile("" : : : "memory");
}

struct Counter {
  std::atomic<long> value;
};
PLACE void count_up(Counter* counter) {
  for (int i = 0; i < 1000; ++i) counter->value.fetch_add(1, std::memory_order_relaxed);
}

void tell(const char* name, void* place) { std::printf("%s %p\n", name, place); }

std::uint64_t own_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::uint64_t(t.tv_sec) * 1000000000 + std::uint64_t(t.tv_nsec);
}

double wall() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

void use_time(std::uint64_t milliseconds) {
  const std::uint64_t begin = own_time();
  while (own_time() - begin < milliseconds * 1000000) hot(10000);
}

std::string file_of(pid_t thread, const char* name) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The thread of this name; 0 if there is none.
pid_t find_thread(std::string_view name) {
  DIR* const folder = opendir("/proc/self/task");
  pid_t found = 0;
  while (const dirent* entry = readdir(folder)) {
    const pid_t thread = std::atoi(entry->d_name);
    if (thread != 0 && file_of(thread, "comm") == std::string(name) + "\n") found = thread;
  }
  closedir(folder);
  return found;
}

long sleeps_of(pid_t thread) {
  const std::string status = file_of(thread, "status");
  const auto at = status.find("\nvoluntary_ctxt_switches:");
  return at == std::string::npos ? 0 : std::atol(status.c_str() + at + 25);
}

// Waits until the profiler has looked at the threads so often again.
void wait_for_looks(long count) {
  const pid_t profiler = find_thread("corbel-profile");
  const long before = sleeps_of(profiler);
  while (sleeps_of(profiler) - before < count) usleep(1000);
}

void wait_for_profiler() {
  while (find_thread("corbel-profile") == 0) sched_yield();
  wait_for_looks(4);
}

// ---- what the program can do --------------------------------------------------------------------

int run_places() {
  wait_for_profiler();
  unsigned random = 1;
  for (int i = 0; i < 300; ++i) {
    random = random * 1103515245 + 12345;
    const long n = 500000 + long(random >> 16) * 50;
    hot(3 * n);
    cool(n);
  }
  return 0;
}

// Each thread is in time with samples of a millisecond.
int run_rounds() {
  wait_for_profiler();
  for (int i = 0; i < 8; ++i) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          wait_for_looks(4);
          const std::uint64_t begin = own_time();
          for (;;) {
            const std::uint64_t used = own_time() - begin;
            if (used >= 120000000) return nullptr;
            (used % 2000000 < 1500000 ? hot : cool)(10000);
          }
        },
        nullptr);
    pthread_join(thread, nullptr);
  }
  return 0;
}

int run_faults(std::uint64_t milliseconds) {
  wait_for_profiler();
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  const std::size_t size = 512 * page;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, size, MADV_NOHUGEPAGE);
  std::size_t pages = 0;
  const std::uint64_t begin = own_time();
  // The faults before the first sample and after the last one are few of them, however fast they
  // are.
  do {
    touch(static_cast<char*>(memory), size, page);
    pages += size / page;
  } while (own_time() - begin < milliseconds * 1000000);
  std::printf("pages %zu\n", pages);
  return 0;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<pid_t> waiter{0};

int run_lock() {
  wait_for_profiler();
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  // The new thread has its creator's name from the first look at it.
  pthread_setname_np(pthread_self(), "waiter");
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        waiter = gettid();
        locked(&mutex);
        pthread_mutex_unlock(&mutex);
        return nullptr;
      },
      nullptr);
  pthread_setname_np(pthread_self(), "holder");
  // "202" is the system call futex on x86-64, "98" on aarch64.
  std::string call;
  do {
    call = waiter != 0 ? file_of(waiter, "syscall") : "";
  } while (!call.starts_with("202 ") && !call.starts_with("98 "));
  const double begin = wall();
  wait_for_looks(20);
  std::printf("held %.0f\n", (wall() - begin) * 1e9);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
  return 0;
}

int run_threads() {
  wait_for_profiler();
  // The first threads stay until the profiler has met them.
  static std::atomic<bool> may_end{false};
  for (int i = 0; i < 40; ++i) {
    pthread_t threads[10];
    for (pthread_t& thread : threads) {
      pthread_create(
          &thread, nullptr,
          [](void*) -> void* {
            hot(500000);
            while (!may_end) usleep(1000);
            return nullptr;
          },
          nullptr);
    }
    if (!may_end) wait_for_looks(4);
    may_end = true;
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  return 0;
}

std::atomic<bool> counting_ends{false};
std::atomic<double> longest_pause{0};  // seconds

// Counts, and notes for how long the thread has not run.
void* keep_counting(void* counter) {
  double last = wall();
  while (!counting_ends) {
    for (int i = 0; i < 20; ++i) count_up(static_cast<Counter*>(counter));
    const double now = wall();
    double longest = longest_pause;
    while (now - last > longest && !longest_pause.compare_exchange_weak(longest, now - last)) {
    }
    last = now;
  }
  return nullptr;
}

int run_sharing(std::size_t distance) {
  wait_for_profiler();
  char* const block = static_cast<char*>(std::calloc(1, 512));
  char* const line =
      reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(block) + 63) & ~63UL);
  auto* const first = reinterpret_cast<Counter*>(line);
  auto* const second = reinterpret_cast<Counter*>(line + distance);
  std::printf("line %p\n", static_cast<void*>(line));
  pthread_t thread;
  pthread_create(&thread, nullptr, keep_counting, second);
  pthread_t other;
  pthread_create(&other, nullptr, keep_counting, first);
  // Both have run for long enough to be met often, however they share a processor.
  const auto time_of = [](pthread_t t) {
    clockid_t clock;
    timespec time{};
    pthread_getcpuclockid(t, &clock);
    clock_gettime(clock, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
  };
  while (time_of(thread) < 0.4 || time_of(other) < 0.4) usleep(1000);
  counting_ends = true;
  pthread_join(thread, nullptr);
  pthread_join(other, nullptr);
  std::printf("pause %.0f\n", longest_pause * 1e9);
  return 0;
}

int run_fork() {
  wait_for_profiler();
  const pid_t child = fork();
  if (child == 0) {
    use_time(50);
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  use_time(50);
  return status;
}

int run_exec(char** arguments) {
  const int left = std::atoi(arguments[2]);
  if (left == 0) return 5;
  while (find_thread("corbel-profile") == 0) sched_yield();
  const std::string next = std::to_string(left - 1);
  execl(arguments[0], arguments[0], "exec", next.c_str(), nullptr);
  return 1;
}

std::atomic<int> signals{0};

int run_handler(int signal) {
  wait_for_profiler();
  struct sigaction action{};
  action.sa_handler = [](int) { ++signals; };
  sigaction(signal, &action, nullptr);
  while (find_thread("corbel-profile") != 0) usleep(1000);
  const int before = signals;
  raise(signal);
  use_time(50);
  return signals == before + 1 ? 0 : 1;
}

int run_library(const char* path) {
  wait_for_profiler();
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return 1;
  const auto work = reinterpret_cast<void (*)(long)>(dlsym(library, "timed_work"));
  tell("work", reinterpret_cast<void*>(work));
  work(300000000);
  return 0;
}

// One thread blocks all signals from its beginning, and lives until the process ends.
int run_blocked() {
  wait_for_profiler();
  static std::atomic<bool> is_done{false};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_setname_np(pthread_self(), "blocking");
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        wait_for_looks(4);
        use_time(50);
        is_done = true;
        for (;;) pause();
      },
      nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(pthread_self(), "main");
  while (!is_done) usleep(1000);
  return 0;
}

// The process ends with its last thread.
int run_leave() {
  wait_for_profiler();
  std::atexit([] { std::printf("end 0\n"); });
  use_time(50);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        use_time(50);
        return nullptr;
      },
      nullptr);
  pthread_detach(thread);
  pthread_exit(nullptr);
}

// A wait that has a limit must not end early.
int run_limited_wait() {
  wait_for_profiler();
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  static std::atomic<int> result{-1};
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 600;
        waiter = gettid();
        result = pthread_mutex_timedlock(&mutex, &until);
        return nullptr;
      },
      nullptr);
  std::string call;
  do {
    call = waiter != 0 ? file_of(waiter, "syscall") : "";
  } while (!call.starts_with("202 ") && !call.starts_with("98 "));
  const long before = sleeps_of(waiter);
  wait_for_looks(10);
  const bool was_left_alone = sleeps_of(waiter) == before;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
  return result == 0 && was_left_alone ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  tell("hot", reinterpret_cast<void*>(hot));
  tell("cool", reinterpret_cast<void*>(cool));
  tell("touch", reinterpret_cast<void*>(touch));
  tell("locked", reinterpret_cast<void*>(locked));
  tell("count", reinterpret_cast<void*>(count_up));
  std::fflush(stdout);
  if (what == "places") return run_places();
  if (what == "rounds") return run_rounds();
  if (what == "faults") return run_faults(400);
  if (what == "lock") return run_lock();
  if (what == "threads") return run_threads();
  if (what == "sharing") return run_sharing(std::size_t(std::atoi(arguments[2])));
  if (what == "fork") return run_fork();
  if (what == "exec") return run_exec(arguments);
  if (what == "handler") return run_handler(std::atoi(arguments[2]));
  if (what == "library") return run_library(arguments[2]);
  if (what == "blocked") return run_blocked();
  if (what == "leave") return run_leave();
  if (what == "limited") return run_limited_wait();
  if (what == "exit") return std::atoi(arguments[2]);
  return 2;
}
