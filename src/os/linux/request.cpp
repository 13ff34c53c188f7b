// SPDX-License-Identifier: Apache-2.0
// Requests from the corbel command (request.hpp): the handler of the signal, and the socket. System
// calls by number, because the C library's functions are cancellation points, which a handler must
// not add to the code that it interrupts.
#include "os/linux/request.hpp"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <initializer_list>

#include "arch/arch.hpp"
#include "base/thread_sanitizer.hpp"
#include "os/code.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/linux/urgent_signal.hpp"
#include "os/os.hpp"

namespace corbel::os {

constinit std::atomic<TakeSample> take_sample{nullptr};

namespace {

// How long the handler waits for the other side, in milliseconds. It waits for a process that has
// just sent a signal and listens; a longer wait means that it was stopped or has lost interest.
constexpr long kPatience = 500;

// relaxed: the kernel orders the store before any signal that the handler takes
constinit std::atomic<void (*)(const Request&)> answer{nullptr};

// The thread of start_thread() while it lets requests in. relaxed: only that thread compares it
// with its own number
constinit std::atomic<std::uint32_t> helper{0};
// now_ms() at the last request; 0: none. relaxed: a hint
constinit std::atomic<std::uint64_t> last_request{0};
// Requests must not reach the helper thread any more. relaxed: only that thread uses it
constinit std::atomic<bool> helper_keeps_out{false};

bool is_request(const siginfo_t& info) {
  if (info.si_code != SI_QUEUE || answer.load(std::memory_order_relaxed) == nullptr) return false;
  if (!request::is_marked(reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr))) return false;
  return info.si_uid == 0 || info.si_uid == uid_t(syscall(SYS_getuid));
}

// Another signal than a request that the kernel has given to the helper thread: every thread of the
// program blocks it, perhaps to read it with sigwait() or signalfd(). The helper blocks it too from
// now on, and leaves it to the process.
void pass_on(siginfo_t* info, void* context) {
  if (helper.load(std::memory_order_relaxed) != thread_id() || info->si_code == SI_TKILL) return;
  helper_keeps_out.store(true, std::memory_order_relaxed);
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, request::kSignal);
  // The kernel lets only the main thread repeat its own codes.
  if (info->si_code >= 0) info->si_code = SI_QUEUE;
  syscall(SYS_rt_sigqueueinfo, syscall(SYS_getpid), request::kSignal, info);
}

// Where the kernel has stored the registers ends. The general ones come first.
std::uintptr_t end_of_registers(const ucontext_t* context) {
#if defined(__x86_64__)
  // Vector registers lie further up (the kernel's asm/sigcontext.h, struct _fpx_sw_bytes).
  constexpr std::size_t kLegacySize = 512, kMarkAt = 464, kSizeAt = 468;
  constexpr std::uint32_t kMark = 0x46505853;
  const auto* vectors = reinterpret_cast<const char*>(context->uc_mcontext.fpregs);
  if (vectors != nullptr) {
    std::uint32_t mark, size;
    memcpy(&mark, vectors + kMarkAt, sizeof mark);
    memcpy(&size, vectors + kSizeAt, sizeof size);
    return reinterpret_cast<std::uintptr_t>(vectors) + (mark == kMark ? size : kLegacySize);
  }
#endif
  return reinterpret_cast<std::uintptr_t>(context + 1);
}

// The least address of what the interrupted code uses of its stack; 0 where it runs on a stack for
// signal handlers: that may lie within the thread's own stack, whose frames are then not known.
std::uintptr_t least_in_use(const ucontext_t* context) {
  // Code may keep data below the stack pointer without moving it: the red zone of x86-64.
  constexpr std::uintptr_t kRedZone = 128;
  const std::uintptr_t stack_pointer = arch::load_word(
      reinterpret_cast<std::uintptr_t>(context) + unsigned(context_offset(arch::kStackRegister)));
  const stack_t& handlers = context->uc_stack;
  const auto low = reinterpret_cast<std::uintptr_t>(handlers.ss_sp);
  if (stack_pointer - low <= handlers.ss_size && handlers.ss_size != 0) return 0;
  return stack_pointer - kRedZone;
}

// The stack of a request. System calls by number: the handler may have interrupted the C library's
// functions, or a test's in their place. The thread sanitizer does not see these calls. It must be
// told that a stack may lie where another thread has unmapped one.
char mapped_stacks;

void unmap_stack(char* stack) {
  tsan_release(&mapped_stacks);
  syscall(SYS_munmap, stack, kRequestStack);
}

