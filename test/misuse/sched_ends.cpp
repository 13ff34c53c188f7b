// SPDX-License-Identifier: Apache-2.0
// Processes that fork or end in the middle of a parallel call, or that cannot start threads.
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <thread>
#include <vector>

#include "sched_misuse.hpp"

namespace misuse {
namespace {

void busy(std::atomic<int>* calls, int depth) {
  ++*calls;
  if (depth == 0) return test::work_a_little();
  corbel::parallel_invoke([=] { busy(calls, depth - 1); }, [=] { busy(calls, depth - 1); });
}

// ---- fork

// In a body, in whichever thread runs it. The child only ends.
void fork_in_a_body() {
  std::atomic<int> children{0};
  const std::vector<int> items(64);
  corbel::parallel_for_each(items, [&](int) {
    std::atomic<int> calls{0};
    busy(&calls, 3);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    if (waitpid(child, &status, 0) == child && status == 0) ++children;
  });
  say("%d children", int(children));
}

// After the call, while there are workers. The child makes parallel calls itself.
void fork_after_a_call() {
  std::atomic<int> calls{0};
  busy(&calls, 8);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> own{0};
    busy(&own, 8);
    corbel::task_group group;
    for (int i = 0; i < 100; ++i) group.run([&own] { ++own; });
    group.wait();
    _exit(own == 511 + 100 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  busy(&calls, 8);
  say("%d calls, the child ends with %d", int(calls), status);
}

// ---- the end

void exit_in_a_body() {
  corbel::task_group group;
  std::atomic<int> calls{0};
  for (int i = 0; i < 100; ++i) group.run([&] { busy(&calls, 5); });
  group.run([] {
    say("on the way out");
    std::exit(7);
  });
  group.wait();
}

// In a worker, if one comes.
void exit_in_a_worker() {
  const std::thread::id self = std::this_thread::get_id();
  corbel::task_group group;
  std::atomic<bool> come{false};
  group.run([&] {
    come = true;
    if (std::this_thread::get_id() != self) {
      say("on the way out");
      std::exit(7);
    }
  });
  test::wait_for([&] { return come.load(); }, 20000);
  test::wait_for([] { return false; }, 20000);
}

void exit_with_enqueued_tasks() {
  corbel::task_arena arena(2);
  static std::atomic<int> calls;
  for (int i = 0; i < 1000; ++i) {
    arena.enqueue([] {
      ++calls;
      test::work_a_little();
    });
  }
  say("on the way out");
  std::exit(7);
}

void quick_exit_in_a_body() {
  corbel::parallel_invoke([] { test::work_a_little(); },
                          [] {
                            say("on the way out");
                            std::quick_exit(7);
                          });
}

// ---- the main thread leaves, and the process lives on until its last thread ends

// The thread sanitizer has a thread of its own that never ends, and cannot join the main thread.
void needs_leaving() {
#if defined(__SANITIZE_THREAD__)
  _exit(77);
#endif
}

// Nor can clang's address sanitizer join it.
void needs_main_joined() {
  needs_leaving();
#if defined(__SANITIZE_ADDRESS__) && defined(__clang__)
  _exit(77);
#endif
}

void leave_after_a_call() {
  needs_leaving();
  std::atomic<int> calls{0};
  busy(&calls, 8);
  say("on the way out");
  pthread_exit(nullptr);
}

// Another thread, which the library has not seen before, uses it when the main thread has gone.
void leave_before_another_calls() {
  needs_main_joined();
  std::atomic<int> calls{0};
  busy(&calls, 8);
  std::thread([main = pthread_self()] {
    pthread_join(main, nullptr);
    for (int i = 0; i < 20; ++i) {
      std::thread([] {
        std::atomic<int> own{0};
        busy(&own, 8);
        if (own != 511) say("%d calls", int(own));
      }).join();
    }
    say("on the way out");
  }).detach();
  pthread_exit(nullptr);
}

void leave_with_enqueued_tasks() {
  needs_leaving();
  static std::atomic<int> calls;
  static corbel::task_arena arena(2);
  std::atexit([] { say("%d calls", int(calls)); });
  for (int i = 0; i < 1000; ++i) {
    arena.enqueue([] {
      ++calls;
      test::work_a_little();
    });
  }
  pthread_exit(nullptr);
}

// The only thread that is left runs a task that does not end. The signal is for the process.
void leave_and_be_terminated() {
  needs_main_joined();
  static corbel::task_arena arena(2);
  arena.enqueue([main = pthread_self()] {
    pthread_join(main, nullptr);
    say("on the way out");
    kill(getpid(), SIGTERM);
    for (;;) pause();
  });
  pthread_exit(nullptr);
}

// As above. The handler runs in a thread that does not block the signal, so not in the worker.
void leave_and_handle() {
  needs_main_joined();
  static std::atomic<bool> handled;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (!sigismember(&blocked, SIGUSR2)) handled = true;
  };
  sigaction(SIGUSR1, &action, nullptr);
  static corbel::task_arena arena(2);
  arena.enqueue([main = pthread_self()] {
    pthread_join(main, nullptr);
    kill(getpid(), SIGUSR1);
    while (!handled) std::this_thread::yield();
    say("on the way out");
  });
  pthread_exit(nullptr);
}

void leave_in_a_child() {
  needs_leaving();
  std::atomic<int> calls{0};
  busy(&calls, 8);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> own{0};
    busy(&own, 8);
    pthread_exit(nullptr);
  }
  int status = -1;
  waitpid(child, &status, 0);
  say("the child ends with %d", status);
}

// ---- no threads

// From now on the system refuses new threads.
void forbid_threads() {
  const rlimit none = {0, 0};
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(77);
  if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(77);
  try {
    std::thread([] {}).join();
    _exit(77);
  } catch (const std::system_error&) {
  }
}

void no_threads() {
  forbid_threads();
  std::atomic<int> calls{0};
  busy(&calls, 6);
  corbel::task_group group;
  for (int i = 0; i < 100; ++i) group.run([&calls] { ++calls; });
  group.wait();
  corbel::task_arena arena(4);
  arena.execute([&] { busy(&calls, 6); });
  say("%d calls", int(calls));
}

// Only the program's own thread can run them, when it enters the arena.
void no_threads_for_enqueued_tasks() {
  forbid_threads();
  corbel::task_arena arena(2);
  corbel::task_group group;
  int calls = 0;
  for (int i = 0; i < 100; ++i) arena.enqueue(group.defer([&calls] { ++calls; }));
  arena.wait_for(group);
  say("%d calls", calls);
}

// The existing threads continue.
void no_more_threads() {
  std::atomic<int> calls{0};
  busy(&calls, 6);
  forbid_threads();
  busy(&calls, 6);
  say("%d calls", int(calls));
}

}  // namespace

extern const Case end_cases[];
const Case end_cases[] = {{"fork-in-a-body", fork_in_a_body},
                          {"fork-after-a-call", fork_after_a_call},
                          {"exit-in-a-body", exit_in_a_body},
                          {"exit-in-a-worker", exit_in_a_worker},
                          {"exit-with-enqueued-tasks", exit_with_enqueued_tasks},
                          {"quick-exit-in-a-body", quick_exit_in_a_body},
                          {"leave-after-a-call", leave_after_a_call},
                          {"leave-before-another-calls", leave_before_another_calls},
                          {"leave-with-enqueued-tasks", leave_with_enqueued_tasks},
                          {"leave-and-be-terminated", leave_and_be_terminated},
                          {"leave-and-handle", leave_and_handle},
                          {"leave-in-a-child", leave_in_a_child},
                          {"threads-none", no_threads},
                          {"threads-none-for-enqueued-tasks", no_threads_for_enqueued_tasks},
                          {"threads-no-more", no_more_threads},
                          {nullptr, nullptr}};

}  // namespace misuse
