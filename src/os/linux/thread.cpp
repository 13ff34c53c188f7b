// SPDX-License-Identifier: Apache-2.0
// Futexes, the coarse clock, starting threads, and the hooks for thread exit and fork.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "arch/arch.hpp"
#include "base/bits.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/linux/unshare_files.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout = nullptr) {
  ErrnoGuard guard;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value,
          timeout, nullptr, 0);
}

}  // namespace

void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  futex(word, FUTEX_WAIT, expected);
}

void wake_one(std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, 1); }

void wake_all(std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX); }

void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t ms) {
  const timespec timeout{time_t(ms / 1000), long(ms % 1000) * 1000000};
  futex(word, FUTEX_WAIT, expected, &timeout);
}

void yield() { sched_yield(); }

std::uint64_t now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::uint64_t(t.tv_sec) * 1000 + std::uint64_t(t.tv_nsec) / 1000000;
}

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::uint64_t(t.tv_sec) * 1'000'000'000 + std::uint64_t(t.tv_nsec);
}

// A thread that loses the race deletes its key. It must not wait for the winner, which does not
// exist in the child of a fork.
bool ThreadExit::hook(void* argument) {
  ErrnoGuard guard;
  // (2) acquire: sees what the system stored for the key before (1)
  std::uint32_t key = key_.load(std::memory_order_acquire);
  if (key == 0) {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, on_exit_) != 0) return false;
    // (1) release: publishes what the system stored for the key to (2) and (3);
    // (3) acquire on failure: sees it for the other thread's key
    if (key_.compare_exchange_strong(key, made + 1, std::memory_order_release,
                                     std::memory_order_acquire)) {
      key = made + 1;
    } else {
      pthread_key_delete(made);
    }
  }
  return pthread_setspecific(key - 1, argument) == 0;
}

namespace {

struct OwnThread {
  const char* name;
  void (*run)();
  pthread_t thread;
  pid_t process;
};
constinit OwnThread own_thread{};
// Its thread_id(). relaxed: a hint
constinit std::atomic<std::uint32_t> own_thread_id{0};

// The creating thread may be bound to a single processor; the new thread must not inherit that.
void use_processors_of_main_thread() {
  unsigned long processors[1024 / sizeof(long)];
  const long size = syscall(SYS_sched_getaffinity, getpid(), sizeof processors, processors);
  if (size > 0) syscall(SYS_sched_setaffinity, 0, size, processors);
}

void* run_own_thread(void*) {
  prctl(PR_SET_NAME, own_thread.name);
  own_thread_id.store(thread_id(), std::memory_order_relaxed);
  // With a file table of its own, the thread never uses a descriptor that the program could close
  // or expects for its next file. Where the system cannot do that, the thread opens files in the
  // program's table, one at a time and briefly.
  unshare_files();
  use_processors_of_main_thread();
  own_thread.run();
  return nullptr;
}

int make_thread(const pthread_attr_t* attributes) {
  return pthread_create(&own_thread.thread, attributes, run_own_thread, nullptr);
}

// The creating thread may have real-time priority; the new thread must not inherit it.
void set_ordinary_priority(pthread_attr_t* attributes) {
  const int policy = sched_getscheduler(0);
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;
  const sched_param ordinary{};
  pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(attributes, SCHED_OTHER);
  pthread_attr_setschedparam(attributes, &ordinary);
}

}  // namespace

