// SPDX-License-Identifier: Apache-2.0
// Stacks of fibers, and functions without unwind tables.
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "unwind_test.hpp"

namespace {

using unwind_test::count_in;
using unwind_test::Frames;
using unwind_test::is_in;
using unwind_test::position;

Frames captured;

void keep_stack() {
  captured = unwind_test::stack_here();
  asm volatile("" : : : "memory");
}

__attribute__((noinline)) void recurse(unsigned depth, void (*at_the_end)()) {
  if (depth > 1)
    recurse(depth - 1, at_the_end);
  else
    at_the_end();
  asm volatile("" : : : "memory");
}

class Memory {
 public:
  Memory(std::size_t size, int protection)
      : size_(size), at_(mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    CHECK(at_ != MAP_FAILED);
  }
  ~Memory() { munmap(at_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* at() const { return at_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  void* at_;
};

// ---- fibers -----------------------------------------------------------------------------------

ucontext_t main_context, fiber_context;

void run_fiber() {
  recurse(12, keep_stack);
  swapcontext(&fiber_context, &main_context);
}

TEST_CASE(on_a_fiber) {
  const Memory stack(128 << 10, PROT_READ | PROT_WRITE);
  CHECK(getcontext(&fiber_context) == 0);
  fiber_context.uc_stack.ss_sp = stack.at();
  fiber_context.uc_stack.ss_size = stack.size();
  fiber_context.uc_link = nullptr;
  makecontext(&fiber_context, run_fiber, 0);
  CHECK(swapcontext(&main_context, &fiber_context) == 0);
  CHECK(count_in(captured, recurse) == 12);
  const std::size_t at = position(captured, run_fiber);
  CHECK(at == 13);
  // The fiber's own first function may come, and nothing else.
  CHECK(captured.size() <= at + 2);
}

// ---- code without tables --------------------------------------------------------------------

#if defined(__x86_64__)
constexpr unsigned char kWithFramePointer[] = {0x55,              // push %rbp
                                               0x48, 0x89, 0xe5,  // mov %rsp, %rbp
                                               0xff, 0xd7,        // call *%rdi
                                               0x5d,              // pop %rbp
                                               0xc3};             // ret
// Uses rbp for something else: the second argument.
constexpr unsigned char kWithout[] = {0x55,              // push %rbp
                                      0x48, 0x89, 0xf5,  // mov %rsi, %rbp
                                      0xff, 0xd7,        // call *%rdi
                                      0x5d,              // pop %rbp
                                      0xc3};             // ret
#else
constexpr std::uint32_t kWithFramePointer[] = {0xa9bf7bfd,   // stp x29, x30, [sp, #-16]!
                                               0x910003fd,   // mov x29, sp
                                               0xd63f0000,   // blr x0
                                               0xa8c17bfd,   // ldp x29, x30, [sp], #16
                                               0xd65f03c0};  // ret
constexpr std::uint32_t kWithout[] = {0xa9bf7bfd,            // stp x29, x30, [sp, #-16]!
                                      0xaa0103fd,            // mov x29, x1
                                      0xd63f0000,            // blr x0
                                      0xa8c17bfd,            // ldp x29, x30, [sp], #16
                                      0xd65f03c0};           // ret
#endif

using Jit = void (*)(void (*call)(), std::uintptr_t frame);

class Code {
 public:
  template <class T>
  explicit Code(const T& bytes) : memory_(4096, PROT_READ | PROT_WRITE | PROT_EXEC) {
    std::memcpy(begin(), bytes, sizeof bytes);
    __builtin___clear_cache(begin(), begin() + sizeof bytes);
  }
  Jit function() const { return reinterpret_cast<Jit>(begin()); }
  bool has(void* frame) const {
    return static_cast<char*>(frame) >= memory_.at() &&
           static_cast<char*>(frame) < static_cast<char*>(memory_.at()) + memory_.size();
  }

 private:
  // Not where the memory begins: the sanitizer reads the word before a function that is called
  // through a pointer, to see whether that is the function's type.
  char* begin() const { return static_cast<char*>(memory_.at()) + 64; }

  Memory memory_;
};

const Code* code;

__attribute__((noinline)) void through_code() {
  code->function()(keep_stack, 0);
  asm volatile("" : : : "memory");
}

TEST_CASE(through_code_without_tables) {
  const Code with_frame_pointer(kWithFramePointer);
  code = &with_frame_pointer;
  recurse(5, through_code);
  CHECK(is_in(captured[0], keep_stack));
  CHECK(code->has(captured[1]));
  CHECK(is_in(captured[2], through_code));
  CHECK(count_in(captured, recurse) == 5);
  CHECK(count_in(captured, main) == 1);
}

// A stack that cannot be followed ends, and no memory is read that cannot be read.
TEST_CASE(a_frame_pointer_of_another_use) {
  const Code without(kWithout);
  code = &without;
  const Memory hidden(64 << 10, PROT_NONE);
  const auto near = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  for (const std::uintptr_t frame :
       {std::uintptr_t{0}, std::uintptr_t{1}, near + 4096, near + 4099, near - 4096,
        reinterpret_cast<std::uintptr_t>(hidden.at()) + 4096, std::uintptr_t{1} << 60,
        ~std::uintptr_t{0}, ~std::uintptr_t{7}}) {
    code->function()(keep_stack, frame);
    CHECK(is_in(captured[0], keep_stack));
    CHECK(code->has(captured[1]));
  }
}

}  // namespace
