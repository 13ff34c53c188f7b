// SPDX-License-Identifier: Apache-2.0
// Tells whether another thread sleeps, by reading /proc/self/task/<thread>/syscall.
//
// The kernel shows a system call in that file only after it has found that the thread runs on no
// processor. It checks that while it holds the lock that a wake-up takes too (task_current_syscall,
// wait_task_inactive; the lock is the task's pi_lock, and that of its run queue). So a wake-up
// comes either after the check or before it. If it comes after, the thread continues after the
// check and sees what was written before the check. If it comes before, the thread is no longer in
// the state that the check requires. What the thread did before it fell asleep is visible after the
// check, because falling asleep takes the lock too.
//
// For a thread that waits in a page fault the file says -1, for "no system call"; for a preempted
// thread it says "running".
//
// A signal handler may have interrupted anything and then wait in a system call of its own. Signal
// masks do not tell whether a handler runs: a handler may unblock its signal, reset it, or wait
// with another mask. The stack does tell: above a handler's frames lies the state of the
// interrupted thread, which the kernel saved there. So we search the stack for that state, and then
// check the thread once more (is_still_asleep). If it is still in the same system call, a handler
// that ran at the first check also ran during the search, which found it. If the thread runs on a
// stack that is not its own (an alternate signal stack, a coroutine), the answer is "may be in a
// handler".
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bits.hpp"
#include "base/text.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

// The system calls in which programs wait. Excluded are those that the allocator makes itself, and
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
    case SYS_restart_syscall:  // continues one of those above
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

// Whether `word`, preceded by `before`, looks like the state that the kernel saves when it runs a
// signal handler.
bool is_saved_state(std::uint64_t before, std::uint64_t word) {
#if defined(__x86_64__)
  // The selectors cs, gs, fs, ss (with 0xe000 set under Xen) follow the flags. In the flags,
  // interrupts are on, bit 1 is set, and bits 3, 5, 15 and all from 22 on are clear.
  const auto code = std::uint16_t(word & 0x1fff);
  const auto stack = std::uint16_t((word >> 48) & 0x1fff);
  return code == 0x33 && (stack == 0x2b || stack == 0) && (word & 0x0000ffffffff0000U) == 0 &&
         (before & 0xffffffffffc0822aU) == 0x202;
#elif defined(__aarch64__)
  // The header of the floating-point record, which is always present.
  static_cast<void>(before);
  return word == 0x0000021046508001U;
#else
  return true;
#endif
}

// Parses a decimal or 0x number that a blank or the end of the line follows, and returns the text
// after that; nullptr if there is none.
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

// Whether the line reports a wait. If so, also finds the stack pointer.
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
  // /proc may be missing, or belong to another namespace and show other numbers.
  Text<64> expected;
  expected.add_decimal(std::uint64_t(getpid())).add("/task/").add_decimal(thread_id());
  char found[64];
  // System calls by number, here and below: the C library's wrappers are cancellation points, and
  // the program may interpose them.
  const long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self", found, sizeof found);
  if (length != long(expected.size())) return false;
  if (memcmp(found, expected.data(), expected.size()) != 0) return false;
  // After a change of user the file belongs to root.
  const auto file =
      int(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC));
  if (file >= 0) syscall(SYS_close, file);
  return file >= 0;
}

namespace {

// False if the descriptor is closed. A system call by number: the C library's wrapper may be
// interposed.
bool identify(int file, std::uint64_t* device, std::uint64_t* inode) {
  struct stat status;
  if (syscall(SYS_fstat, file, &status) != 0) return false;
  *device = status.st_dev;
  *inode = status.st_ino;
  return true;
}

// The address of a thread's list of robust mutexes; nullptr if the system does not tell. The C
// library keeps the head of that list in the thread's control block, whose distance from the
// thread-local variables is the same in all threads.
const void* robust_list(std::uint32_t thread) {
  void* head = nullptr;
  std::size_t size = 0;
  return syscall(SYS_get_robust_list, thread, &head, &size) == 0 ? head : nullptr;
}

}  // namespace

ThreadWatch::ThreadWatch(std::uint32_t thread, const void* local, const void* own_local)
    : thread_(thread), local_(local), own_local_(own_local) {
  ErrnoGuard guard;
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(thread).add("/syscall");
  file_ = int(syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file_ >= 0) identify(file_, &device_, &inode_);
}

// The program may have closed our descriptor (closefrom), and have a file of its own under the
// number now. That one stays open.
ThreadWatch::~ThreadWatch() {
  ErrnoGuard guard;
  std::uint64_t device;
  std::uint64_t inode;
  if (file_ < 0 || !identify(file_, &device, &inode)) return;
  if (device == device_ && inode == inode_) syscall(SYS_close, file_);
}

// Whether the id is known to be another thread's than the one that `local_` belongs to.
bool ThreadWatch::is_other_thread() const {
  ErrnoGuard guard;
  const void* const own = robust_list(0);
  const void* const other = robust_list(thread_);
  if (own == nullptr || other == nullptr) return false;
  return address_of(other) - address_of(local_) != address_of(own) - address_of(own_local_);
}

bool ThreadWatch::read(Sleep* sleep) const {
  if (file_ < 0) return false;
  ErrnoGuard guard;
  // pread, not read: if the program has closed our descriptor and a pipe of its own has the number
  // now, the pipe must lose no data.
  const auto length = syscall(SYS_pread64, file_, sleep->line, Sleep::kMaxLine - 1, 0);
  if (length <= 0) return false;
  sleep->line[length] = '\0';
  sleep->length = std::size_t(length);
  return true;
}

bool ThreadWatch::look(Sleep* sleep) const {
  return read(sleep) && parse_wait(sleep->line, &sleep->stack_pointer);
}

bool ThreadWatch::may_be_in_handler() const {
  constexpr std::size_t kMaxSearch = std::size_t(8) << 20;  // beyond it, the search takes too long
  constexpr std::size_t kWords = 128;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  ErrnoGuard guard;
  const std::uintptr_t begin = align_down(found_.stack_pointer, kWord);
  // The search ends where the stack begins. A thread's thread-local variables lie above that; above
  // the main thread's stack lies data of the kernel (AT_RANDOM).
  std::uintptr_t end = address_of(local_);
  const auto random = std::uintptr_t(getauxval(AT_RANDOM));
  if (end < begin || (random >= begin && random < end)) end = random;
  end = align_down(end, kWord);
  if (end < begin || end - begin > kMaxSearch) return true;
  std::uint64_t before = 0;
  std::uint64_t words[kWords];
  for (std::uintptr_t p = begin; p < end;) {
    const std::size_t size = end - p < sizeof words ? end - p : sizeof words;
    // The kernel does the reading, because part of the range may be unreadable.
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
  // The line may also be "running", or -1 for no system call.
  const bool is_in_call = sleep.line[0] >= '0' && sleep.line[0] <= '9';
  return is_in_call ? Seems::kElsewhere : Seems::kAwake;
}

bool ThreadWatch::is_asleep() {
  return look(&found_) && !is_other_thread() && !may_be_in_handler();
}

bool ThreadWatch::is_still_asleep() {
  Sleep now;
  return look(&now) && now.length == found_.length &&
         memcmp(now.line, found_.line, now.length) == 0;
}

}  // namespace corbel::os
