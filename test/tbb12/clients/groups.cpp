// SPDX-License-Identifier: Apache-2.0
// Groups of tasks and their contexts.
#include "client.hpp"

#include <cfenv>

namespace {

void groups() {
  tbb::task_group group;
  std::atomic<long> count{0};
  for (int i = 0; i < 1000; ++i) group.run([&] { ++count; });
  say("waited", group.wait());
  say("counted", count);
  auto handle = group.defer([&] { ++count; });
  group.run(std::move(handle));
  group.run_and_wait([&] { ++count; });
  say("deferred", count);
  // A body that returns the task to run next.
  group.run([&]() -> tbb::task_handle {
    ++count;
    return group.defer([&] { ++count; });
  });
  group.wait();
  say("bypassed", count);

  tbb::task_group cancelled;
  cancelled.cancel();
  cancelled.run([&] { ++count; });
  say("cancelled", cancelled.wait() == tbb::canceled);
  say("reset", cancelled.wait() == tbb::complete);

  try {
    for (int i = 0; i < 100; ++i) {
      group.run([i] {
        if (i == 42) throw std::runtime_error("forty-two");
      });
    }
    group.wait();
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
  // The parent's cancellation reaches tasks below.
  tbb::task_group_context outer;
  std::atomic<bool> is_inside{false};
  std::atomic<long> seen{0};
  tbb::parallel_for(
      0, 1,
      [&](int) {
        tbb::parallel_for(0, 100000, [&](int) {
          if (!is_inside.exchange(true)) outer.cancel_group_execution();
          ++seen;
        });
      },
      outer);
  say("stopped early", seen < 100000 && outer.is_group_execution_cancelled());
  outer.reset();
  say("not cancelled", !outer.is_group_execution_cancelled());
  try {
    tbb::parallel_for(0, 1000, [](int i) {
      if (i == 500) throw std::string("text");
    });
  } catch (const std::string& text) {
    std::printf("caught: %s\n", text.c_str());
  }
  say("outside", tbb::is_current_task_group_canceling());
}

void suspended() {
  std::thread resumer;
  std::atomic<long> done{0};
  tbb::task_group group;
  for (int i = 0; i < 4; ++i) {
    group.run([&] {
      tbb::task::suspend([&](tbb::task::suspend_point point) {
        std::thread([point] {
          nap(5);
          tbb::task::resume(point);
        }).detach();
      });
      ++done;
    });
  }
  group.wait();
  say("resumed", done);
}

// A loop in `call`, which a task of `outer` makes, after a task of the loop has cancelled `outer`.
template <typename Call>
void cancel_around(const char* name, const Call& call) {
  tbb::task_group_context outer(tbb::task_group_context::isolated);
  std::atomic<long> seen{0};
  bool is_canceling = false;
  long status = 0;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        call([&] {
          tbb::parallel_for(
              0, 1000, [&](int) { outer.cancel_group_execution(); }, tbb::simple_partitioner());
          is_canceling = tbb::is_current_task_group_canceling();
          tbb::parallel_for(0, 1000, [&](int) { ++seen; });
          tbb::task_group group;
          group.run([&] { ++seen; });
          // A thief that takes the task before the wait does not run it either.
          for (int n = 0; n < 20; ++n) std::this_thread::yield();
          status = group.wait();
        });
      },
      outer);
  std::printf("%s: %ld tasks, %d, status %ld\n", name, long(seen), is_canceling, status);
}

