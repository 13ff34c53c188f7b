// SPDX-License-Identifier: Apache-2.0
// Stopping the other threads of the process: a helper process, which shares the memory, traces
// them. The idea is LeakSanitizer's ("LeakSanitizer: Design Document", 2013, "Stopping the world");
// unlike there, the calling thread waits and is not traced, so that a process with one thread needs
// no right to trace, and the threads are seized rather than attached to, which sends them no
// signal (ptrace(2), since Linux 3.4).
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "arch/arch.hpp"
#include "base/address_sanitizer.hpp"
#include "os/linux/all_signals_blocked.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/linux/lines.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

using Kind = StopOutcome::Kind;

struct Tracee {
  pid_t thread;
  std::int16_t signal;  // that it was about to take when it stopped: it takes it when it goes on
  bool has_ended;       // and is listed all the same, as the process's first thread is
};
static_assert(sizeof(Tracee) == 8);  // divides the sizes that are mapped

constexpr std::size_t kStackSize = 256 << 10;
constexpr std::size_t kTraceesSize = 64 << 10;  // grows
constexpr std::uint64_t kPatienceMs = 10000;

// What both processes know. Nothing in the helper process may rely on a thread-local variable: it
// has those of the waiting thread.
struct Job {
  void (*run)(void*, const StoppedThreads&);
  void* context;
  pid_t caller = 0;
  std::uintptr_t caller_stack_pointer = 0;
  long threads_folder = -1;
  char* stack = nullptr;
  Tracee* tracees = nullptr;
  std::size_t count = 0;
  std::size_t capacity = 0;
  std::uint64_t found = 0;     // rises with each thread that is stopped or has ended
  std::uint64_t deadline = 0;  // in ms: to stop the next thread
  std::atomic<std::uint32_t> may_begin{0};
  bool has_run = false;
  StopOutcome outcome;
};

// Of the one call that there may be at a time.
constinit Job* current_job = nullptr;

long trace(long request, pid_t thread, std::uintptr_t address, std::uintptr_t data) {
  return syscall(SYS_ptrace, request, thread, address, data);
}

bool fail(Job* job, Kind kind, std::uint32_t number) {
  job->outcome = {kind, number};
  return false;
}

// ---- in the helper process ----------------------------------------------------------------------

