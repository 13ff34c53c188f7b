// SPDX-License-Identifier: Apache-2.0
// The signals of the profiler (sampling.hpp), and what raises them. System calls by number, because
// the C library's functions are cancellation points, and the program may interpose them.
#include "os/sampling.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "arch/arch.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/linux/thread_list.hpp"
#include "os/linux/urgent_signal.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

// Set by start_samples(), before any other thread looks.
constinit int sample_signal = 0;
constinit SampleClock sample_clock = SampleClock::kCpu;
constinit std::uint64_t sample_period = 0;
// relaxed: the kernel orders the store before any signal that the handler takes
constinit std::atomic<void (*)(const SampleSignal&)> sample_handler{nullptr};

// ---- what a signal says -------------------------------------------------------------------------
// A signal of a timer has a value: the mark, the number, and the kind. One of a performance counter
// has the number of the counter's file. The table has the rest for it.

constexpr unsigned kKindBits = 2;
constexpr std::uint64_t kMark = std::uint64_t(0xc0bf) << 48;
static_assert((std::uint64_t(kMaxSampleNumber) << kKindBits) < (std::uint64_t(1) << 48));

void* value_of(SampleKind kind, std::uint32_t number) {
  return reinterpret_cast<void*>(kMark | std::uint64_t(number) << kKindBits | unsigned(kind));
}

// For each file of the profiler, value_of() what it counts; 0: none. relaxed throughout: the kernel
// orders a store before any signal of the counter that is enabled after it
constexpr int kMaxFile = 1 << 16;
constinit std::atomic<std::uint64_t>* files = nullptr;

bool decode(const siginfo_t& info, SampleSignal* signal) {
  std::uint64_t value = 0;
  if (info.si_code == SI_TIMER) {
    value = reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr);
  } else if (info.si_code >= POLL_IN && info.si_code <= POLL_HUP && files != nullptr) {
    const int file = info.si_fd;
    if (file >= 0 && file < kMaxFile) value = files[file].load(std::memory_order_relaxed);
  }
  if (value >> 48 != kMark >> 48) return false;
  signal->kind = SampleKind(value & ((1U << kKindBits) - 1));
  signal->number = std::uint32_t(value >> kKindBits) % kMaxSampleNumber;
  return true;
}

bool take(const siginfo_t& info, const void* context) {
  SampleSignal signal{};
  if (!decode(info, &signal)) return false;
  signal.context = context;
  const auto handler = sample_handler.load(std::memory_order_relaxed);
  if (handler != nullptr) handler(signal);
  return true;
}

void on_profiling_signal(int, siginfo_t* info, void* context) {
  ErrnoGuard guard;
  take(*info, context);
}

