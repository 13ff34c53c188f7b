// SPDX-License-Identifier: Apache-2.0
// A program of tests without GoogleTest, which a cross build does not have.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "unwind/unwind.hpp"

#define CHECK(condition) unwind_test::check((condition), #condition, __FILE__, __LINE__)

// Defines a test, which main() runs.
#define TEST_CASE(name)                                                \
  static void name();                                                  \
  static const unwind_test::Registered registered_##name{#name, name}; \
  static void name()

namespace unwind_test {

struct Registered {
  Registered(const char* name, void (*run)());
};

void check(bool holds, const char* condition, const char* file, int line);

// Ends the test that runs, which cannot be done here.
struct Skip {
  const char* why;
};

using Frames = std::vector<void*>;

// Whether the call that returns to `frame` is in the function.
bool is_in(void* frame, const void* function);
template <class F>
bool is_in(void* frame, F* function) {
  return is_in(frame, reinterpret_cast<const void*>(function));
}

// How many of the frames are in the function.
template <class F>
unsigned count_in(const Frames& frames, F* function) {
  unsigned count = 0;
  for (void* frame : frames) count += is_in(frame, function) ? 1 : 0;
  return count;
}

// The position of the first frame in the function; frames.size() if there is none.
template <class F>
std::size_t position(const Frames& frames, F* function) {
  std::size_t i = 0;
  while (i < frames.size() && !is_in(frames[i], function)) ++i;
  return i;
}

// The stack of the caller.
__attribute__((noinline)) Frames stack_here();

// The stack as libgcc sees it, from the caller on.
__attribute__((noinline)) Frames stack_by_libgcc();

void print(const char* title, const Frames& frames);

int main(int argc, char** argv);

}  // namespace unwind_test

// The program's own.
int main(int argc, char** argv);
