// SPDX-License-Identifier: Apache-2.0
// A program that allocates known amounts at known places, for the tests of profiles.
#include <corbel/malloc.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

std::vector<void*> kept;

void keep(void* block) { kept.push_back(block); }

// Each place is a function of its own, of at most 64 bytes, whose address main() prints. The
// statement after the call keeps it from being a tail call.
#define PLACE(name, call)                               \
  __attribute__((noinline, aligned(64))) void* name() { \
    void* const block = call;                           \
    asm volatile("" : : "r"(block) : "memory");         \
    return block;                                       \
  }

PLACE(small_freed, std::malloc(100))
PLACE(small_kept, std::malloc(48))
PLACE(medium_kept, std::calloc(1, 5000))
PLACE(large_freed, std::malloc(196608))
PLACE(new_kept, operator new(1024))
PLACE(in_thread, std::malloc(256))
PLACE(peak_only, std::malloc(2000))

void* run_thread(void*) {
  pthread_setname_np(pthread_self(), "planted");
  for (int i = 0; i < 40000; ++i) kept.push_back(in_thread());
  return nullptr;
}

void allocate_all() {
  kept.reserve(1000000);
  for (int i = 0; i < 300000; ++i) std::free(small_freed());
  for (int i = 0; i < 200000; ++i) keep(small_kept());
  for (int i = 0; i < 8000; ++i) keep(medium_kept());
  for (int i = 0; i < 3000; ++i) std::free(large_freed());
  for (int i = 0; i < 20000; ++i) keep(new_kept());
  pthread_t thread;
  pthread_create(&thread, nullptr, run_thread, nullptr);
  pthread_join(thread, nullptr);
  std::vector<void*> more;
  more.reserve(50000);
  for (int i = 0; i < 50000; ++i) more.push_back(peak_only());
  for (void* block : more) std::free(block);
}

// ---- lives ------------------------------------------------------------------------------------

PLACE(handed_over, std::malloc(1000))

#define PLACE_WITH_BLOCK(name, call)                             \
  __attribute__((noinline, aligned(64))) void name(void*& old) { \
    call;                                                        \
    asm volatile("" : : "r"(old) : "memory");                    \
  }
PLACE_WITH_BLOCK(grow, old = std::realloc(old, 6000))
PLACE_WITH_BLOCK(shrink, old = std::realloc(old, 600))
PLACE_WITH_BLOCK(receive, std::free(old))

// The time that ten blocks take in turn, in ns, of those that are not sampled.
long ten_lives() {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return long(t.tv_sec) * 1000000000 + t.tv_nsec;
  };
  long times[101];
  for (long& time : times) {
    const long begin = now();
    for (int i = 0; i < 10; ++i) std::free(peak_only());
    time = now() - begin;
  }
  std::sort(std::begin(times), std::end(times));
  return times[50];
}

void live() {
  std::printf("ten_lives %lx\n", static_cast<unsigned long>(ten_lives()));
  kept.reserve(1500);
  for (int i = 0; i < 1500; ++i) keep(new_kept());
  for (int i = 0; i < 15000; ++i) std::free(small_freed());
  for (int i = 0; i < 300; ++i) {
    void* block = peak_only();
    grow(block);
    shrink(block);
    std::free(block);
  }
  std::vector<void*> sent;
  sent.reserve(1500);
  for (int i = 0; i < 1500; ++i) sent.push_back(handed_over());
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* blocks) -> void* {
        pthread_setname_np(pthread_self(), "receiver");
        for (void*& block : *static_cast<std::vector<void*>*>(blocks)) receive(block);
        return nullptr;
      },
      &sent);
  pthread_join(thread, nullptr);
}

void print_places() {
  const struct {
    const char* name;
    void* function;
  } places[] = {{"small_freed", reinterpret_cast<void*>(small_freed)},
                {"small_kept", reinterpret_cast<void*>(small_kept)},
                {"medium_kept", reinterpret_cast<void*>(medium_kept)},
                {"large_freed", reinterpret_cast<void*>(large_freed)},
                {"new_kept", reinterpret_cast<void*>(new_kept)},
                {"in_thread", reinterpret_cast<void*>(in_thread)},
                {"peak_only", reinterpret_cast<void*>(peak_only)},
                {"handed_over", reinterpret_cast<void*>(handed_over)},
                {"grow", reinterpret_cast<void*>(grow)},
                {"shrink", reinterpret_cast<void*>(shrink)},
                {"receive", reinterpret_cast<void*>(receive)}};
  for (const auto& place : places) {
    std::printf("%s %lx\n", place.name, reinterpret_cast<unsigned long>(place.function));
  }
  std::fflush(stdout);
}

int fork_child() {
  for (int i = 0; i < 1000; ++i) keep(small_kept());
  const pid_t child = fork();
  if (child == 0) {
    for (void* block : kept) std::free(block);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%d\n", int(child));
  return status;
}

// Writes the profile in a signal handler, while the program allocates. Prints how often that
// worked.
int output = -1;
volatile sig_atomic_t written = 0, busy = 0, failed = 0;

void write_in_handler(int) {
  const int error = corbel_heap_profile_write_fd(output);
  if (error == 0) {
    written = written + 1;
    if (ftruncate(output, 0) == 0) lseek(output, 0, SEEK_SET);
  } else if (error == EBUSY) {
    busy = busy + 1;
  } else {
    failed = failed + 1;
  }
}

int write_in_signals(const char* path) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return 1;
  output = fileno(file);
  struct sigaction action{};
  action.sa_handler = write_in_handler;
  sigaction(SIGUSR1, &action, nullptr);
  corbel_heap_profile_start(64);
  for (int i = 0; i < 50000; ++i) std::free(small_freed());
  const pthread_t self = pthread_self();
  pthread_t thread;
  // Signals this thread until it has written 200 profiles.
  static pthread_t target;
  target = self;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        while (written < 200 && failed == 0) {
          pthread_kill(target, SIGUSR1);
          usleep(200);
        }
        return nullptr;
      },
      nullptr);
  while (written < 200 && failed == 0) {
    for (int i = 0; i < 100; ++i) std::free(small_freed());
    std::free(medium_kept());
  }
  pthread_join(thread, nullptr);
  std::printf("%d %d %d\n", int(written), int(busy), int(failed));
  std::fclose(file);
  return corbel_heap_profile_write(path);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "all") {
    print_places();
    allocate_all();
    return 0;
  }
  if (what == "live") {
    print_places();
    live();
    return 0;
  }
  if (what == "fork") return fork_child();
  if (what == "exec") {
    keep(small_kept());
    return execl(arguments[0], arguments[0], "exit", "4", static_cast<char*>(nullptr));
  }
  if (what == "daemon") return chdir("/");
  if (what == "exit") return std::atoi(arguments[2]);
  if (what == "signals") return write_in_signals(arguments[2]);
  std::fprintf(stderr, "profiled: unknown mode\n");
  return 2;
}
