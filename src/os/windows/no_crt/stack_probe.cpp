// SPDX-License-Identifier: Apache-2.0
// What compilers call before a function takes more than a page of stack: rax bytes from the stack
// pointer of the caller on. The system makes a stack's pages accessible one by one, from the guard
// page down, so each must be touched in turn. No register changes.
asm(R"(
  .globl ___chkstk_ms
  .text
  .balign 16
___chkstk_ms:
  pushq %rcx
  pushq %rax
  leaq 24(%rsp), %rcx
1:
  cmpq $4096, %rax
  jbe 2f
  subq $4096, %rcx
  testb %al, (%rcx)
  subq $4096, %rax
  jmp 1b
2:
  subq %rax, %rcx
  testb %al, (%rcx)
  popq %rax
  popq %rcx
  ret
)");
