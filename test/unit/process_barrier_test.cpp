// SPDX-License-Identifier: Apache-2.0
// The process barrier in a sandbox that forbids membarrier(2) after its first use, for all threads.
// Each test runs in a child process, because a filter of system calls stays for good.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "corbel/parallel_for.hpp"
#include "corbel/task_arena.hpp"
#include "corbel/task_group.hpp"
#include "os/os.hpp"
#include "process_barrier_order.hpp"

namespace corbel::os {
namespace {

constexpr int kGood = 3;
constexpr int kSkipped = 77;

void forbid(std::initializer_list<long> calls, unsigned error) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(kSkipped);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    _exit(kSkipped);
  }
}

// Runs `what` in a child with a process barrier, and returns the child's wait status.
template <class What>
int status_of(What what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);
    if (!enable_process_barrier()) _exit(kSkipped);
    process_barrier();
    what();
    _exit(kGood);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

#define SKIP_OR_EXPECT_GOOD(status)                                                     \
  do {                                                                                  \
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);                    \
    if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no filter, or no membarrier"; \
    EXPECT_EQ(WEXITSTATUS(status), kGood);                                              \
  } while (false)

TEST(ProcessBarrier, OrdersWithoutMembarrierToo) {
  for (const unsigned error : {1U, 38U}) {  // EPERM, ENOSYS
    const int status = status_of([error] {
      forbid({SYS_membarrier}, error);
      cpu_set_t before;
      cpu_set_t after;
      if (sched_getaffinity(0, sizeof before, &before) != 0) _exit(1);
      if (!barrier_orders_stores()) _exit(1);
      if (sched_getaffinity(0, sizeof after, &after) != 0) _exit(1);
      if (CPU_EQUAL(&before, &after) == 0 || !has_process_barrier()) _exit(2);
    });
    SKIP_OR_EXPECT_GOOD(status);
  }
}

TEST(ProcessBarrier, TheSchedulerGoesOn) {
  const int status = status_of([] {
    task_arena arena(4);
    const auto work = [&arena] {
      std::atomic<int> sum{0};
      arena.execute([&sum] {
        parallel_for(0, 1000, [&sum](int i) { sum += i; });
        task_group group;
        for (int i = 0; i < 100; ++i) group.run([&sum] { ++sum; });
        group.wait();
      });
      if (sum != 499500 + 100) _exit(1);
      std::atomic<bool> ran{false};
      arena.enqueue([&ran] {
        ran = true;
        ran.notify_all();
      });
      ran.wait(false);
    };
    work();
    forbid({SYS_membarrier}, 1);
    for (int i = 0; i < 10; ++i) work();
  });
  SKIP_OR_EXPECT_GOOD(status);
}

// To go on without any barrier would be a data race.
TEST(ProcessBarrier, WithoutAnyWayTheProcessEnds) {
  const int status = status_of([] {
    forbid({SYS_membarrier, SYS_sched_setaffinity}, 1);
    process_barrier();
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) GTEST_SKIP();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

}  // namespace
}  // namespace corbel::os
