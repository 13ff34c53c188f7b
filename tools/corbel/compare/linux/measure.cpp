// SPDX-License-Identifier: Apache-2.0
// Runs a command once and measures it.
//
// ru_maxrss has two faults. It includes the peak that the process had before exec, so a small
// program started by a big one shows the big one's (after vfork, which posix_spawn uses, the whole
// memory of the parent). Since Linux 6.2 it comes from counters that may be off by some hundred
// KiB. Two measures keep the peak right:
// - The child is made by fork. Before exec it drops every page that can be read again from a file
//   and resets its peak (/proc/self/clear_refs). The remaining floor is about half a MiB.
// - The command is traced for its exit only. It stops there once, while the exact peak (VmHWM in
//   /proc/PID/status) can still be read. Where tracing is forbidden, and for the children of the
//   command, ru_maxrss is used.
#include "compare/measure.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace corbel::cli {
namespace {

// Written by the child until exec, read by the parent afterwards. In shared memory, because exec
// discards the child's own.
struct Start {
  timespec when;
  rusage usage;
  std::uint64_t rss;
  int error;
};

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time);
}

struct Load {
  double busy = 0, steal = 0;  // seconds since boot
};

// The load so far of the processors that this process may use; zero without /proc/stat.
Load machine_load() {
  Load load;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return load;
  const auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line) && line.rfind("cpu", 0) == 0;) {
    unsigned number = 0;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0,
                       steal = 0;
    if (std::sscanf(line.c_str(), "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &number, &user,
                    &nice, &system, &idle, &wait, &irq, &soft, &steal) < 5 ||
        number >= CPU_SETSIZE || !CPU_ISSET(number, &allowed)) {
      continue;
    }
    load.busy += static_cast<double>(user + nice + system + irq + soft) / tick;
    load.steal += static_cast<double>(steal) / tick;
  }
  return load;
}

// Mappings that the child drops between fork and exec, where they would count in the command's
// peak: those that can be read again from their file. A page that was written to cannot (the loader
// writes some to resolve addresses).
struct Dispensable {
  struct Range {
    std::uint64_t start, size;
  };
  Range ranges[64];
  std::size_t count = 0;
};

Dispensable find_dispensable() {
  Dispensable list;
  std::ifstream maps("/proc/self/smaps");
  Dispensable::Range range{};
  bool from_file = false;
  for (std::string line; std::getline(maps, line) && list.count < std::size(list.ranges);) {
    unsigned long low = 0, high = 0;
    unsigned long anonymous = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &low, &high, rights) == 3) {
      range = {low, high - low};
      from_file = rights[3] == 'p' && line.find(" /") != std::string::npos;
    } else if (from_file && std::sscanf(line.c_str(), "Anonymous: %lu", &anonymous) == 1 &&
               anonymous == 0) {
      list.ranges[list.count++] = range;
    }
  }
  return list;
}

struct Prepared {
  const RunRequest* request;
  char* const* arguments;
  char* const* environment;
  const Dispensable* dispensable;
  std::uint64_t page_size;
  Start* start;
  int go;  // read end of a pipe: closed by the parent once it traces the child
};

