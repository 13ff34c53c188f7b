// SPDX-License-Identifier: Apache-2.0
// task_scheduler_handle: its end with and without waiting, the failures, and use of the library
// afterwards.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "life.hpp"

namespace {

void compute() {
  std::atomic<long> count{0};
  tbb::parallel_for(0, 1000, [&](int) { ++count; });
  if (count != 1000) say("wrong", count);
}

// Starts a worker.
void use_worker() {
  std::atomic<bool> has_run{false};
  tbb::task_arena arena(2, 1);
  arena.enqueue([&] { has_run = true; });
  wait_for([&] { return has_run.load(); });
}

const char* outcome(tbb::task_scheduler_handle& handle) {
  try {
    tbb::finalize(handle);
    return "ended";
  } catch (const tbb::unsafe_wait& error) {
    return error.what()[0] != 0 ? "unsafe_wait" : "unsafe_wait without a text";
  }
}

}  // namespace

int main() {
  tbb::task_scheduler_handle empty;
  say("empty", !empty);
  say("the end of an empty one", tbb::finalize(empty, std::nothrow));
  empty.release();

  tbb::task_scheduler_handle first{tbb::attach{}};
  say("attached", bool(first));
  compute();
  use_worker();
  say("ended", tbb::finalize(first, std::nothrow));
  say("left empty", !first);
  wait_for([] {
    return threads_of_process() == 1;
  });  // a thread that has been joined may still be listed
  say("threads", threads_of_process());

  for (int i = 0; i < 10; ++i) {
    tbb::task_scheduler_handle again{tbb::attach{}};
    compute();
    use_worker();
    if (const char* how = outcome(again); how[0] != 'e') say("again", how);
  }
  compute();

  tbb::task_scheduler_handle released{tbb::attach{}};
  released.release();
  say("released", !released);
  tbb::task_scheduler_handle moved{tbb::attach{}}, target;
  target = std::move(moved);
  say("moved", bool(target) && !moved);
  tbb::task_scheduler_handle constructed(std::move(target));
  say("moved again", bool(constructed) && !target);
  use_worker();
  say("the end of it", outcome(constructed));

  // Inside a task the workers cannot be waited for.
  {
    tbb::task_scheduler_handle inside{tbb::attach{}};
    tbb::task_scheduler_handle throws{tbb::attach{}};
    tbb::task_group group;
    group.run_and_wait([&] {
      say("inside a task", tbb::finalize(inside, std::nothrow));
      say("throwing", outcome(throws));
    });
    say("both are empty", !inside && !throws);
  }
  {
    tbb::task_scheduler_handle inside{tbb::attach{}};
    std::atomic<long> ended{-1};
    tbb::task_arena arena(2, 1);
    arena.enqueue([&] { ended = tbb::finalize(inside, std::nothrow); });
    wait_for([&] { return ended != -1; });
    say("in a worker", ended);
  }
  // Another handle keeps the workers.
  {
    tbb::task_scheduler_handle one{tbb::attach{}}, two{tbb::attach{}};
    use_worker();
    say("the first of two", tbb::finalize(one, std::nothrow));
    say("the second of two", tbb::finalize(two, std::nothrow));
  }
  // A thread of the program that has used the library, and one that has ended.
  {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    std::thread([] { compute(); }).join();
    say("after another thread", tbb::finalize(handle, std::nothrow));
  }
  compute();
  use_worker();
  say("used afterwards", 1);
  return 0;
}