void contexts() {
  tbb::task_arena other(2), full(1, 0);
  cancel_around("in the task", [](const auto& f) { f(); });
  cancel_around("in isolation", [](const auto& f) { tbb::this_task_arena::isolate(f); });
  cancel_around("in the same arena", [](const auto& f) {
    tbb::task_arena same{tbb::task_arena::attach()};
    same.execute(f);
  });
  cancel_around("in another arena", [&](const auto& f) { other.execute(f); });
  cancel_around("in another thread", [&](const auto& f) { full.execute(f); });
  cancel_around("there and back", [&](const auto& f) {
    tbb::task_arena here{tbb::task_arena::attach()};
    other.execute([&] { here.execute(f); });
  });
  cancel_around("enqueued", [&](const auto& f) {
    std::atomic<bool> is_done{false};
    other.enqueue([&] {
      f();
      is_done = true;
    });
    wait_for([&] { return is_done.load(); });
  });
  using Context = tbb::task_group_context;
  // An isolated context below a cancelled one, and a bound one.
  for (const auto kind : {Context::isolated, Context::bound}) {
    Context above(Context::isolated), below(kind);
    std::atomic<long> seen{0};
    tbb::parallel_for(
        0, 1,
        [&](int) {
          above.cancel_group_execution();
          tbb::parallel_for(0, 100, [&](int) { ++seen; }, below);
        },
        above);
    say("below", seen);
    say("below is cancelled", below.is_group_execution_cancelled());
  }
  // What an inner loop throws cancels the context around it if it is not caught.
  Context around;
  long inner = -1;
  try {
    tbb::parallel_for(
        0, 100,
        [&](int i) {
          tbb::parallel_for(0, 100, [&](int j) {
            if (i * 100 + j == 5050) throw i * 100 + j;
          });
        },
        around);
  } catch (int thrown) {
    inner = thrown;
  }
  say("thrown", inner);
  say("cancelled", around.is_group_execution_cancelled());
  say("cancels again", around.cancel_group_execution());
  around.reset();
  say("reset", around.is_group_execution_cancelled());
  say("cancels", around.cancel_group_execution());
  Context named(Context::bound, Context::fp_settings | Context::concurrent_wait);
  say("traits", long(named.traits()));
  say("default traits", long(Context().traits()));
}

// A bit for each mode, from the lowest: to nearest, down, up, to zero.
unsigned rounding() {
  const int mode = std::fegetround();
  return mode == FE_TONEAREST ? 1 : mode == FE_DOWNWARD ? 2 : mode == FE_UPWARD ? 4 : 8;
}

void floating_point() {
  using Context = tbb::task_group_context;
  std::fesetround(FE_UPWARD);
  Context up(Context::bound, Context::fp_settings);
  std::fesetround(FE_DOWNWARD);
  Context captured;
  captured.capture_fp_settings();
  std::fesetround(FE_TONEAREST);
  for (Context* context : {&up, &captured}) {
    std::atomic<unsigned> seen{0}, nested{0};
    tbb::parallel_for(
        0, 200,
        [&](int) {
          seen |= rounding();
          tbb::parallel_for(0, 10, [&](int) { nested |= rounding(); });
        },
        *context);
    std::printf("rounding: %x, nested %x, after %x\n", unsigned(seen), unsigned(nested),
                rounding());
  }
  // Tasks without such a context have the settings of the arena, not of the thread that calls.
  std::fesetround(FE_UPWARD);
  std::atomic<unsigned> seen{0}, in_arena{0};
  tbb::parallel_for(0, 100, [&](int) { seen |= rounding(); });
  tbb::task_arena arena(2);
  arena.execute([&] { tbb::parallel_for(0, 100, [&](int) { in_arena |= rounding(); }); });
  std::printf("rounding: %x, in a new arena %x, after %x\n", unsigned(seen), unsigned(in_arena),
              rounding());
  std::fesetround(FE_TONEAREST);
}

void more_groups() {
  try {
    tbb::task_group group;
    // Not over when the group's destructor looks, which cancels it.
    group.run([] { wait_for([] { return tbb::is_current_task_group_canceling(); }); });
  } catch (const tbb::missing_wait&) {
    say("missing wait", 1);
  } catch (const std::exception& error) {
    say("another exception", 1);
  }
  std::atomic<long> count{0};
  try {
    tbb::task_group group;
    group.run([&] { ++count; });
    throw 5;
  } catch (int) {
    say("unwound", 1);
  }
  tbb::isolated_task_group apart;
  thread_local bool is_inside = false;
  std::atomic<bool> is_mixed{false};
  tbb::parallel_for(0, 100, [&](int) {
    if (is_inside) is_mixed = true;
    is_inside = true;
    tbb::isolated_task_group inner;
    for (int i = 0; i < 10; ++i) inner.run([&] { ++count; });
    inner.run_and_wait([&] { ++count; });
    is_inside = false;
  });
  say("mixed", is_mixed);
  apart.run([&] { ++count; });
  say("waited", apart.wait());
  say("counted", count >= 1101);
  // Several threads run tasks in one group and wait for it.
  tbb::task_group shared;
  std::atomic<long> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) shared.run([&] { ++done; });
      shared.wait();
    });
  }
  for (std::thread& t : threads) t.join();
  shared.wait();
  say("done", done);
  // Tasks that put tasks into the group that is waited for.
  std::function<void(int)> grow = [&](int depth) {
    ++done;
    if (depth == 0) return;
    for (int i = 0; i < 3; ++i) shared.run([&, depth] { grow(depth - 1); });
  };
  done = 0;
  shared.run_and_wait([&] { grow(6); });
  say("grown", done);
  auto never = shared.defer([&] { ++done; });
  never = tbb::task_handle();
  say("empty", !never && shared.wait() == tbb::complete);