namespace {

// Blocks signals while a thread is created, because a new thread inherits the mask: the program's
// signals are for its own threads. The C library never blocks the signals that it needs itself. The
// signals that a thread's own faults raise stay unblocked: blocked, they end the process, and the
// program may have a handler that repairs the cause.
class SignalsForTheProgram {
 public:
  SignalsForTheProgram() {
    sigset_t all;
    sigfillset(&all);
    for (const int signal : {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
      sigdelset(&all, signal);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsForTheProgram() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsForTheProgram(const SignalsForTheProgram&) = delete;
  SignalsForTheProgram& operator=(const SignalsForTheProgram&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool start_thread(const char* name, void (*run)()) {
  ErrnoGuard guard;
  own_thread.name = name;
  own_thread.run = run;
  own_thread.process = getpid();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  set_ordinary_priority(&attributes);
  const SignalsForTheProgram blocked;
  constexpr std::size_t kStackSize = 256 << 10;
  pthread_attr_setstacksize(&attributes, kStackSize);
  int error = make_thread(&attributes);
  // The program's thread-local variables may need a larger stack.
  if (error == EINVAL) {
    pthread_attr_setstacksize(&attributes, 16 * kStackSize);
    error = make_thread(&attributes);
  }
  pthread_attr_destroy(&attributes);
  return error == 0;
}

bool is_own_thread(std::uint32_t thread) {
  return thread == own_thread_id.load(std::memory_order_relaxed);
}

void join_thread() {
  // A child of a fork that ran no fork handlers does not have the thread.
  if (own_thread.process != getpid()) return;
  ErrnoGuard guard;
  pthread_join(own_thread.thread, nullptr);
}

bool start_detached(std::size_t stack_size, void* (*run)(void*), void* argument,
                    TakesSignals signals) {
  ErrnoGuard guard;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if !defined(__GLIBC__)
  if (stack_size == 0) stack_size = default_stack_size();
#endif
  if (stack_size != 0) pthread_attr_setstacksize(&attributes, stack_size);
  std::optional<SignalsForTheProgram> blocked;
  if (signals == TakesSignals::kNone) blocked.emplace();
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

// The new thread gets zeroed thread-local variables of its own, as far from its thread pointer as
// those of the C library and of Corbel lie, and on the pointer's other side room for what the C
// library keeps there.
bool start_unlisted(std::size_t stack_size, int (*run)(void*)) {
  ErrnoGuard guard;
  static thread_local constinit char own_variable = 0;
  constexpr std::size_t kGrain = 64 << 10;  // of map(); more than the variables of one library take
  const std::uintptr_t pointer = arch::thread_pointer();
  const auto distance = [pointer](const void* variable) {
    const std::uintptr_t at = address_of(variable);
    return arch::kThreadVariablesLieBelow ? pointer - at : at - pointer;
  };
  const std::size_t variables =
      align_up(std::max(distance(&errno), distance(&own_variable)) + kGrain, kGrain);
  stack_size = align_up(stack_size, kGrain);
  const std::size_t size = stack_size + variables + kGrain;
  void* const memory = map(size, kGrain, nullptr);
  if (memory == nullptr) return false;
  char* const stack_end = static_cast<char*>(memory) + stack_size;
  char* const area = stack_end + (arch::kThreadVariablesLieBelow ? variables : kGrain);
  arch::make_thread_area(area);
  const SignalsForTheProgram blocked;
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_SETTLS;
  if (clone(run, stack_end, kFlags, nullptr, nullptr, area, nullptr) != -1) return true;
  unmap(memory, size);
  return false;
}

#if !defined(__GLIBC__)
namespace {

// is_main_thread() is also true of the thread that has forked this process.
constinit pthread_t main_thread{};
__attribute__((constructor(101))) void note_main_thread() {
  if (is_main_thread(thread_id())) main_thread = pthread_self();
}

}  // namespace
#endif

StackRange own_stack() {
  ErrnoGuard guard;
  pthread_attr_t attributes;
  // For the main thread the C library reads /proc, which may be missing.
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto address = reinterpret_cast<std::uintptr_t>(low);
  StackRange stack{address, address + size};
#if !defined(__GLIBC__)
  // For the main thread, musl reports only what is mapped so far.
  if (pthread_equal(pthread_self(), main_thread))
    stack.low = std::min(stack.low, stack.high - main_stack_room());
#endif
  return stack;
}

std::size_t default_stack_size() {
  ErrnoGuard guard;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  std::size_t size = 0;
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
#if !defined(__GLIBC__)
  // Of musl that is 128 KiB, too little for programs that were written for glibc. glibc goes by the
  // limit of the main thread's.
  constexpr std::size_t kUnlimited = 8 << 20;
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  size = std::max(size, is_limited ? std::size_t(limit.rlim_cur) : kUnlimited);
#endif
  return size;
}

void name_thread(const char* name) { prctl(PR_SET_NAME, name); }

void at_fork(void (*prepare)(), void (*parent)(), void (*child)()) {
  ErrnoGuard guard;
  // The C library holds a lock meanwhile, for which a fork waits: one of a signal handler that
  // interrupts this thread would never end.
  const SignalsForTheProgram blocked;
  pthread_atfork(prepare, parent, child);
}

}  // namespace corbel::os
