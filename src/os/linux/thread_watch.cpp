// SPDX-License-Identifier: Apache-2.0
// Whether another thread sleeps, from /proc/self/task/<thread>/syscall.
//
// The kernel shows a system call there only after it has found the thread off every processor, with
// the lock held that a wake-up takes as well (task_current_syscall, wait_task_inactive; the lock is
// the task's pi_lock, and that of its run queue). Either a wake-up comes after that look: then the
// thread goes on after it, and sees what was written before the look. Or it came before: then the
// thread no longer was what the kernel had to find. And what the thread did before it fell asleep
// is seen by the look, since falling asleep takes the lock too.
//
// A thread that waits in a page fault is in no system call (-1); a preempted one is "running".
//
// A signal handler may have interrupted anything and then wait in a system call of its own. Masks
// do not tell (a handler may unblock its signal, reset it, or wait with another mask), but the
// stack does: above a handler's frames lies what the kernel saved of the thread it interrupted. So
// the stack is searched for that, and the thread looked at once more (is_still_asleep): if it still
// is in the same system call, a handler that was there at first was there during the search. Where
// the stack is not the thread's own (an alternate signal stack, a coroutine), the answer is "may be
// in a handler".
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bits.hpp"
#include "base/text.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

// The calls in which programs wait. Not among them: those that the allocator makes itself, and
// those during which another process runs on the thread's memory (vfork, clone, execve).
bool is_wait(long number, const std::uintptr_t* arguments) {
  switch (number) {
    case SYS_futex: {
      const auto operation = unsigned(arguments[1]) & FUTEX_CMD_MASK;
      return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
             operation == FUTEX_LOCK_PI || operation == FUTEX_WAIT_REQUEUE_PI;
    }
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
#endif
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_restart_syscall:  // the rest of one of those above
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_flock:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_mq_timedreceive:
    case SYS_io_getevents:
    case SYS_io_uring_enter:
      return true;
    default:
      return false;
  }
}

// Whether `word`, with `before` in front of it, is what the kernel saves when it runs a handler.
bool is_saved_state(std::uint64_t before, std::uint64_t word) {
#if defined(__x86_64__)
  // The selectors cs, gs, fs, ss (with 0xe000 set under Xen), behind the flags: interrupts are on,
  // bit 1 is set, bits 3, 5, 15 and all from 22 on are not.
  const auto code = std::uint16_t(word & 0x1fff);
  const auto stack = std::uint16_t((word >> 48) & 0x1fff);
  return code == 0x33 && (stack == 0x2b || stack == 0) && (word & 0x0000ffffffff0000U) == 0 &&
         (before & 0xffffffffffc0822aU) == 0x202;
#elif defined(__aarch64__)
  // The head of the record of the floating-point registers, which is always there.
  static_cast<void>(before);
  return word == 0x0000021046508001U;
#else
  return true;
#endif
}

// Digits of either base; what follows a number is a blank or the end of the line.
const char* read_word(const char* text, std::uintptr_t* value) {
  unsigned base = 10;
  if (text[0] == '0' && text[1] == 'x') {
    base = 16;
    text += 2;
  }
  const char* const first = text;
  std::uintptr_t n = 0;
  for (;; ++text) {
    unsigned digit;
    if (*text >= '0' && *text <= '9') {
      digit = unsigned(*text - '0');
    } else if (base == 16 && *text >= 'a' && *text <= 'f') {
      digit = unsigned(*text - 'a') + 10;
    } else {
      break;
    }
    n = n * base + digit;
  }
  *value = n;
  return text != first && (*text == ' ' || *text == '\n') ? text + 1 : nullptr;
}

// True if the line tells of a wait; then also where the stack ends.
bool parse_wait(const char* line, std::uintptr_t* stack_pointer) {
  constexpr std::size_t kArguments = 6;
  std::uintptr_t number;
  std::uintptr_t arguments[kArguments];
  const char* text = read_word(line, &number);
  if (text == nullptr) return false;
  for (std::uintptr_t& argument : arguments) {
    text = read_word(text, &argument);
    if (text == nullptr) return false;
  }
  return read_word(text, stack_pointer) != nullptr && is_wait(long(number), arguments);
}

}  // namespace