bool install_profiling_handler() {
  struct sigaction action{};
  if (sigaction(SIGPROF, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return false;
  action.sa_sigaction = on_profiling_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    sigdelset(&action.sa_mask, signal);
  }
  return sigaction(SIGPROF, &action, nullptr) == 0;
}

bool use_urgent_signal() {
  if (!install_urgent_handler()) return false;
  sample_signal = SIGURG;
  take_sample.store(take, std::memory_order_relaxed);  // relaxed: as sample_handler
  return true;
}

// ---- counters -----------------------------------------------------------------------------------

// Counts in the kernel, too: a system call belongs to the stack that makes it.
int open_counter(pid_t thread, unsigned long long what, std::uint64_t period) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = what;
  attributes.sample_period = period;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  return int(syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool may_count() {
  const int file = open_counter(0, PERF_COUNT_SW_TASK_CLOCK, 1000000);
  if (file < 0) return false;
  syscall(SYS_close, file);
  return true;
}

void close_counter(int* file) {
  if (*file < 0) return;
  syscall(SYS_close, *file);
  files[*file].store(0, std::memory_order_relaxed);
  *file = -1;
}

// Counters have the files below this. Some are left for what the profiler reads in /proc.
int end_of_files() {
  constexpr rlim_t kSpareFiles = 8;
  rlimit limit{};
  if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return 0;
  if (limit.rlim_cur < kSpareFiles) return 0;
  return limit.rlim_cur - kSpareFiles < kMaxFile ? int(limit.rlim_cur - kSpareFiles) : kMaxFile;
}

// Returns -1 if the system refuses.
int start_counter(std::uint32_t thread, unsigned long long what, std::uint64_t period,
                  SampleKind kind, std::uint32_t number) {
  int file = open_counter(pid_t(thread), what, period);
  if (file < 0) return -1;
  const f_owner_ex owner{F_OWNER_TID, pid_t(thread)};
  if (file < end_of_files()) {
    files[file].store(reinterpret_cast<std::uintptr_t>(value_of(kind, number)),
                      std::memory_order_relaxed);
    if (syscall(SYS_fcntl, file, F_SETOWN_EX, &owner) == 0 &&
        syscall(SYS_fcntl, file, F_SETSIG, sample_signal) == 0 &&
        syscall(SYS_fcntl, file, F_SETFL, O_ASYNC) == 0 &&
        syscall(SYS_ioctl, file, PERF_EVENT_IOC_ENABLE, 0) == 0) {
      return file;
    }
    close_counter(&file);
    return -1;
  }
  syscall(SYS_close, file);
  return -1;
}

// ---- clocks -------------------------------------------------------------------------------------

// The clock of a thread's time on a processor: the kernel's encoding (its posix-timers.h).
clockid_t clock_of(std::uint32_t thread) {
  constexpr unsigned kPerThread = 4;
  constexpr unsigned kScheduled = 2;
  return clockid_t(~thread << 3 | kPerThread | kScheduled);
}

std::uint64_t read_clock(clockid_t clock) {
  ErrnoGuard guard;
  timespec time{};
  if (syscall(SYS_clock_gettime, clock, &time) != 0) return 0;
  return std::uint64_t(time.tv_sec) * 1000000000 + std::uint64_t(time.tv_nsec);
}

int start_timer(std::uint32_t thread, std::uint32_t number) {
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = sample_signal;
  event.sigev_value.sival_ptr = value_of(SampleKind::kTime, number);
#if defined(sigev_notify_thread_id)
  event.sigev_notify_thread_id = pid_t(thread);
#else
  event._sigev_un._tid = pid_t(thread);
#endif
  int timer = -1;
  if (syscall(SYS_timer_create, clock_of(thread), &event, &timer) != 0) return -1;
  const timespec period{time_t(sample_period / 1000000000), long(sample_period % 1000000000)};
  const itimerspec setting{period, period};
  if (syscall(SYS_timer_settime, timer, 0, &setting, nullptr) == 0) return timer;
  syscall(SYS_timer_delete, timer);
  return -1;
}

}  // namespace

// ---- the interface ------------------------------------------------------------------------------

SampleStart start_samples(SampleClock clock, std::uint64_t period_ns,
                          void (*handler)(const SampleSignal&)) {
  ErrnoGuard guard;
  sample_clock = clock;
  sample_period = period_ns;
  sample_handler.store(handler, std::memory_order_relaxed);
  if (clock == SampleClock::kCpu) {
    if (read_clock(clock_of(thread_id())) == 0) return SampleStart::kRefused;
    if (use_urgent_signal()) return SampleStart::kDone;
    sample_signal = SIGPROF;
    return install_profiling_handler() ? SampleStart::kDone : SampleStart::kTaken;
  }
  if (!may_count()) return SampleStart::kRefused;
  if (files == nullptr) {
    void* const memory = map(kMaxFile * sizeof *files, 1 << 16, nullptr);
    if (memory == nullptr) return SampleStart::kRefused;
    files = static_cast<std::atomic<std::uint64_t>*>(memory);
  }
  return use_urgent_signal() ? SampleStart::kDone : SampleStart::kTaken;
}

int signal_of_samples() { return sample_signal; }
bool samples_use_urgent_signal() { return sample_signal == SIGURG; }
const char* name_of_samples() { return samples_use_urgent_signal() ? "SIGURG" : "SIGPROF"; }

bool samples_are_lost() {
  ErrnoGuard guard;
  if (samples_use_urgent_signal()) return !has_urgent_handler();
  struct sigaction now{};
  return sigaction(sample_signal, nullptr, &now) == 0 &&
         ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != on_profiling_signal);
}

