// SPDX-License-Identifier: Apache-2.0
// Stacks in signal handlers.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <random>

#include "os/os.hpp"
#include "unwind_test.hpp"

namespace {

using unwind_test::count_in;
using unwind_test::Frames;
using unwind_test::is_in;
using unwind_test::position;

// The handlers fill these: they must not allocate.
constexpr unsigned kMax = 1000;
struct List {
  void* frames[kMax];
  unsigned count;
  Frames copy() const { return {frames, frames + count}; }
};
List list_in_handler;   // captured in the handler
List list_interrupted;  // from its context

void handle(int, siginfo_t*, void* context) {
  list_interrupted.count = corbel::unwind::capture_from(context, list_interrupted.frames, kMax);
  list_in_handler.count = corbel::unwind::capture(list_in_handler.frames, kMax, 0);
}

void set_handler(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  CHECK(sigaction(signal, &action, nullptr) == 0);
}

__attribute__((noinline)) void recurse(unsigned depth) {
  if (depth > 1)
    recurse(depth - 1);
  else
    raise(SIGUSR1);
  asm volatile("" : : : "memory");
}

void check_signal_stack() {
  recurse(10);
  const Frames interrupted = list_interrupted.copy();
  const Frames in_handler = list_in_handler.copy();
  CHECK(count_in(interrupted, recurse) == 10);
  CHECK(count_in(interrupted, main) == 1);
  CHECK(is_in(in_handler[0], handle));
  CHECK(count_in(in_handler, recurse) == 10);
#if !defined(__SANITIZE_THREAD__)  // which calls the handler later, from a function of its own
  // The handler, what it returns to, and then the interrupted stack.
  CHECK(in_handler.size() == interrupted.size() + 2);
  CHECK(Frames(in_handler.begin() + 2, in_handler.end()) == interrupted);
#endif
}

TEST_CASE(through_a_signal) {
  set_handler(SIGUSR1, handle, 0);
  check_signal_stack();
}

TEST_CASE(through_a_signal_on_another_stack) {
  constexpr std::size_t kSize = 256 << 10;
  void* const memory =
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSize;
  CHECK(sigaltstack(&stack, nullptr) == 0);
  set_handler(SIGUSR1, handle, SA_ONSTACK);
  check_signal_stack();
  stack.ss_flags = SS_DISABLE;
  CHECK(sigaltstack(&stack, nullptr) == 0);
  munmap(memory, kSize);
}

std::uintptr_t& pc_of(ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.pc);
#endif
}
std::uintptr_t& sp_of(ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.sp);
#endif
}

#if !defined(__SANITIZE_THREAD__)
// What a damaged stack may have: the context says that the handler has interrupted its own return,
// on the same stack, or code at address 0.
bool leads_in_a_circle;
unsigned captured;
bool found;

void handle_on_damaged_stack(int, siginfo_t*, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  const std::uintptr_t pc = pc_of(interrupted);
  const std::uintptr_t sp = sp_of(interrupted);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  // A return address is one more.
  pc_of(interrupted) = (leads_in_a_circle ? here : 0) - 1;
  sp_of(interrupted) = reinterpret_cast<std::uintptr_t>(context) - corbel::os::signal_context(0);
  captured = corbel::unwind::capture(list_in_handler.frames, kMax, 0);
  corbel::arch::Registers registers;
  found = corbel::unwind::find_frame({1, 2}, &registers);
  pc_of(interrupted) = pc;
  sp_of(interrupted) = sp;
}

TEST_CASE(stacks_without_a_proper_end) {
  CHECK(!corbel::os::can_read(0));
  set_handler(SIGUSR1, handle_on_damaged_stack, 0);
  leads_in_a_circle = true;
  raise(SIGUSR1);
  CHECK(captured == kMax);
  CHECK(!found);
  leads_in_a_circle = false;
  raise(SIGUSR1);
  CHECK(captured == 2);
  CHECK(!found);
}
#endif

// A handler that is itself interrupted.
TEST_CASE(through_two_signals) {
  set_handler(SIGUSR1, [](int, siginfo_t*, void*) { raise(SIGUSR2); }, 0);
  set_handler(SIGUSR2, handle, 0);
  recurse(3);
  const Frames interrupted = list_interrupted.copy();
  CHECK(count_in(interrupted, recurse) == 3);
  CHECK(count_in(interrupted, main) == 1);
}