// The first letter of the thread's state, as in /proc/PID/stat; 0 if there is no such thread; '?'
// if the system does not tell.
char state_of(const Job& job, const char* thread) {
  char path[32];
  std::size_t length = strnlen(thread, 16);
  memcpy(path, thread, length);
  memcpy(path + length, "/stat", 6);
  const long file = syscall(SYS_openat, job.threads_folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || errno == ESRCH ? 0 : '?';
  char line[256];
  const long got = syscall(SYS_read, file, line, sizeof line);
  const bool is_gone = got < 0 && errno == ESRCH;
  syscall(SYS_close, file);
  // The name, in parentheses, may have any character.
  for (long i = got - 3; i >= 0; --i) {
    if (line[i] == ')') return line[i + 2];
  }
  return is_gone ? 0 : '?';
}

bool has_ended(const Job& job, const char* thread) {
  const char state = state_of(job, thread);
  return state == 0 || state == 'Z' || state == 'X';
}

bool add(Job* job, Tracee tracee) {
  if (job->count == job->capacity) {
    const std::size_t size = job->capacity * sizeof(Tracee);
    auto* more = static_cast<Tracee*>(map(2 * size, 64 << 10, nullptr));
    if (more == nullptr) return fail(job, Kind::kNoProcess, ENOMEM);
    memcpy(more, job->tracees, size);
    unmap(job->tracees, size);
    job->tracees = more;
    job->capacity *= 2;
  }
  job->tracees[job->count++] = tracee;
  return true;
}

// Waits until the seized thread has stopped. `*status` is 0 if it has ended instead. False if it
// does neither for too long.
bool wait_for_stop(const Job& job, pid_t thread, const char* name, int* status) {
  for (unsigned round = 0;; ++round) {
    *status = 0;
    const long got = syscall(SYS_wait4, thread, status, __WALL | WNOHANG, nullptr);
    if (got == thread && WIFSTOPPED(*status)) return true;
    if (got != 0) {
      *status = 0;
      return true;
    }
    if (round < 100) {
      yield();
      continue;
    }
    // The system reports no end of the process's first thread while there are others.
    if (has_ended(job, name)) return true;
    if (now_ms() > job.deadline) return false;
    const timespec pause{0, 1000000};
    syscall(SYS_nanosleep, &pause, nullptr);
  }
}

bool is_noted(const Job& job, pid_t thread, bool has_ended) {
  for (std::size_t i = 0; i < job.count; ++i) {
    const Tracee& tracee = job.tracees[i];
    if (tracee.thread == thread && tracee.has_ended == has_ended) return true;
  }
  return false;
}

bool note_end(Job* job, pid_t thread, const char* name) {
  if (is_noted(*job, thread, true)) return true;
  ++job->found;
  // It may be listed again.
  return state_of(*job, name) == 'Z' ? add(job, {thread, 0, true}) : true;
}

// Stops a thread, or notes that it has ended. False if that is impossible: then the outcome is set.
bool stop(Job* job, pid_t thread, const char* name) {
  if (thread == job->caller || is_noted(*job, thread, false)) return true;
  if (trace(PTRACE_SEIZE, thread, 0, 0) != 0) {
    const int error = errno;
    return error == ESRCH || has_ended(*job, name)
               ? note_end(job, thread, name)
               : fail(job, Kind::kForbidden, std::uint32_t(error));
  }
  trace(PTRACE_INTERRUPT, thread, 0, 0);
  int status;
  if (!wait_for_stop(*job, thread, name, &status)) {
    return fail(job, Kind::kRestless, std::uint32_t(thread));
  }
  if (status == 0) return note_end(job, thread, name);
  ++job->found;
  job->deadline = now_ms() + kPatienceMs;
  // Before the interruption, the thread may have stopped because a signal is due: a stop as good.
  const bool by_event = status >> 16 != 0;
  return add(job, {thread, std::int16_t(by_event ? 0 : WSTOPSIG(status)), false});
}

struct FolderEntry {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[];
};

pid_t number_of(const char* name) {
  pid_t n = 0;
  for (; *name >= '0' && *name <= '9'; ++name) n = n * 10 + (*name - '0');
  return *name == '\0' ? n : 0;
}

// Calls `each(thread, name)` for the threads that the system lists, until it returns false.
template <class Each>
bool list_threads(const Job& job, Each each) {
  alignas(FolderEntry) char entries[4096];
  syscall(SYS_lseek, job.threads_folder, 0, SEEK_SET);
  for (;;) {
    const long got = syscall(SYS_getdents64, job.threads_folder, entries, sizeof entries);
    if (got <= 0) return true;
    for (long at = 0; at < got;) {
      auto* entry = reinterpret_cast<FolderEntry*>(entries + at);
      at += entry->length;
      const pid_t thread = number_of(entry->name);
      if (thread != 0 && !each(thread, static_cast<const char*>(entry->name))) return false;
    }
  }
}

// A thread that is listed and ends before it can be stopped may have made another, which is not in
// the list; and one that ends while the system lists them may cut the list short. So this lists
// them until two lists in a row have nothing new, not even a thread that has ended. That both are
// cut short by a thread that they do not show is next to impossible.
bool stop_all(Job* job) {
  job->deadline = now_ms() + kPatienceMs;
  for (int quiet = 0; quiet < 2;) {
    const std::uint64_t before = job->found;
    pid_t last = 0;  // that was found
    const bool stopped = list_threads(*job, [&](pid_t thread, const char* name) {
      const std::uint64_t found = job->found;
      const bool may_go_on = stop(job, thread, name);
      if (job->found != found) last = thread;
      return may_go_on;
    });
    if (!stopped) return false;
    quiet = job->found == before ? quiet + 1 : 0;
    if (quiet == 0 && now_ms() > job->deadline) {
      return fail(job, Kind::kRestless, std::uint32_t(last));
    }
  }
  return true;
}

void let_go(const Job& job) {
  for (std::size_t i = 0; i < job.count; ++i) {
    const Tracee& tracee = job.tracees[i];
    if (tracee.has_ended) continue;
    trace(PTRACE_DETACH, tracee.thread, 0, std::uintptr_t(tracee.signal));
  }
}

[[noreturn]] void leave() {
  for (;;) syscall(SYS_exit, 0);
}

// The threads go on when the process that traces them ends.
void report_crash(int signal) {
  current_job->outcome = {Kind::kCrashed, std::uint32_t(signal)};
  leave();
}

// A crash of `run` must not end the program, nor leave a core dump of it. The process has signal
// handlers of its own.
void catch_crashes() {
  struct sigaction action{};
  action.sa_handler = report_crash;
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&mask, signal);
  }
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, nullptr, _NSIG / 8);
}

int help(void* argument) {
  Job* job = static_cast<Job*>(argument);
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  catch_crashes();
  // (2) acquire: with (1)
  while (job->may_begin.load(std::memory_order_acquire) == 0) wait(job->may_begin, 0);
  if (stop_all(job)) {
    job->has_run = true;
    job->run(job->context, StoppedThreads());
    job->outcome = {};
  }
  let_go(*job);
  leave();
}

// ---- in the calling thread ----------------------------------------------------------------------

// A process that has protected itself from tracers cannot be traced by its helper either.
class Dumpable {
 public:
  Dumpable() : before_(prctl(PR_GET_DUMPABLE)) {
    if (before_ == 0) prctl(PR_SET_DUMPABLE, 1);
  }
  ~Dumpable() {
    if (before_ == 0) prctl(PR_SET_DUMPABLE, 0);
  }
  Dumpable(const Dumpable&) = delete;
  Dumpable& operator=(const Dumpable&) = delete;

 private:
  int before_;
};