bool SampleTimer::start(std::uint32_t thread, std::uint32_t number) {
  ErrnoGuard guard;
  if (sample_clock == SampleClock::kPerf && has_own_files()) {
    time_file_ =
        start_counter(thread, PERF_COUNT_SW_TASK_CLOCK, sample_period, SampleKind::kTime, number);
    if (time_file_ >= 0) {
      fault_file_ = start_counter(thread, PERF_COUNT_SW_PAGE_FAULTS, kFaultsPerSample,
                                  SampleKind::kFaults, number);
      return true;
    }
  }
  // Also for a thread beyond the limit of open files.
  timer_ = start_timer(thread, number);
  return timer_ >= 0;
}

void SampleTimer::stop() {
  ErrnoGuard guard;
  close_counter(&time_file_);
  close_counter(&fault_file_);
  if (timer_ >= 0) syscall(SYS_timer_delete, timer_);
  timer_ = -1;
}

void SampleTimer::change_period(std::uint64_t period_ns) {
  ErrnoGuard guard;
  if (time_file_ >= 0) syscall(SYS_ioctl, time_file_, PERF_EVENT_IOC_PERIOD, &period_ns);
}

bool interrupt_wait(std::uint32_t thread, std::uint32_t number) {
  ErrnoGuard guard;
  siginfo_t info{};
  info.si_signo = sample_signal;
  // As if a timer had sent it: the kernel discards such signals in execve().
  info.si_code = SI_TIMER;
  info.si_value.sival_ptr = value_of(SampleKind::kWait, number);
  return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, sample_signal, &info) == 0;
}

std::uint64_t thread_time_ns(std::uint32_t thread) { return read_clock(clock_of(thread)); }
std::uint64_t own_time_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::uint64_t process_time_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t own_faults() {
  ErrnoGuard guard;
  rusage usage{};
  syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
  return std::uint64_t(usage.ru_minflt) + std::uint64_t(usage.ru_majflt);
}

// ---- what a signal has interrupted --------------------------------------------------------------
// Before it runs a handler, the kernel sets a system call that is to go on back to its instruction,
// with its arguments in their registers.

namespace {

bool is_endless_wait(std::uintptr_t operation, std::uintptr_t timeout) {
  const auto command = unsigned(operation) & unsigned(FUTEX_CMD_MASK);
  return timeout == 0 &&
         (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI);
}

}  // namespace

bool is_system_call(const unsigned char* code) {
#if defined(__x86_64__)
  constexpr unsigned char kCall[kSystemCallSize] = {0x0f, 0x05};  // syscall
#else
  constexpr unsigned char kCall[kSystemCallSize] = {0x01, 0x00, 0x00, 0xd4};  // svc #0
#endif
  return memcmp(code, kCall, kSystemCallSize) == 0;
}

bool was_waiting(const void* context, ThreadWait* wait) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto at = [&](int index) { return std::uintptr_t(machine.gregs[index]); };
  const std::uintptr_t number = at(REG_RAX);
  const std::uintptr_t arguments[] = {at(REG_RDI), at(REG_RSI), at(REG_RDX), at(REG_R10)};
  const std::uintptr_t pc = at(REG_RIP);
  wait->stack = at(REG_RSP);
#else
  const std::uintptr_t number = machine.regs[8];
  const std::uintptr_t arguments[] = {machine.regs[0], machine.regs[1], machine.regs[2],
                                      machine.regs[3]};
  const std::uintptr_t pc = machine.pc;
  wait->stack = machine.sp;
#endif
  unsigned char code[kSystemCallSize];
  if (number != SYS_futex || !is_endless_wait(arguments[1], arguments[3]) ||
      !copy_memory(code, pc, sizeof code) || !is_system_call(code)) {
    return false;
  }
  wait->address = arguments[0];
  return true;
}

}  // namespace corbel::os
