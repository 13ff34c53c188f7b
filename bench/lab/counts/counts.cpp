// SPDX-License-Identifier: Apache-2.0
// Counts what a program does between two marks, by ptrace(2).
//
//   counts locked|calls FILE PROGRAM [ARGUMENTS]
//
// The program marks the begin and the end by raising SIGUSR2, and reads the counts from FILE then.
//
//   locked   the locked instructions and full fences of the thread that marks, step by step. A step
//            takes some microseconds, so other threads would run a thousand times as fast: the
//            program has one thread. x86-64 only.
//   calls    the process barriers (membarrier), wake-ups and sleeps (futex) of all threads. A
//            seccomp filter stops the program at these calls alone; each takes some microseconds
//            more than without.
//
// The exit code is the program's; 77 if the system does not permit it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>

namespace {

constexpr int kMark = SIGUSR2;

[[noreturn]] void leave_out(const char* why) {
  std::fprintf(stderr, "%s: %s\n", why, std::strerror(errno));
  std::_Exit(77);
}

// ---- instructions -------------------------------------------------------------------------------

#ifdef __x86_64__
// Whether the instruction has a lock prefix, is an exchange with memory (which locks without one)
// or is mfence.
bool is_locked(const unsigned char* code) {
  for (;; ++code) {
    switch (*code) {
      case 0xF0:
        return true;
      case 0x66:
      case 0x67:
      case 0xF2:
      case 0xF3:
      case 0x2E:
      case 0x36:
      case 0x3E:
      case 0x26:
      case 0x64:
      case 0x65:
        continue;
      default:
        break;
    }
    break;
  }
  if ((*code & 0xF0) == 0x40) ++code;  // REX
  if (*code == 0x86 || *code == 0x87) return (code[1] & 0xC0) != 0xC0;
  return code[0] == 0x0F && code[1] == 0xAE && code[2] == 0xF0;
}

// Whether the next instruction of a stopped thread is locked.
bool next_is_locked(pid_t thread) {
  static std::unordered_map<std::uintptr_t, bool> known;
  const auto address = static_cast<std::uintptr_t>(
      ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rip), nullptr));
  const auto found = known.find(address);
  if (found != known.end()) return found->second;
  long words[2];
  for (int i = 0; i < 2; ++i) {
    words[i] = ptrace(PTRACE_PEEKTEXT, thread, address + 8 * i, nullptr);
  }
  unsigned char code[sizeof words];
  std::memcpy(code, words, sizeof words);
  return known[address] = is_locked(code);
}
#else
bool next_is_locked(pid_t) { return false; }
#endif

// ---- calls --------------------------------------------------------------------------------------

struct Counts {
  unsigned long instructions = 0, locked = 0, barriers = 0, wakes = 0, sleeps = 0;
};

void install_filter() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    leave_out("the system has no seccomp filters");
  }
}

void count_call(pid_t thread, Counts& counts) {
  __ptrace_syscall_info info;
  std::memset(&info, 0, sizeof info);
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) {
    leave_out("ptrace does not tell which call it is");
  }
  if (info.seccomp.nr == SYS_membarrier) {
    ++counts.barriers;
    return;
  }
  switch (info.seccomp.args[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      ++counts.sleeps;
      break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
      ++counts.wakes;
      break;
    default:
      break;
  }
}

// ---- the program --------------------------------------------------------------------------------

[[noreturn]] void start(char** command, bool calls) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) leave_out("ptrace is not permitted");
  raise(SIGSTOP);
  if (calls) install_filter();
  execvp(command[0], command);
  leave_out(command[0]);
}

void write(const char* path, const Counts& counts) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%lu %lu %lu %lu %lu\n", counts.instructions, counts.locked, counts.barriers,
               counts.wakes, counts.sleeps);
  std::fclose(file);
}

int trace(pid_t child, const char* path, bool calls) {
  Counts counts;
  bool counting = false;
  std::set<pid_t> known = {child};
  int code = 1;
  for (;;) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) {
      if (errno == EINTR) continue;
      return code;  // none is left
    }
    if (!WIFSTOPPED(status)) {
      if (thread == child) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      known.erase(thread);
      continue;
    }
    int signal = WSTOPSIG(status);
    const int event = status >> 16;
    bool step = false;
    if (event == PTRACE_EVENT_SECCOMP) {
      if (counting) count_call(thread, counts);
      signal = 0;
    } else if (event != 0) {
      signal = 0;
    } else if (signal == SIGSTOP && known.insert(thread).second) {
      signal = 0;  // a new thread
    } else if (signal == kMark) {
      counting = !counting;
      if (!counting) write(path, counts);
      counts = {};
      signal = 0;
      step = counting && !calls;
    } else if (signal == SIGTRAP && counting && !calls) {
      ++counts.instructions;
      counts.locked += next_is_locked(thread);
      signal = 0;
      step = true;
    }
    ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, thread, nullptr,
           reinterpret_cast<void*>(static_cast<std::intptr_t>(signal)));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const bool calls = std::strcmp(words[1], "calls") == 0;
#ifndef __x86_64__
  if (!calls) {
    std::fprintf(stderr, "locked instructions are counted on x86-64 only\n");
    return 77;
  }
#endif
  setenv("BENCH_COUNTS", words[2], 1);
  const pid_t child = fork();
  if (child == 0) start(words + 3, calls);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  if (!WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                       (calls ? PTRACE_O_TRACESECCOMP : 0);
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, options) != 0 ||
      ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0) {
    kill(child, SIGKILL);
    leave_out("ptrace is not permitted");
  }
  return trace(child, words[2], calls);
}
