// SPDX-License-Identifier: Apache-2.0
// Compiled without frame pointers.
#include "shapes.hpp"

#include <alloca.h>
#include <cstdarg>

namespace {

// Keeps a call from being the last thing that a function does.
void touch(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

struct Nested {
  Call call;
  void* argument;
};

}  // namespace

__attribute__((noinline)) void plain(Call call, void* argument) {
  call(argument);
  touch(argument);
}

__attribute__((noinline)) void with_alloca(Call call, void* argument, unsigned size) {
  void* const memory = alloca(size);
  touch(memory);
  call(argument);
  touch(memory);
}

__attribute__((noinline)) void with_variadic(Call call, void* argument, ...) {
  va_list list;
  va_start(list, argument);
  double sum = 0;
  for (int i = 0; i < 9; ++i) sum += va_arg(list, double);
  touch(&sum);
  call(argument);
  touch(&sum);
  va_end(list);
}

__attribute__((noinline)) void with_large_frame(Call call, void* argument) {
  char memory[200000];
  touch(memory);
  call(argument);
  touch(memory);
}

__attribute__((noinline)) void with_aligned_frame(Call call, void* argument) {
  alignas(64) char memory[100];
  touch(memory);
  call(argument);
  touch(memory);
}

__attribute__((noinline)) void with_many_registers(Call call, void* argument) {
  call(argument);
#if defined(__x86_64__)
  asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
#else
  asm volatile("" : : : "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8");
#endif
}

void through_all(Call call, void* argument) {
  Nested last{call, argument};
  const Call many = [](void* p) {
    with_many_registers(static_cast<Nested*>(p)->call, static_cast<Nested*>(p)->argument);
    touch(p);
  };
  Nested aligned{many, &last};
  const Call in_aligned = [](void* p) {
    with_aligned_frame(static_cast<Nested*>(p)->call, static_cast<Nested*>(p)->argument);
    touch(p);
  };
  Nested large{in_aligned, &aligned};
  const Call in_large = [](void* p) {
    with_large_frame(static_cast<Nested*>(p)->call, static_cast<Nested*>(p)->argument);
    touch(p);
  };
  Nested variadic{in_large, &large};
  const Call in_variadic = [](void* p) {
    with_variadic(static_cast<Nested*>(p)->call, static_cast<Nested*>(p)->argument, 1.0, 2.0, 3.0,
                  4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
    touch(p);
  };
  Nested with{in_variadic, &variadic};
  Call next = [](void* p) {
    plain(static_cast<Nested*>(p)->call, static_cast<Nested*>(p)->argument);
  };
  asm volatile("" : "+r"(next));  // clang makes a copy of a function for a call that it knows
  with_alloca(next, &with, 12345);
  touch(&with);
}
