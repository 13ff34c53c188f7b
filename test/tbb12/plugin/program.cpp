// SPDX-License-Identifier: Apache-2.0
// program [tasks]: compiled with Corbel's headers, linked to libcorbel and to the plug-in. `tasks`,
// for a trace, runs 100 tasks of its own and 200 of the plug-in's, each of which takes a while.
#include <corbel/global_control.hpp>
#include <corbel/info.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <algorithm>
#include <stdexcept>

#include "../life/life.hpp"
#include "plugin.hpp"

namespace {

using Limit = corbel::global_control;

struct Error : std::runtime_error {
  Error() : std::runtime_error("from the program") {}
};

// Passes a function object through the plug-in's C.
template <typename F>
struct Passed {
  static void call(void* f, long i) { (*static_cast<const F*>(f))(i); }
};
template <typename F>
void in_plugin(void (*entry)(long, Call, void*), long n, const F& f) {
  entry(n, &Passed<F>::call, const_cast<void*>(static_cast<const void*>(&f)));
}

long limit() { return long(Limit::active_value(Limit::max_allowed_parallelism)); }

// What is inside at a time, and which threads have been.
struct Inside {
  std::atomic<long> now{0}, most{0};
  Threads threads;

  void enter() {
    threads.visit();
    const long entered = ++now;
    long before = most;
    while (entered > before && !most.compare_exchange_weak(before, entered)) {
    }
  }
  void leave() { --now; }
};

// Both kinds of loops, three deep: the program's, the plug-in's, and the program's again.
void nested() {
  const Limit three(Limit::max_allowed_parallelism, 3);
  Inside inside;
  std::atomic<long> calls{0};
  corbel::parallel_for(0, 20, [&](int) {
    in_plugin(&plugin_loop, 20, [&](long) {
      corbel::parallel_for(0, 20, [&](int) {
        inside.enter();
        ++calls;
        inside.leave();
      });
    });
  });
  say("nested", calls);
  say("no more than three at a time", inside.most <= 3);
  say("no more than three threads", inside.threads.count() <= 3);
  say("of the process", threads_of_process() <= 3);
}

// Three tasks, of both kinds, that wait for each other: three threads must run them.
void together() {
  const Limit three(Limit::max_allowed_parallelism, 3);
  Inside inside;
  const auto meet = [&](long) {
    inside.enter();
    wait_for([&] { return inside.most == 3; });
  };
  corbel::task_arena arena(3);
  arena.execute([&] {
    corbel::task_group group;
    group.run([&] { meet(0); });
    in_plugin(&plugin_group, 2, meet);
    group.wait();
  });
  say("together", inside.threads.count());
  say("of the process", threads_of_process() <= 3);
}

// A thread for each kind, with one limit for both.
void at_the_same_time() {
  const Limit three(Limit::max_allowed_parallelism, 3);
  Threads threads;
  std::atomic<bool> stops{false};
  std::atomic<long> others{0};
  std::thread other([&] {
    while (!stops) {
      in_plugin(&plugin_loop, 100, [&](long) { threads.visit(); });
      ++others;
    }
  });
  for (int i = 0; i < 50 || others < 50; ++i) {
    corbel::parallel_for(0, 100, [&](int) { threads.visit(); });
  }
  // Two threads of the program and two workers.
  say("both at the same time", threads.count() <= 4);
  say("of the process", threads_of_process() <= 4);
  stops = true;
  other.join();
}

void limits() {
  const long usual = limit();
  say("the same limit", plugin_limit() == usual);
  {
    const Limit two(Limit::max_allowed_parallelism, 2);
    say("the program's", plugin_limit());
    void* const one = plugin_set_limit(1);
    say("the plug-in's", limit());
    Threads threads;
    corbel::parallel_for(0, 1000, [&](int) { threads.visit(); });
    in_plugin(&plugin_loop, 1000, [&](long) { threads.visit(); });
    say("one thread", threads.count());
    plugin_unset_limit(one);
    say("the program's again", plugin_limit());
  }
  say("the same limit again", plugin_limit() == usual);
}

template <typename F>
void caught(const char* what, const F& f) {
  try {
    f();
    say(what, "nothing");
  } catch (const Error& error) {
    say(what, error.what());
  } catch (const std::runtime_error& error) {
    say(what, error.what());
  }
}

void exceptions() {
  caught("through the plug-in", [] {
    corbel::parallel_for(0, 10, [](int) {
      in_plugin(&plugin_loop, 10, [](long i) {
        if (i == 5) throw Error();
      });
    });
  });
  caught("through the program", [] {
    in_plugin(&plugin_loop, 10, [](long) {
      corbel::parallel_for(0, 10, [](int i) {
        if (i == 5) plugin_throw();
      });
    });
  });
  caught("through an arena", [] {
    corbel::task_arena arena(2);
    arena.execute([] { in_plugin(&plugin_group, 10, [](long) { throw Error(); }); });
  });
}

void cancellation() {
  constexpr long kMany = 1000000;
  corbel::task_group_context outer;
  std::atomic<long> calls{0};
  std::atomic<bool> is_seen{false};
  corbel::parallel_for(
      0, 1,
      [&](int) {
        in_plugin(&plugin_loop, kMany, [&](long) {
          if (calls++ != 0) return;
          outer.cancel_group_execution();
          is_seen = plugin_is_cancelled() != 0 && corbel::is_current_task_group_canceling();
        });
      },
      outer);
  say("the program's reaches the plug-in", calls < kMany);
  say("and both see it", is_seen);
  calls = 0;
  in_plugin(&plugin_loop_in_context, 1, [&](long) {
    corbel::parallel_for(
        corbel::blocked_range<long>(0, kMany),
        [&](const corbel::blocked_range<long>&) {
          if (calls++ == 0) plugin_cancel();
        },
        corbel::simple_partitioner());
  });
  say("the plug-in's reaches the program", calls < kMany);
}

void arenas() {
  say("the same width", plugin_width() == corbel::this_task_arena::max_concurrency());
  corbel::task_arena arena(3);
  std::atomic<long> wrong{0};
  const auto compare = [&](long) {
    if (plugin_index() != corbel::this_task_arena::current_thread_index()) ++wrong;
    if (plugin_width() != 3 || corbel::this_task_arena::max_concurrency() != 3) ++wrong;
  };
  arena.execute([&] {
    compare(0);
    in_plugin(&plugin_loop, 100, compare);
  });
  const auto inside = [&](long) {
    compare(0);
    corbel::parallel_for(0, 100, [&](int) { compare(0); });
  };
  plugin_in_arena(3, &Passed<decltype(inside)>::call,
                  const_cast<void*>(static_cast<const void*>(&inside)));
  say("wrong in arenas", wrong);
}

// A thread that waits in the isolation of one kind takes no outer task of the other, though it has
// 49 of them in its deque.
void isolation() {
  const Limit one(Limit::max_allowed_parallelism, 1);
  thread_local bool is_isolated = false;
  std::atomic<long> wrong{0}, waits{0};
  const auto wait_long = [&](long in_plug_in) {
    is_isolated = true;
    if (in_plug_in != 0) {
      plugin_wait_long();
    } else {
      corbel::task_group group;
      corbel::task_handle held = group.defer([] {});
      std::thread releases([&held] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        held = corbel::task_handle();
      });
      group.wait();
      releases.join();
    }
    is_isolated = false;
    ++waits;
  };
  for (long kind = 0; kind < 4; ++kind) {
    const auto isolated = [&](long) { wait_long(kind % 2); };
    const auto outer = [&](long i) {
      if (is_isolated) ++wrong;
      if (i != 49) return;
      if (kind < 2) {
        corbel::this_task_arena::isolate([&] { isolated(0); });
      } else {
        plugin_isolated(&Passed<decltype(isolated)>::call,
                        const_cast<void*>(static_cast<const void*>(&isolated)));
      }
    };
    in_plugin(&plugin_group, 50, outer);
    corbel::task_group group;
    for (long i = 0; i < 50; ++i) group.run([&outer, i] { outer(i); });
    group.wait();
  }
  say("waits in isolation", waits);
  say("wrong in isolation", wrong);
}

void ends() {
  say("the plug-in ends the workers", plugin_finalize());
  wait_for([] { return threads_of_process() == 1; });
  nested();
  corbel::task_scheduler_handle handle{corbel::attach{}};
  say("the program does", corbel::finalize(handle, std::nothrow));
  in_plugin(&plugin_loop, 10, [](long) {});
}

void tasks() {
  const auto take_a_while = [](long) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  corbel::task_group group;
  for (int i = 0; i < 100; ++i) group.run([&] { take_a_while(0); });
  group.wait();
  in_plugin(&plugin_group, 200, take_a_while);
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    tasks();
    return 0;
  }
  together();
  nested();
  at_the_same_time();
  limits();
  exceptions();
  cancellation();
  arenas();
  isolation();
  ends();
  return 0;
}
