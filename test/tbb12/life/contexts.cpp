// SPDX-License-Identifier: Apache-2.0
// Which contexts calls are in, and what reaches them of a cancellation.
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cfenv>

#include "life.hpp"

namespace {

// How many bodies run in what `enter` calls, in a loop that has been cancelled.
template <typename Enter>
long in_cancelled_loop(const Enter& enter) {
  std::atomic<long> count{0};
  tbb::task_group_context context;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        context.cancel_group_execution();
        enter([&] { tbb::parallel_for(0, 100, [&](int) { ++count; }); });
      },
      context);
  return count;
}

void cancelled() {
  tbb::task_arena arena(2);
  say("a call", in_cancelled_loop([](const auto& call) { call(); }));
  say("in an arena", in_cancelled_loop([&](const auto& call) { arena.execute(call); }));
  arena.execute([&] {
    say("in the same arena", in_cancelled_loop([&](const auto& call) { arena.execute(call); }));
    say("after it", in_cancelled_loop([&](const auto& call) {
          arena.execute([] {});
          call();
        }));
  });
  say("isolated",
      in_cancelled_loop([&](const auto& call) { tbb::this_task_arena::isolate(call); }));
}

void current() {
  std::atomic<int> seen{-1};
  tbb::task_arena arena(1);
  arena.enqueue([&] { seen = tbb::task::current_context() != nullptr; });
  wait_for([&] { return seen != -1; });
  say("enqueued tasks have one", seen);
  tbb::parallel_for(0, 1, [&](int) { seen = tbb::task::current_context() != nullptr; });
  say("bodies have one", seen);
  say("none outside", tbb::task::current_context() == nullptr);
}

// The settings of the task that enqueues first do not stay for enqueued tasks. First of all.
void first_enqueue() {
  using Context = tbb::task_group_context;
  std::fesetround(FE_UPWARD);
  Context upward(Context::isolated, Context::default_traits | Context::fp_settings);
  std::fesetround(FE_TONEAREST);
  tbb::task_arena arena(1);
  arena.initialize();
  std::atomic<int> seen{-1};
  const auto enqueue = [&] { arena.enqueue([&] { seen = std::fegetround(); }); };
  tbb::parallel_for(0, 1, [&](int) { enqueue(); }, upward);
  wait_for([&] { return seen != -1; });
  say("the first enqueued task rounds to the nearest", seen == FE_TONEAREST);
  seen = -1;
  enqueue();
  wait_for([&] { return seen != -1; });
  say("and the second", seen == FE_TONEAREST);
}

void floating_point() {
  using Context = tbb::task_group_context;
  std::fesetround(FE_UPWARD);
  Context context(Context::bound, Context::default_traits | Context::fp_settings);
  std::fesetround(FE_TONEAREST);
  std::atomic<long> upward{0};
  tbb::parallel_for(
      0, 100,
      [&](int) { tbb::parallel_for(0, 2, [&](int) { upward += std::fegetround() == FE_UPWARD; }); },
      context);
  say("rounding upward", upward);
  say("to the nearest afterwards", std::fegetround() == FE_TONEAREST);
}

// Asking for the width of the arena gives a thread none.
void without_arena() {
  std::thread([] {
    const bool is_usual =
        tbb::this_task_arena::max_concurrency() == tbb::info::default_concurrency();
    say("the usual width", is_usual);
    say("no slot", tbb::this_task_arena::current_thread_index());
  }).join();
}

}  // namespace

int main() {
  first_enqueue();
  cancelled();
  current();
  floating_point();
  without_arena();
  return 0;
}
