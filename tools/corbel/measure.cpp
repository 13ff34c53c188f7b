// SPDX-License-Identifier: Apache-2.0
// Running a command once and measuring it.
//
// Peak memory needs care. ru_maxrss has two faults: the kernel folds into it the peak that a
// process had before exec, so a small program started by a big one shows the big one's (after
// vfork, which posix_spawn uses, the parent's whole memory); and since Linux 6.2 it comes from
// counters that are off by up to some hundred KiB. Therefore
// - the child is made by fork, drops what can be read again from files, and resets its peak
//   (/proc/self/clear_refs) before exec: what is left is the floor, about half a MiB;
// - the command is traced, for its exit alone: it stops there once, when VmHWM in
//   /proc/PID/status, which is exact, can still be read. Where tracing is forbidden, and for the
//   children of the command, ru_maxrss has to do.
#include "measure.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

// Written by the child up to exec, read by the parent afterwards; shared, so that exec's end of
// the old memory does not take it along.
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

// Seconds that all processors together were busy, stolen time included.
double busy_seconds() {
  const int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[512];
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0,
                     steal = 0;
  if (std::sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                  &wait, &irq, &soft, &steal) < 4) {
    return 0;
  }
  return static_cast<double>(user + nice + system + irq + soft + steal) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// System calls alone from here to exec: the child of a fork.
// Memory that the child can do without between fork and exec, where it would count as the
// command's peak: whatever can be read again from its file. Pages that were written to (the
// loader does, to resolve addresses) cannot.
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

// The child of the fork, up to exec. Raw system calls alone: every other function of the C library
// would bring its surroundings back into memory, 64 KiB at a time.
[[noreturn]] void become(const Prepared& prepared) {
  Start* start = prepared.start;
  char ignored;
  syscall(SYS_read, prepared.go, &ignored, 1);
  if (prepared.request->output >= 0) syscall(SYS_dup3, prepared.request->output, 1, 0);
  if (prepared.request->errors >= 0) syscall(SYS_dup3, prepared.request->errors, 2, 0);
  for (std::size_t i = 0; i < prepared.dispensable->count; ++i) {
    const Dispensable::Range& range = prepared.dispensable->ranges[i];
    syscall(SYS_madvise, range.start, range.size, MADV_DONTNEED);
  }
  // Where the kernel cannot reset the peak the floor is just higher.
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

// The exact peak of a process that has not gone yet; 0 when it cannot be read.
std::uint64_t peak_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lu", &kib) == 1) return std::uint64_t{kib} * 1024;
  }
  return 0;
}

// Waits until `child` has ended, and lets every signal and stop through as if nobody traced it.
// Returns its exact peak, or 0.
std::uint64_t wait_for(pid_t child, int& status, rusage& usage) {
  std::uint64_t peak = 0;
  for (;;) {
    const pid_t got = wait4(child, &status, 0, &usage);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || WIFEXITED(status) || WIFSIGNALED(status)) return peak;
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    const bool stops =
        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    if (event == PTRACE_EVENT_EXIT) {
      peak = peak_of(child);
      ptrace(PTRACE_CONT, child, nullptr, nullptr);
    } else if (event == PTRACE_EVENT_STOP) {
      // A stopped command stays stopped until somebody continues it.
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
  const double busy_before = busy_seconds();
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
  const std::uint64_t exact_peak = wait_for(child, status, usage);
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double busy = busy_seconds() - busy_before;
  if (start->error != 0) {
    result.error = std::strerror(start->error);
    return result;
  }

  result.started = true;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.wall = seconds(end) - seconds(start->when);
  result.user = seconds(usage.ru_utime) - seconds(start->usage.ru_utime);
  result.system = seconds(usage.ru_stime) - seconds(start->usage.ru_stime);
  const std::uint64_t rough_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  const bool only_floor = exact_peak > 0 && rough_peak <= start->rss;
  result.peak_rss = only_floor ? exact_peak : std::max(exact_peak, rough_peak);
  result.peak_exact = exact_peak > 0 && result.peak_rss == exact_peak;
  result.rss_floor = start->rss;
  result.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt - start->usage.ru_minflt);
  result.major_faults = static_cast<std::uint64_t>(usage.ru_majflt - start->usage.ru_majflt);
  const double other = busy - (seconds(usage.ru_utime) + seconds(usage.ru_stime));
  result.other_cpu = other > 0 ? other : 0;
  // /proc/stat counts in ticks of 10 ms, so a few of them mean nothing.
  result.disturbed = result.other_cpu > 0.03 && result.other_cpu > 0.05 * result.wall;
  return result;
}

}  // namespace corbel::cli