std::uintptr_t& fp_of(ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.gregs[REG_RBP]);
#else
  return reinterpret_cast<std::uintptr_t&>(context.uc_mcontext.regs[29]);
#endif
}

// Whatever the registers are, nothing is read that cannot be read. The stacks may be nonsense.
TEST_CASE(random_registers_do_no_harm) {
  std::mt19937_64 random(1);
  // A page with pages around it that cannot be read, full of addresses near it.
  constexpr std::size_t kPage = 4096;
  auto* const region =
      static_cast<char*>(mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(mprotect(region + kPage, kPage, PROT_READ | PROT_WRITE) == 0);
  const auto near = [&](const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) + random() % (3 * kPage) - kPage;
  };
  const auto value = [&]() -> std::uintptr_t {
    const int on_stack = 0;
    constexpr std::size_t kFar = std::size_t{100} << 20;
    switch (random() % 9) {
      case 0:
        return random();
      case 1:
        return near(&on_stack) & ~std::uintptr_t{7};
      case 2:
        return near(&on_stack);
      case 3:
        return near(reinterpret_cast<const void*>(&recurse));
      case 4:
        return near(reinterpret_cast<const void*>(&std::qsort));
      case 6:
        return (reinterpret_cast<std::uintptr_t>(&on_stack) - random() % kFar) & ~std::uintptr_t{7};
      case 5:
        return random() % kPage;
      default:
        return near(region + kPage) & ~std::uintptr_t{7};
    }
  };
  ucontext_t context;
  CHECK(getcontext(&context) == 0);
  std::size_t frames = 0;
  for (unsigned i = 0; i < 30000; ++i) {
    for (std::size_t at = kPage; i % 100 == 0 && at < 2 * kPage; at += sizeof(void*)) {
      const std::uintptr_t word = value();
      std::memcpy(region + at, &word, sizeof word);
    }
    pc_of(context) = value();
    sp_of(context) = value();
    fp_of(context) = value();
    void* list[64];
    frames += corbel::unwind::capture_from(&context, list, 64);
  }
  CHECK(frames > 10000);
  munmap(region, 3 * kPage);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// ---- at each instruction --------------------------------------------------------------------
// The processor's trap flag raises SIGTRAP after each instruction, so that functions are captured
// in their first and last instructions, too.

unsigned steps, lost;

void on_step(int, siginfo_t*, void* context);

bool stepping;

__attribute__((noinline)) void step_through(void (*function)()) {
  steps = lost = 0;
  set_handler(SIGTRAP, on_step, 0);
  stepping = true;
  raise(SIGTRAP);
  function();
  stepping = false;
  raise(SIGTRAP);
}

void on_step(int, siginfo_t*, void* context) {
  constexpr greg_t kTrapFlag = 0x100;
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = stepping ? flags | kTrapFlag : flags & ~kTrapFlag;
  static List list;
  list.count = corbel::unwind::capture_from(context, list.frames, kMax);
  const Frames frames = list.copy();
  ++steps;
  if (count_in(frames, step_through) == 1 && count_in(frames, main) == 1) return;
  // Where libgcc throws, it overwrites its own frames at last, and does not find through them.
  if (count_in(unwind_test::stack_by_libgcc(), step_through) == 0) return;
  constexpr unsigned kMaxPrinted = 3;
  if (++lost <= kMaxPrinted) unwind_test::print("lost", frames);
}

int descending(const void* a, const void* b) {
  return *static_cast<const int*>(b) - *static_cast<const int*>(a);
}

TEST_CASE(at_each_instruction) {
  step_through([] {
    int numbers[] = {3, 1, 2, 5, 4};
    std::qsort(numbers, 5, sizeof numbers[0], descending);
  });
  CHECK(steps > 100);
  CHECK(lost == 0);
  step_through([] {
    // No function of the program has called it before: the dynamic linker looks it up.
    char* end = nullptr;
    CHECK(std::strtod("1.5", &end) == 1.5);
  });
  CHECK(steps > 1000);
  CHECK(lost == 0);
  step_through([] {
    try {
      throw 1;
    } catch (int) {
    }
  });
  CHECK(steps > 1000);
  CHECK(lost == 0);
}

#endif

}  // namespace