#if SINCE_2021_6
  tbb::task_group_context mine;
  tbb::task_group in_mine(mine);
  in_mine.run([&] { ++done; });
  in_mine.run_and_wait(in_mine.defer([&] { ++done; }));
  in_mine.run([&] { mine.cancel_group_execution(); });
  say("in mine", in_mine.wait());
#endif
  say("in all", done);
  // A task that throws and one that is cancelled in the same group.
  for (int i = 0; i < 20; ++i) {
    try {
      for (int j = 0; j < 10; ++j)
        shared.run([j] {
          if (j == 5) throw j;
        });
      shared.wait();
      say("not thrown", i);
    } catch (int) {
      ++count;
    }
  }
  say("still usable", shared.run_and_wait([] {}));
#if SINCE_2022_3
  std::string order;
  tbb::task_handle a = shared.defer([&] { order += 'a'; });
  tbb::task_handle b = shared.defer([&] { order += 'b'; });
  tbb::task_handle c = shared.defer([&] { order += 'c'; });
  tbb::task_group::set_task_order(a, b);
  tbb::task_group::set_task_order(b, c);
  shared.run(std::move(c));
  shared.run(std::move(b));
  shared.run(std::move(a));
  shared.wait();
  std::printf("order: %s\n", order.c_str());
  std::atomic<long> sum{0};
  tbb::task_handle last = shared.defer([&] { sum = -sum; });
  std::vector<tbb::task_handle> firsts;
  for (int i = 0; i < 100; ++i) {
    firsts.push_back(shared.defer([&, i] {
      tbb::task_handle rest = shared.defer([&, i] { sum += i; });
      tbb::task_group::transfer_this_task_completion_to(rest);
      shared.run(std::move(rest));
    }));
    tbb::task_group::set_task_order(firsts.back(), last);
  }
  shared.run(std::move(last));
  for (tbb::task_handle& h : firsts) shared.run(std::move(h));
  shared.wait();
  say("ordered sum", sum);
#endif
}

// Suspends the task; another thread resumes it.
void pause() {
  tbb::task::suspend([](tbb::task::suspend_point point) {
    std::thread([point] { tbb::task::resume(point); }).detach();
  });
}

void more_suspended() {
  std::atomic<long> done{0};
  tbb::task_arena arena(2);
  arena.execute([&] {
    tbb::parallel_for(0, 20, [&](int) {
      pause();
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(0, 2, [&](int) {
          pause();
          ++done;
        });
      });
    });
  });
  say("paused in a loop", done);
  pause();
  say("paused outside of tasks", 1);
  // Resumed at once, in the callback.
  tbb::task_group group;
  for (int i = 0; i < 50; ++i) {
    group.run([&] {
      tbb::task::suspend([](tbb::task::suspend_point point) { tbb::task::resume(point); });
      ++done;
    });
  }
  group.wait();
  say("resumed at once", done);
  // By a task of the same group.
  group.run([&] {
    tbb::task::suspend(
        [&](tbb::task::suspend_point point) { group.run([point] { tbb::task::resume(point); }); });
    ++done;
  });
  group.wait();
  say("resumed by a task", done);
  long in_context = 0;
  tbb::task_group_context context;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        pause();
        in_context = !tbb::is_current_task_group_canceling();
        context.cancel_group_execution();
        pause();
        in_context += tbb::is_current_task_group_canceling();
      },
      context);
  say("in its context", in_context);
}

}  // namespace

int main() {
  groups();
  suspended();
  contexts();
  floating_point();
  more_groups();
  more_suspended();
  std::puts("end");
  return 0;
}