// The first page stays inaccessible.
char* map_stack() {
  // All of the last argument's 64 bits, which are on the stack, are read.
  const long memory =
      syscall(SYS_mmap, nullptr, kRequestStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (memory == -1) return nullptr;
  tsan_acquire(&mapped_stacks);
  char* const stack = reinterpret_cast<char*>(memory);
  const std::size_t guard = page_size();
  if (syscall(SYS_mprotect, stack + guard, kRequestStack - guard, PROT_READ | PROT_WRITE) == 0) {
    return stack;
  }
  unmap_stack(stack);
  return nullptr;
}

void on_signal(int, siginfo_t* info, void* context) {
  ErrnoGuard guard;
  // relaxed: as answer
  const TakeSample take = take_sample.load(std::memory_order_relaxed);
  if (take != nullptr && take(*info, context)) return;
  if (!is_request(*info)) return pass_on(info, context);
  last_request.store(now_ms(), std::memory_order_relaxed);
  const auto value = reinterpret_cast<std::uintptr_t>(info->si_value.sival_ptr);
  const auto frame = reinterpret_cast<std::uintptr_t>(context);
  const std::uintptr_t registers_end = end_of_registers(static_cast<ucontext_t*>(context));
  Request request{value & request::kNumberMask, least_in_use(static_cast<ucontext_t*>(context)),
                  static_cast<std::uintptr_t*>(context),
                  (registers_end - frame) / sizeof(std::uintptr_t)};
  // The program may have provided a small stack for its signal handlers.
  char* const stack = map_stack();
  if (stack == nullptr) return;  // as where no socket can be opened
  arch::call_on_stack(
      [](void* r) { answer.load(std::memory_order_relaxed)(*static_cast<const Request*>(r)); },
      &request, stack + kRequestStack);
  unmap_stack(stack);
}

void change_mask(int how) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, request::kSignal);
  pthread_sigmask(how, &one, nullptr);
}

// The rule of ptrace(2): the same user, unless the process does not let its user look into it.
bool may_ask(uid_t user) {
  if (user == 0) return true;
  return user == uid_t(syscall(SYS_getuid)) && syscall(SYS_prctl, PR_GET_DUMPABLE) == 1;
}

}  // namespace

bool has_urgent_handler() {
  struct sigaction now{};
  return sigaction(request::kSignal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_signal;
}

bool install_urgent_handler() {
  ErrnoGuard guard;
  struct sigaction action{};
  if (has_urgent_handler()) return true;
  // With SA_SIGINFO, too, the default action is the null pointer.
  if (sigaction(request::kSignal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) {
    return false;
  }
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    sigdelset(&action.sa_mask, signal);
  }
  return sigaction(request::kSignal, &action, nullptr) == 0;
}

bool take_requests(void (*function)(const Request& request)) {
  ErrnoGuard guard;
  if (getauxval(AT_SECURE) != 0 || !install_urgent_handler()) return false;
  answer.store(function, std::memory_order_relaxed);
  return true;
}

bool attend_requests() {
  ErrnoGuard guard;
  const std::uint64_t last = last_request.load(std::memory_order_relaxed);
  const bool lets_in = last != 0 && now_ms() - last < kRequestsLast &&
                       !helper_keeps_out.load(std::memory_order_relaxed) && has_urgent_handler();
  if (lets_in == (helper.load(std::memory_order_relaxed) == thread_id())) return lets_in;
  if (!lets_in) change_mask(SIG_BLOCK);
  helper.store(lets_in ? thread_id() : 0, std::memory_order_relaxed);
  if (lets_in) change_mask(SIG_UNBLOCK);
  return lets_in;
}

bool has_thread(std::uint32_t thread) {
  ErrnoGuard guard;
  return syscall(SYS_tgkill, syscall(SYS_getpid), thread, 0) == 0;
}

// ---- the socket ---------------------------------------------------------------------------------

RequestSocket::RequestSocket(std::uint64_t number) {
  ErrnoGuard guard;
  file_ = int(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (file_ < 0) return;
  const request::Address to = request::address_of(number);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (syscall(SYS_connect, file_, &to.address, to.size) == 0 &&
      syscall(SYS_getsockopt, file_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
      may_ask(peer.uid)) {
    return;
  }
  syscall(SYS_close, file_);
  file_ = -1;
}

RequestSocket::~RequestSocket() {
  ErrnoGuard guard;
  if (file_ >= 0) syscall(SYS_close, file_);
}

bool RequestSocket::wait(short events) {
  pollfd file{file_, events, 0};
  const timespec patience{kPatience / 1000, kPatience % 1000 * 1000000};
  timespec left = patience;  // the kernel writes to it
  return syscall(SYS_ppoll, &file, 1, &left, nullptr, 0) == 1 && (file.revents & events) != 0;
}

bool RequestSocket::read_line(char* line, std::size_t capacity) {
  ErrnoGuard guard;
  std::size_t size = 0;
  while (size < capacity && wait(POLLIN)) {
    const long got =
        syscall(SYS_recvfrom, file_, line + size, capacity - size, 0, nullptr, nullptr);
    if (got <= 0) return false;
    size += std::size_t(got);
    if (line[size - 1] != '\n') continue;
    line[size - 1] = '\0';
    return true;
  }
  return false;
}

bool RequestSocket::write(const void* data, std::size_t size) {
  ErrnoGuard guard;
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const long sent = syscall(SYS_sendto, file_, next, size, MSG_NOSIGNAL, nullptr, 0);
    if (sent > 0) {
      next += sent;
      size -= std::size_t(sent);
    } else if (sent == 0 || errno != EAGAIN || !wait(POLLOUT)) {
      return false;
    }
  }
  return true;
}

}  // namespace corbel::os
