// SPDX-License-Identifier: Apache-2.0
#include "os/linux/context.hpp"

#if !defined(__GLIBC__)

#include "os/os.hpp"

// corbel_switch_stack(&left, next): pushes the registers that a call preserves and the
// floating-point settings, stores the stack pointer in `left`, and takes all of it from `next`.
// corbel_begin_stack: where a new stack begins. Unwinding ends there.
extern "C" {
void corbel_switch_stack(void** left, void* next);
void corbel_begin_stack();
}

#if defined(__x86_64__)

asm(R"(
  .text
  .hidden corbel_switch_stack
  .globl corbel_switch_stack
  .type corbel_switch_stack, @function
corbel_switch_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  popq %r14
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r14
  popq %r13
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r13
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  retq
  .cfi_endproc
  .size corbel_switch_stack, .-corbel_switch_stack

  .hidden corbel_begin_stack
  .globl corbel_begin_stack
  .type corbel_begin_stack, @function
corbel_begin_stack:
  .cfi_startproc
  .cfi_undefined %rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
  .size corbel_begin_stack, .-corbel_begin_stack
)");

namespace {

// What corbel_switch_stack pushes, the last first.
struct Registers {
  std::uint32_t mxcsr;
  std::uint16_t control;
  void* r15;
  void* r14;
  void (*run)(void*);  // r13
  void* argument;      // r12
  void* rbx;
  void* rbp;  // null: the end of the chain of frames
  void (*next)();
};

void set_floating_point(Registers& registers) {
  asm("stmxcsr %0\n\tfnstcw %1" : "=m"(registers.mxcsr), "=m"(registers.control));
}

}  // namespace

#elif defined(__aarch64__)

asm(R"(
  .text
  .hidden corbel_switch_stack
  .globl corbel_switch_stack
  .type corbel_switch_stack, %function
corbel_switch_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-176]!
  .cfi_def_cfa_offset 176
  .cfi_offset x29, -176
  .cfi_offset x30, -168
  stp x19, x20, [sp, #16]
  .cfi_offset x19, -160
  .cfi_offset x20, -152
  stp x21, x22, [sp, #32]
  .cfi_offset x21, -144
  .cfi_offset x22, -136
  stp x23, x24, [sp, #48]
  .cfi_offset x23, -128
  .cfi_offset x24, -120
  stp x25, x26, [sp, #64]
  .cfi_offset x25, -112
  .cfi_offset x26, -104
  stp x27, x28, [sp, #80]
  .cfi_offset x27, -96
  .cfi_offset x28, -88
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldr x9, [sp, #160]
  msr fpcr, x9
  ldp d14, d15, [sp, #144]
  ldp d12, d13, [sp, #128]
  ldp d10, d11, [sp, #112]
  ldp d8, d9, [sp, #96]
  ldp x27, x28, [sp, #80]
  ldp x25, x26, [sp, #64]
  ldp x23, x24, [sp, #48]
  ldp x21, x22, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #176
  .cfi_def_cfa_offset 0
  .cfi_restore x19
  .cfi_restore x20
  .cfi_restore x21
  .cfi_restore x22
  .cfi_restore x23
  .cfi_restore x24
  .cfi_restore x25
  .cfi_restore x26
  .cfi_restore x27
  .cfi_restore x28
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size corbel_switch_stack, .-corbel_switch_stack

  .hidden corbel_begin_stack
  .globl corbel_begin_stack
  .type corbel_begin_stack, %function
corbel_begin_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
  .size corbel_begin_stack, .-corbel_begin_stack
)");

namespace {

// What corbel_switch_stack stores.
struct Registers {
  void* x29;  // null: the end of the chain of frames
  void (*next)();
  void* argument;      // x19
  void (*run)(void*);  // x20
  void* x21_to_x28[8];
  double d8_to_d15[8];
  std::uint64_t fpcr;
  std::uint64_t unused;
};

void set_floating_point(Registers& registers) { asm("mrs %0, fpcr" : "=r"(registers.fpcr)); }

}  // namespace

#endif

namespace corbel::os {

bool Context::prepare(void* stack, std::size_t size, void (*run)(void*), void* argument) {
  auto* const registers =
      reinterpret_cast<Registers*>((reinterpret_cast<std::uintptr_t>(stack) + size) / 16 * 16) - 1;
  *registers = {};
  set_floating_point(*registers);
  registers->run = run;
  registers->argument = argument;
  registers->next = &corbel_begin_stack;
  top_ = registers;
  return pthread_sigmask(SIG_SETMASK, nullptr, &mask_) == 0;
}

void Context::switch_to(const Context& other) {
  pthread_sigmask(SIG_SETMASK, &other.mask_, &mask_);
  corbel_switch_stack(&top_, other.top_);
}

}  // namespace corbel::os

#endif