// The child, from fork to exec. It uses raw system calls only: any other function of the C library
// would fault its surroundings in again, 64 KiB at a time.
[[noreturn]] void become(const Prepared& prepared) {
  Start* start = prepared.start;
  char ignored;
  syscall(SYS_read, prepared.go, &ignored, 1);
  if (prepared.request->supervised) {
    syscall(SYS_setsid);
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  }
  if (prepared.request->output >= 0) syscall(SYS_dup3, prepared.request->output, 1, 0);
  if (prepared.request->errors >= 0) syscall(SYS_dup3, prepared.request->errors, 2, 0);
  for (std::size_t i = 0; i < prepared.dispensable->count; ++i) {
    const Dispensable::Range& range = prepared.dispensable->ranges[i];
    syscall(SYS_madvise, range.start, range.size, MADV_DONTNEED);
  }
  // A kernel that cannot reset the peak only leaves a higher floor.
  if (const long refs =
          syscall(SYS_openat, AT_FDCWD, "/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
      refs >= 0) {
    syscall(SYS_write, refs, "5", 1);
  }
  if (const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
      file >= 0) {
    char text[128];
    const long length = syscall(SYS_read, file, text, sizeof(text));
    long at = 0;
    while (at < length && text[at] != ' ') ++at;
    std::uint64_t pages = 0;
    for (++at; at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
      pages = pages * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    start->rss = pages * prepared.page_size;
  }
  syscall(SYS_getrusage, RUSAGE_SELF, &start->usage);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &start->when);
  syscall(SYS_execve, prepared.request->path.c_str(), prepared.arguments, prepared.environment);
  start->error = errno;
  syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

Start* shared_start() {
  static Start* const page = [] {
    void* map =
        mmap(nullptr, sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? nullptr : static_cast<Start*>(map);
  }();
  return page;
}

// The exact peak of a process that still exists; 0 when it cannot be read.
std::uint64_t peak_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lu", &kib) == 1) return std::uint64_t{kib} * 1024;
  }
  return 0;
}

constexpr double kGraceSeconds = 2;
constexpr suseconds_t kTickMicroseconds = 50000;

volatile sig_atomic_t stop_requested = 0;

// A signal may arrive just before wait4 blocks. The repeated alarm interrupts wait4 all the same.
void start_timer(double first) {
  itimerval timer{};
  timer.it_interval.tv_usec = kTickMicroseconds;
  timer.it_value.tv_sec = static_cast<time_t>(first);
  timer.it_value.tv_usec = std::max<suseconds_t>(
      1, static_cast<suseconds_t>((first - static_cast<double>(timer.it_value.tv_sec)) * 1e6));
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void on_signal(int number) {
  if (number == SIGALRM) return;
  stop_requested = 1;
  start_timer(0);
}

// Ends the process group of a supervised command on request or at its timeout.
class Supervisor {
 public:
  explicit Supervisor(const RunRequest& request) : active_(request.supervised) {
    if (!active_) return;
    struct sigaction action{};
    action.sa_handler = on_signal;  // exec resets it in the child
    for (const int signal : {SIGALRM, SIGTERM, SIGINT, SIGHUP}) {
      sigaction(signal, &action, nullptr);
    }
    if (request.timeout > 0) {
      deadline_ = now() + request.timeout;
      start_timer(request.timeout);
    }
  }

  // After each interruption of the wait for `child`.
  void check(pid_t child) {
    if (!active_) return;
    const double time = now();
    if (kill_at_ == 0) {
      if (stop_requested == 0 && (deadline_ == 0 || time < deadline_)) return;
      timed_out_ = stop_requested == 0;
      kill_at_ = time + kGraceSeconds;
      kill(-child, SIGTERM);
    } else if (time >= kill_at_) {
      kill(-child, SIGKILL);
    }
  }

  // Once `child` has ended: kills what is left of the group of a command that was stopped.
  void finish(pid_t child) {
    if (kill_at_ != 0) kill(-child, SIGKILL);
    if (active_) stop_timer();
  }

  bool timed_out() const { return timed_out_; }

 private:
  static void stop_timer() {
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
  }

  const bool active_;
  bool timed_out_ = false;
  double deadline_ = 0, kill_at_ = 0;
};

// Waits until `child` has ended, and lets every signal and stop through as if it were not traced.
// Returns its exact peak, or 0.
std::uint64_t wait_for(pid_t child, Supervisor& supervisor, int& status, rusage& usage) {
  std::uint64_t peak = 0;
  for (;;) {
    const pid_t got = wait4(child, &status, 0, &usage);
    if (got < 0 && errno == EINTR) {
      supervisor.check(child);
      continue;
    }
    if (got < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
      supervisor.finish(child);
      return peak;
    }
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    const bool stops =
        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    if (event == PTRACE_EVENT_EXIT) {
      peak = peak_of(child);
      ptrace(PTRACE_CONT, child, nullptr, nullptr);
    } else if (event == PTRACE_EVENT_STOP) {
      // A stopped command stays stopped until it gets SIGCONT.
      ptrace(stops ? PTRACE_LISTEN : PTRACE_CONT, child, nullptr, nullptr);
    } else {
      ptrace(PTRACE_CONT, child, nullptr, static_cast<long>(signal));
    }
  }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

RunResult measure(const RunRequest& request) {
  RunResult result;
  Start* start = shared_start();
  if (start == nullptr) {
    result.error = std::strerror(errno);
    return result;
  }
  *start = Start{};
  const std::vector<char*> arguments = pointers(request.command);
  const std::vector<char*> environment = pointers(request.environment);
  static const Dispensable dispensable = find_dispensable();
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) {
    result.error = std::strerror(errno);
    return result;
  }
  const auto page_size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const Prepared prepared{
      &request, arguments.data(), environment.data(), &dispensable, page_size, start, go[0]};
  std::fflush(nullptr);
  Supervisor supervisor(request);
  const Load before = machine_load();
  const pid_t child = fork();
  if (child == 0) {
    syscall(SYS_close, go[1]);
    become(prepared);
  }
  const int fork_error = errno;
  if (child > 0) ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACEEXIT);
  close(go[0]);
  close(go[1]);
  if (child < 0) {
    result.error = std::strerror(fork_error);
    return result;
  }
  int status = 0;
  rusage usage{};
  const std::uint64_t exact_peak = wait_for(child, supervisor, status, usage);
  const double end = now();
  const Load after = machine_load();
  if (start->error != 0) {
    result.error = std::strerror(start->error);
    return result;
  }

  result.started = true;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(status);
  result.timed_out = supervisor.timed_out();
  result.wall = end - seconds(start->when);
  result.user = seconds(usage.ru_utime) - seconds(start->usage.ru_utime);
  result.system = seconds(usage.ru_stime) - seconds(start->usage.ru_stime);
  const std::uint64_t rough_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  const bool only_floor = exact_peak > 0 && rough_peak <= start->rss;
  result.peak_rss = only_floor ? exact_peak : std::max(exact_peak, rough_peak);
  result.peak_exact = exact_peak > 0 && result.peak_rss == exact_peak;
  result.rss_floor = start->rss;
  result.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt - start->usage.ru_minflt);
  result.major_faults = static_cast<std::uint64_t>(usage.ru_majflt - start->usage.ru_majflt);
  const double own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.other_cpu = std::max(0.0, after.busy - before.busy - own);
  result.steal = std::max(0.0, after.steal - before.steal);
  return result;
}

}  // namespace corbel::cli
