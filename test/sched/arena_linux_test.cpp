// SPDX-License-Identifier: Apache-2.0
// What is tested of arenas where the system tells whether a thread sleeps.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace {

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S") != std::string::npos;
}

// The call could wait for the task, which would wait for the call.
TEST(Arena, NoCallIsMadeOnTopOfATask) {
  tbb::task_arena a(2, 2), b(2, 2);
  tbb::task_group group, gate;
  tbb::task_handle opens = gate.defer([] {});
  std::atomic<bool> holder_is_in{false}, leave{false}, is_in_task{false};
  std::atomic<pid_t> caller{0};
  std::thread holder([&] {
    b.execute([&] {
      holder_is_in = true;
      wait_for(leave);
    });
  });
  wait_for(holder_is_in);
  // Waits in b for the gate, within a task of the group. Then b has no free slot.
  std::thread runner([&] {
    a.execute([&] {
      group.run_and_wait([&] {
        b.execute([&] {
          is_in_task = true;
          gate.wait();
        });
      });
    });
  });
  wait_for(is_in_task);
  std::atomic<bool> made{false}, on_top{false};
  std::thread waiter([&] {
    caller = pid_t(syscall(SYS_gettid));
    b.execute([&] {
      on_top = std::this_thread::get_id() == runner.get_id();
      made = true;
      if (!on_top) group.wait();
    });
  });
  // Once the caller sleeps, its call is in the queue. The next task there comes after it.
  while (!made && (caller == 0 || !sleeps(caller))) std::this_thread::yield();
  std::atomic<bool> marked{false};
  b.enqueue([&] { marked = true; });
  wait_for(marked);
  gate.run_and_wait(std::move(opens));
  runner.join();
  waiter.join();
  leave = true;
  holder.join();
  EXPECT_FALSE(on_top);
}

}  // namespace