std::uint32_t thread_id() { return std::uint32_t(syscall(SYS_gettid)); }

bool is_main_thread(std::uint32_t thread) { return thread == std::uint32_t(syscall(SYS_getpid)); }

bool can_watch_threads() {
  ErrnoGuard guard;
  // The file system may be missing, or that of another namespace, with other numbers.
  Text<64> expected;
  expected.add_decimal(std::uint64_t(getpid())).add("/task/").add_decimal(thread_id());
  char found[64];
  // No wrappers here and below: those of the library are points of cancellation, or another's.
  const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self", found, sizeof found);
  if (length != long(expected.size())) return false;
  if (memcmp(found, expected.data(), expected.size()) != 0) return false;
  // After a change of user it belongs to root.
  const auto file =
      int(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC));
  if (file >= 0) syscall(SYS_close, file);
  return file >= 0;
}

ThreadWatch::ThreadWatch(std::uint32_t thread, const void* local) : local_(local) {
  ErrnoGuard guard;
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(thread).add("/syscall");
  file_ = int(syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
}

ThreadWatch::~ThreadWatch() {
  ErrnoGuard guard;
  if (file_ >= 0) syscall(SYS_close, file_);
}

bool ThreadWatch::read(Sleep* sleep) const {
  if (file_ < 0) return false;
  ErrnoGuard guard;
  // At an offset: if the program has closed the descriptor and has got its number for a pipe, that
  // must lose nothing.
  const auto length = syscall(SYS_pread64, file_, sleep->line, Sleep::kMost - 1, 0);
  if (length <= 0) return false;
  sleep->line[length] = '\0';
  sleep->length = std::size_t(length);
  return true;
}

bool ThreadWatch::look(Sleep* sleep) const {
  return read(sleep) && parse_wait(sleep->line, &sleep->stack_pointer);
}

bool ThreadWatch::may_be_in_handler() const {
  constexpr std::size_t kMost = std::size_t(8) << 20;  // beyond, the search is too long
  constexpr std::size_t kWords = 128;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  ErrnoGuard guard;
  const std::uintptr_t begin = align_down(found_.stack_pointer, kWord);
  // Where the stack begins: a thread's variables lie above it, except the main thread's, which has
  // something of the kernel's there.
  std::uintptr_t end = address_of(local_);
  const auto random = std::uintptr_t(getauxval(AT_RANDOM));
  if (end < begin || (random >= begin && random < end)) end = random;
  end = align_down(end, kWord);
  if (end < begin || end - begin > kMost) return true;
  std::uint64_t before = 0;
  std::uint64_t words[kWords];
  for (std::uintptr_t p = begin; p < end;) {
    const std::size_t size = end - p < sizeof words ? end - p : sizeof words;
    // Asks the kernel to read, for something unreadable may lie in between.
    const iovec here{words, size};
    const iovec there{pointer_to(p), size};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != ssize_t(size)) return true;
    for (std::size_t i = 0; i < size / kWord; ++i) {
      if (is_saved_state(before, words[i])) return true;
      before = words[i];
    }
    p += size;
  }
  return false;
}

ThreadWatch::Seems ThreadWatch::seems() {
  Sleep sleep;
  if (!read(&sleep)) return Seems::kElsewhere;
  if (parse_wait(sleep.line, &sleep.stack_pointer)) return Seems::kAsleep;
  // "running", or -1 for in no system call.
  const bool is_in_call = sleep.line[0] >= '0' && sleep.line[0] <= '9';
  return is_in_call ? Seems::kElsewhere : Seems::kAwake;
}

bool ThreadWatch::is_asleep() { return look(&found_) && !may_be_in_handler(); }

bool ThreadWatch::is_still_asleep() {
  Sleep now;
  return look(&now) && now.length == found_.length &&
         memcmp(now.line, found_.line, now.length) == 0;
}

}  // namespace corbel::os
