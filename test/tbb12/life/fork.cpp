// SPDX-License-Identifier: Apache-2.0
// fork: children of a process whose workers sleep or run. The original library promises nothing
// here: its children have no workers and never start new ones, and some hang.
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <sys/wait.h>
#include <unistd.h>

#include "meeting.hpp"

namespace {

// The exit code of a child that makes the call.
template <typename Call>
long child(const Call& call) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(30);  // one that hangs must end, before the test gives up
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void compute() {
  std::atomic<long> sum{0};
  tbb::parallel_for(0, 10000, [&](int i) { sum += i; });
  tbb::task_group group;
  for (int i = 0; i < 100; ++i) group.run([&] { ++sum; });
  group.wait();
  if (sum != 49995000 + 100) _exit(1);
}

void enqueue() {
  std::atomic<long> done{0};
  tbb::task_arena arena(1);
  for (int i = 0; i < 10; ++i) arena.enqueue([&] { ++done; });
  wait_for([&] { return done == 10; });
}

// A loop in which a worker takes part.
void use_worker() {
  tbb::task_arena arena(2);
  meet(arena, 2);
}

}  // namespace

int main() {
  say("before any use", child(&compute));
  compute();
  say("after a use", child(&compute));
  say("a grandchild", child([] { _exit(int(child(&compute))); }));
  for (int i = 0; i < 20; ++i) {
    if (const long code = child(&compute)) say("again", code);
  }
  // A worker runs a task that does not end until the child has.
  std::atomic<bool> is_inside{false}, may_end{false};
  tbb::task_arena arena(2, 1);
  arena.enqueue([&] {
    is_inside = true;
    wait_for([&] { return may_end.load(); });
    is_inside = false;
  });
  wait_for([&] { return is_inside.load(); });
  say("while a worker runs", child(&compute));
  may_end = true;
  wait_for([&] { return !is_inside; });
  say("workers of the child", child(&use_worker));
  say("enqueued in the child", child([] {
        std::atomic<bool> done{false};
        tbb::this_task_arena::enqueue([&] { done = true; });
        wait_for([&] { return done.load(); });
        enqueue();
      }));
  say("inside a task", [] {
    long code = -1;
    tbb::task_group group;
    group.run_and_wait([&] {
      code = child([] {
        compute();
        use_worker();
      });
    });
    return code;
  }());
  say("inside a worker's task", [&] {
    std::atomic<long> code{-1};
    arena.enqueue([&] {
      code = child([] {
        compute();
        use_worker();
        enqueue();
      });
    });
    wait_for([&] { return code != -1; });
    return code.load();
  }());
  say("inside an arena", arena.execute([&] { return child(&use_worker); }));
  std::atomic<bool> stops{false};
  std::thread spawns([&] {
    while (!stops) compute();
  });
  long failed = 0;
  for (int i = 0; i < 20; ++i) {
    failed += child([] {
                compute();
                use_worker();
                enqueue();
              }) != 0;
  }
  stops = true;
  spawns.join();
  say("children that failed", failed);
  compute();
  return 0;
}