// The process that traces the calling thread; 0 if there is none.
std::uint32_t tracer() {
  Lines status("/proc/thread-self/status");
  char line[128];
  constexpr char kField[] = "TracerPid:\t";
  while (status.next(line, sizeof line)) {
    if (strncmp(line, kField, sizeof kField - 1) == 0) {
      return std::uint32_t(number_of(line + sizeof kField - 1));
    }
  }
  return 0;
}

bool prepare(Job* job) {
  job->threads_folder =
      syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (job->threads_folder < 0) return fail(job, Kind::kNoList, 0);
  // Where /proc belongs to another PID namespace, its numbers mean other threads here.
  const bool is_elsewhere =
      list_threads(*job, [&](pid_t thread, const char*) { return thread != job->caller; });
  if (is_elsewhere) return fail(job, Kind::kNoList, 0);
  job->stack = static_cast<char*>(map(kStackSize, 64 << 10, nullptr));
  job->tracees = static_cast<Tracee*>(map(kTraceesSize, 64 << 10, nullptr));
  job->capacity = kTraceesSize / sizeof(Tracee);
  return job->stack != nullptr && job->tracees != nullptr ? true
                                                          : fail(job, Kind::kNoProcess, ENOMEM);
}

void run_helper(Job* job) {
  // The helper process begins with the same mask.
  const AllSignalsBlocked blocked;
  const Dumpable dumpable;
  job->outcome = {Kind::kCrashed, SIGKILL};  // unless the helper process says otherwise
  // No signal at its end, so that the program's handlers and waits do not see it; and a debugger
  // that follows children does not follow this one.
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
  const pid_t helper = clone(help, job->stack + kStackSize, kFlags, job);
  if (helper < 0) {
    fail(job, Kind::kNoProcess, std::uint32_t(errno));
    return;
  }
  // Without this, the security module Yama lets only a process's ancestors trace it.
  prctl(PR_SET_PTRACER, helper, 0, 0, 0);
  // (1) release: with (2), which then finds the process allowed to trace
  job->may_begin.store(1, std::memory_order_release);
  wake_all(job->may_begin);
  // If the program waits for all of its children, it may have taken the end of this one.
  while (syscall(SYS_wait4, helper, nullptr, __WALL, nullptr) < 0 && errno == EINTR) {
  }
  prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

__attribute__((noinline)) StopOutcome do_job(Job* job) {
  job->caller_stack_pointer = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  job->caller = pid_t(thread_id());
  current_job = job;
  if (prepare(job)) run_helper(job);
  if (job->outcome.kind == Kind::kForbidden) {
    if (const std::uint32_t by = tracer(); by != 0) job->outcome = {Kind::kTraced, by};
  }
  if (job->threads_folder >= 0) syscall(SYS_close, job->threads_folder);
  if (job->stack != nullptr) {
    asan_clear_stack(job->stack, kStackSize);
    unmap(job->stack, kStackSize);
  }
  if (job->tracees != nullptr) unmap(job->tracees, job->capacity * sizeof(Tracee));
  return job->outcome;
}

}  // namespace

void StoppedThreads::for_each(void (*visit)(void*, const StoppedThread&), void* context) const {
  const Job& job = *current_job;
  visit(context, {std::uint32_t(job.caller), job.caller_stack_pointer, nullptr, 0});
  // General registers; then the vector registers in the form of XSAVE, whose size depends on the
  // processor, or else in the form that every kernel knows.
  std::uintptr_t words[2048];
  for (std::size_t i = 0; i < job.count; ++i) {
    if (job.tracees[i].has_ended) continue;
    iovec general{words, 512};
    const pid_t thread = job.tracees[i].thread;
    // It has been killed, with the whole process.
    if (trace(PTRACE_GETREGSET, thread, NT_PRSTATUS, reinterpret_cast<std::uintptr_t>(&general)) !=
        0) {
      continue;
    }
    std::size_t count = general.iov_len / sizeof(words[0]);
    for (const int kind : {NT_X86_XSTATE, NT_PRFPREG}) {
      iovec vectors{words + count, sizeof words - general.iov_len};
      if (trace(PTRACE_GETREGSET, thread, std::uintptr_t(kind),
                reinterpret_cast<std::uintptr_t>(&vectors)) != 0) {
        continue;
      }
      count += vectors.iov_len / sizeof(words[0]);
      break;
    }
    visit(context, {std::uint32_t(thread), words[arch::kStackPointerWord], words, count});
  }
}

StackRange StoppedThreads::scratch_stack() const {
  const auto low = reinterpret_cast<std::uintptr_t>(current_job->stack);
  return {low, low + kStackSize};
}

StopOutcome with_threads_stopped(void (*run)(void*, const StoppedThreads&), void* context) {
  ErrnoGuard guard;
  Job job;
  job.run = run;
  job.context = context;
  // Saves the registers that a call keeps in this frame, above the stack pointer that is recorded.
  __builtin_unwind_init();
  const StopOutcome outcome = do_job(&job);
  asm volatile("" ::: "memory");  // no tail call, which would give the frame up
  return outcome;
}

}  // namespace corbel::os
