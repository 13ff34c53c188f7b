// SPDX-License-Identifier: Apache-2.0
// Stacks of compiled functions.
#include <cstring>
#include <thread>

#include "shapes.hpp"
#include "unwind_test.hpp"

namespace {

using unwind_test::count_in;
using unwind_test::Frames;
using unwind_test::is_in;
using unwind_test::position;

Frames captured;

void keep_stack(void*) {
  captured = unwind_test::stack_here();
  asm volatile("" : : : "memory");
}

__attribute__((noinline)) void recurse(unsigned depth) {
  if (depth > 1)
    recurse(depth - 1);
  else
    keep_stack(nullptr);
  asm volatile("" : : : "memory");
}

TEST_CASE(every_recursive_call_is_a_frame) {
  for (const unsigned depth : {1U, 2U, 17U, 300U}) {
    recurse(depth);
    CHECK(is_in(captured[0], keep_stack));
    CHECK(position(captured, recurse) == 1);
    CHECK(count_in(captured, recurse) == depth);
    CHECK(is_in(captured[depth + 1], every_recursive_call_is_a_frame));
    CHECK(count_in(captured, main) == 1);
  }
}

__attribute__((noinline)) unsigned capture_some(void** frames, unsigned max, unsigned skip) {
  const unsigned count = corbel::unwind::capture(frames, max, skip);
  asm volatile("" : : : "memory");
  return count;
}

TEST_CASE(a_short_list_has_the_innermost_frames) {
  void* all[100];
  const unsigned count = capture_some(all, 100, 0);
  CHECK(count >= 3 && count < 100);
  for (unsigned max = 0; max <= count; ++max) {
    void* some[100] = {};
    // The second calls have another return address into this function.
    CHECK(capture_some(some, max, 0) == max);
    CHECK(some[max] == nullptr);
    for (unsigned i = 2; i < max; ++i) CHECK(some[i] == all[i]);
  }
  for (unsigned skip = 2; skip <= count; ++skip) {
    void* rest[100] = {};
    CHECK(capture_some(rest, 100, skip) == count - skip);
    CHECK(std::memcmp(rest, all + skip, (count - skip) * sizeof(void*)) == 0);
  }
  CHECK(capture_some(all, 100, count + 1) == 0);
}

TEST_CASE(all_shapes_of_frames) {
  Frames by_libgcc;
  struct Both {
    static void keep(void* argument) {
      captured = unwind_test::stack_here();
      *static_cast<Frames*>(argument) = unwind_test::stack_by_libgcc();
      asm volatile("" : : : "memory");
    }
  };
  through_all(Both::keep, &by_libgcc);
  CHECK(count_in(captured, plain) == 1);
  CHECK(count_in(captured, with_alloca) == 1);
  CHECK(count_in(captured, with_variadic) == 1);
  CHECK(count_in(captured, with_large_frame) == 1);
  CHECK(count_in(captured, with_aligned_frame) == 1);
  CHECK(count_in(captured, with_many_registers) == 1);
  CHECK(count_in(captured, main) == 1);
  CHECK(captured.size() == by_libgcc.size());
  captured[0] = by_libgcc[0] = nullptr;  // two calls in one function
  CHECK(captured == by_libgcc);
}

int compare(const void*, const void*) {
  keep_stack(nullptr);
  return 0;
}

TEST_CASE(through_qsort) {
  int numbers[2] = {1, 2};
  std::qsort(numbers, 2, sizeof numbers[0], compare);
  CHECK(is_in(captured[1], compare));
  const std::size_t at = position(captured, through_qsort);
  CHECK(at > 2 && at < captured.size());
  CHECK(count_in(captured, main) == 1);
}

TEST_CASE(in_a_thread) {
  std::thread([] { recurse(20); }).join();
  CHECK(count_in(captured, recurse) == 20);
  const Frames first = captured;
  std::thread([] {
    char memory[300000];
    asm volatile("" : : "r"(memory) : "memory");
    recurse(5000);
    recurse(20);
  }).join();
  CHECK(count_in(captured, recurse) == 20);
  // The thread library's first function is the last frame.
  CHECK(!captured.empty() && !first.empty() && captured.back() == first.back());
}

}  // namespace
