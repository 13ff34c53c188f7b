// SPDX-License-Identifier: Apache-2.0
// exceptions PLUGIN: exceptions that cross the border between the program and the library, also
// those of a type that only the plug-in knows.
#include <tbb/concurrent_vector.h>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "life.hpp"

namespace {

std::atomic<long> alive{0};

struct Error : std::runtime_error {
  Error() : std::runtime_error("own") { ++alive; }
  Error(const Error& e) : std::runtime_error(e) { ++alive; }
  ~Error() override { --alive; }
};

template <typename Call>
void caught(const char* what, const Call& call) {
  try {
    call();
    say(what, "nothing");
  } catch (const Error&) {
    say(what, "own");
  } catch (const std::bad_alloc&) {
    say(what, "bad_alloc");
  } catch (const tbb::missing_wait& error) {
    say(what, error.what()[0] != 0 ? "missing_wait" : "missing_wait without a text");
  } catch (const std::exception& error) {
    say(what, error.what());
  } catch (int number) {
    say(what, number);
  }
  if (alive != 0) say("exceptions left", alive);
}

// Its copies throw, once there are enough of them.
struct Body {
  std::atomic<int>* copies;
  explicit Body(std::atomic<int>* c) : copies(c) {}
  Body(const Body& other) : copies(other.copies) {
    if (++*copies == 5) throw Error();
  }
  Body(Body& other, tbb::split) : Body(static_cast<const Body&>(other)) {}
  void operator()(const tbb::blocked_range<int>&) const {}
  void join(Body&) {}
};
struct ReduceBody : Body {
  using Body::Body;
  ReduceBody(ReduceBody& other, tbb::split s) : Body(other, s) {}
};

// Its copies throw always.
struct NoCopy {
  NoCopy() = default;
  NoCopy(const NoCopy&) { throw Error(); }
  void operator()() const {}
};

void from_algorithms() {
  caught("parallel_for", [] {
    tbb::parallel_for(0, 1000, [](int i) {
      if (i == 777) throw Error();
    });
  });
  caught("all bodies", [] { tbb::parallel_for(0, 1000, [](int) { throw Error(); }); });
  caught("nested", [] {
    tbb::parallel_for(0, 10, [](int) {
      tbb::parallel_for(0, 10, [](int i) {
        if (i == 7) throw Error();
      });
    });
  });
  caught("int", [] { tbb::parallel_invoke([] { throw 3; }, [] {}); });
  caught("bad_alloc", [] {
    tbb::parallel_for(0, 100, [](int i) {
      if (i == 50) throw std::bad_alloc();
    });
  });
  caught("for_each", [] {
    std::vector<int> v(100);
    tbb::parallel_for_each(v.begin(), v.end(), [](int) { throw Error(); });
  });
  caught("copies of a body", [] {
    std::atomic<int> copies{0};
    tbb::parallel_for(tbb::blocked_range<int>(0, 1000, 1), Body(&copies),
                      tbb::simple_partitioner());
  });
  caught("splitting a body", [] {
    std::atomic<int> copies{0};
    ReduceBody body(&copies);
    // Splits the body as often as the range, also in one thread.
    tbb::parallel_deterministic_reduce(tbb::blocked_range<int>(0, 1000, 1), body,
                                       tbb::simple_partitioner());
  });
}

void from_tasks() {
  caught("task_group", [] {
    tbb::task_group group;
    group.run([] { throw Error(); });
    group.wait();
  });
  caught("copies of a task", [] {
    tbb::task_group group;
    NoCopy body;
    try {
      group.run(body);
    } catch (...) {
      group.wait();
      throw;
    }
  });
  caught("a group after it", [] {
    tbb::task_group group;
    for (int round = 0; round < 3; ++round) {
      group.run([] { throw Error(); });
      try {
        group.wait();
      } catch (const Error&) {
      }
    }
    group.run([] {});
    say("status", group.wait() == tbb::complete);
  });
  caught("inside a running task", [] {
    tbb::task_group group;
    group.run_and_wait([] {
      tbb::task_group inner;
      inner.run([] { throw Error(); });
      inner.wait();
    });
  });
  caught("missing wait", [] {
    tbb::task_group group;
    // Not done before the destructor, which cancels it, unless it has not begun by then.
    group.run([] { wait_for(&tbb::is_current_task_group_canceling); });
  });
}

void from_arenas() {
  tbb::task_arena arena(2);
  caught("execute", [&] { arena.execute([] { throw Error(); }); });
  caught("parallel_for in execute",
         [&] { arena.execute([] { tbb::parallel_for(0, 100, [](int) { throw Error(); }); }); });
  caught("isolate", [&] { tbb::this_task_arena::isolate([] { throw Error(); }); });
  // A call into a full arena is made by another thread.
  tbb::task_arena narrow(1);
  std::atomic<bool> is_inside{false}, may_end{false}, has_called{false};
  std::thread occupies([&] {
    narrow.execute([&] {
      is_inside = true;
      wait_for([&] { return may_end.load(); });
    });
  });
  wait_for([&] { return is_inside.load(); });
  std::thread calls([&] {
    has_called = true;
    caught("execute in a full arena", [&] { narrow.execute([] { throw Error(); }); });
  });
  wait_for([&] { return has_called.load(); });
  may_end = true;
  occupies.join();
  calls.join();
}

void from_pipelines() {
  using tbb::filter_mode;
  for (int thrower = 0; thrower < 3; ++thrower) {
    caught("filter", [&] {
      int next = 0;
      tbb::parallel_pipeline(
          4, tbb::make_filter<void, std::string>(filter_mode::serial_in_order,
                                                 [&](tbb::flow_control& control) {
                                                   if (thrower == 0 && next == 20) throw Error();
                                                   if (next++ == 100) control.stop();
                                                   return std::string(100, 'x');
                                                 }) &
                 tbb::make_filter<std::string, std::string>(filter_mode::parallel,
                                                            [&](std::string s) {
                                                              if (thrower == 1) throw Error();
                                                              return s;
                                                            }) &
                 tbb::make_filter<std::string, void>(filter_mode::serial_out_of_order,
                                                     [&](const std::string&) {
                                                       if (thrower == 2) throw Error();
                                                     }));
    });
  }
}

void from_graphs() {
  caught("graph", [] {
    tbb::flow::graph g;
    tbb::flow::function_node<int, int> node(g, tbb::flow::unlimited, [](int i) {
      if (i == 5) throw Error();
      return i;
    });
    for (int i = 0; i < 10; ++i) node.try_put(i);
    g.wait_for_all();
  });
}

void from_plugin(const char* path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) std::puts(dlerror());
  const auto throws = reinterpret_cast<void (*)()>(dlsym(plugin, "throws_private"));
  const auto loops = reinterpret_cast<void (*)()>(dlsym(plugin, "throws_in_loop"));
  caught("a plug-in's type", [&] { loops(); });
  caught("a plug-in's type from our loop",
         [&] { tbb::parallel_for(0, 100, [&](int) { throws(); }); });
  caught("a plug-in's type from our task", [&] {
    tbb::task_group group;
    group.run([&] { throws(); });
    group.wait();
  });
  dlclose(plugin);
}

// The exit code of a child in which the call ends the program.
template <typename Call>
void ends(const char* what, const Call& call) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    std::set_terminate([] { _exit(42); });
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  say(what, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

void ends_program() {
  ends("noexcept body", [] { tbb::parallel_for(0, 10, [](int) noexcept { throw Error(); }); });
  ends("terminate_on_exception", [] {
    const tbb::global_control control(tbb::global_control::terminate_on_exception, 1);
    try {
      tbb::parallel_for(0, 10, [](int) { throw Error(); });
    } catch (...) {
    }
  });
  ends("terminate_on_exception, without a task", [] {
    const tbb::global_control control(tbb::global_control::terminate_on_exception, 1);
    const tbb::concurrent_vector<int> three(3);
    try {
      three.at(5);
    } catch (...) {
    }
  });
}

}  // namespace

int main(int, char** arguments) {
  ends_program();  // first, while the process has one thread
  from_algorithms();
  from_tasks();
  from_arenas();
  from_pipelines();
  from_graphs();
  from_plugin(arguments[1]);
  return 0;
}
