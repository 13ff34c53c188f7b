// SPDX-License-Identifier: Apache-2.0
// Lists of classic tasks that are spawned and waited for when there is no memory for the deque, and
// pipelines when there is none to begin.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/pipeline.h>
#include <tbb/task.h>
#include <tbb/task_scheduler_init.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "classic_tasks.hpp"
#include "helped.hpp"

namespace {

constexpr std::size_t kLarge = 1024;

// Whether blocks of some size are refused to this thread, after so many.
thread_local bool refuses = false;
thread_local std::size_t refuses_from = kLarge;
thread_local int refuses_after = 0;
thread_local int refused = 0;

}  // namespace

// Not inlined: gcc would warn that what malloc returned is deleted.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  if (refuses && bytes >= refuses_from && refuses_after-- <= 0) {
    ++refused;
    throw std::bad_alloc();
  }
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
__attribute__((noinline)) void operator delete(void* block) noexcept { std::free(block); }
__attribute__((noinline)) void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}

namespace {

using tbb::task;

constexpr int kMany = 20000;  // more than the deque of a new thread holds

// Calls f(list) in a new thread with a list of new tasks, which make_task(i) makes, without memory.
template <typename MakeTask, typename F>
void without_memory(const MakeTask& make_task, const F& f) {
  std::thread([&] {
    tbb::task_list list;
    for (int i = 0; i < kMany; ++i) list.push_back(make_task(i));
    refused = 0;
    refuses = true;
    f(list);
    refuses = false;
    EXPECT_GT(refused, 0);
    EXPECT_TRUE(list.empty());
  }).join();
}

TEST(ClassicNoMemory, RootsRunAllTheSame) {
  std::atomic<int> runs{0};
  test::Balance balance;
  without_memory(
      [&](int) -> task& { return *new (task::allocate_root()) test::Leaf(balance, runs); },
      [](tbb::task_list& list) { task::spawn_root_and_wait(list); });
  EXPECT_EQ(runs, kMany);
  EXPECT_EQ(balance.alive, 0);
}

TEST(ClassicNoMemory, ChildrenRunAllTheSame) {
  std::atomic<int> runs{0};
  test::Balance balance;
  tbb::empty_task* parent = nullptr;
  without_memory(
      [&](int i) -> task& {
        if (i == 0) {
          parent = new (task::allocate_root()) tbb::empty_task;
          parent->set_ref_count(kMany + 1);
        }
        return *new (parent->allocate_child()) test::Leaf(balance, runs);
      },
      [&](tbb::task_list& list) { parent->spawn_and_wait_for_all(list); });
  task::destroy(*parent);
  EXPECT_EQ(runs, kMany);
  EXPECT_EQ(balance.alive, 0);
}

// The wait throws what a task has thrown, and no task runs after it. The thread's next list is not
// affected.
TEST(ClassicNoMemory, RootsThatThrow) {
  std::atomic<int> runs{0};
  test::Balance balance;
  without_memory(
      [&](int i) -> task& {
        if (i % 1000 == 999) {
          return *new (task::allocate_root())
              test::Call([](test::Call&) -> task* { throw std::runtime_error("a root"); });
        }
        return *new (task::allocate_root()) test::Leaf(balance, runs);
      },
      [&](tbb::task_list& list) {
        EXPECT_THROW(task::spawn_root_and_wait(list), std::runtime_error);
        EXPECT_EQ(balance.alive, 0);
        refuses = false;
        runs = 0;
        for (int i = 0; i < 10; ++i) {
          list.push_back(*new (task::allocate_root()) test::Leaf(balance, runs));
        }
        task::spawn_root_and_wait(list);
        EXPECT_EQ(runs, 10);
      });
  EXPECT_EQ(balance.alive, 0);
}

// What could not be spawned stays in the list, in its order.
TEST(ClassicNoMemory, ListThatIsSpawned) {
  std::atomic<int> runs{0};
  test::Balance balance;
  std::thread([&] {
    task& parent = *new (task::allocate_root()) tbb::empty_task;
    parent.set_ref_count(kMany + 1);
    std::vector<task*> all;
    tbb::task_list list;
    for (int i = 0; i < kMany; ++i) {
      all.push_back(new (parent.allocate_child()) test::Leaf(balance, runs));
      list.push_back(*all.back());
    }
    refuses = true;
    EXPECT_THROW(task::spawn(list), std::bad_alloc);
    refuses = false;
    int left = 0;
    for (; !list.empty(); ++left) {
      task& t = list.pop_front();
      ASSERT_EQ(&t, all[std::size_t(left)]);
      ASSERT_EQ(t.state(), task::allocated);
      task::spawn(t);
    }
    EXPECT_GT(left, 0);
    parent.wait_for_all();
    task::destroy(parent);
  }).join();
  EXPECT_EQ(runs, kMany);
  EXPECT_EQ(balance.alive, 0);
}

// If there is no memory for the thread's group, the memory of the task is free again.
TEST(ClassicNoMemory, RootWithoutAGroup) {
  bool thrown = false;
  for (int i = 0; i < 100 && !thrown; ++i) {
    // The next thread cannot use the state of this one.
    std::thread([] { task::self().set_ref_count(5); }).join();
    std::thread([&] {
      tbb::task_group_context group;
      task* const first = new (task::allocate_root(group)) tbb::empty_task;
      task::destroy(*first);
      refuses_from = 1;
      refuses = true;
      try {
        task::destroy(*new (task::allocate_root()) tbb::empty_task);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      refuses = false;
      task& second = *new (task::allocate_root(group)) tbb::empty_task;
      EXPECT_EQ(&second, first);
      task::destroy(second);
    }).join();
  }
  EXPECT_TRUE(thrown);
}

TEST(ClassicNoMemory, SchedulerThatIsNotInitialized) {
  std::thread([] {
    const auto stack_size = [] {
      return tbb::global_control::active_value(tbb::global_control::thread_stack_size);
    };
    const auto limit = [] {
      return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    };
    const std::size_t before = stack_size();
    const std::size_t limit_before = limit();
    refuses_from = 1;
    bool done = false;
    int failures = 0;
    for (; !done; ++failures) {
      tbb::task_scheduler_init init(tbb::task_scheduler_init::deferred);
      refuses_after = failures;
      refuses = true;
      try {
        init.initialize(int(limit_before) + 3, 2 * before);
        done = true;
      } catch (const std::bad_alloc&) {
      }
      refuses = false;
      ASSERT_EQ(init.is_active(), done);
      ASSERT_EQ(stack_size(), done ? 2 * before : before) << failures;
      ASSERT_EQ(limit(), done ? limit_before + 3 : limit_before) << failures;
    }
    EXPECT_GT(failures, 1);
  }).join();
}

// A pipeline that does not begin ends the stream for the thread that serves a filter.
TEST(ClassicNoMemory, APipelineThatDoesNotBegin) {
  struct Plain : tbb::filter {
    Plain() : filter(tbb::filter::serial) {}
    void* operator()(void*) override {
      ADD_FAILURE();
      return nullptr;
    }
  };
  struct Bound : tbb::thread_bound_filter {
    Bound() : thread_bound_filter(tbb::filter::serial) {}
    void* operator()(void*) override { return nullptr; }
  };
  Plain plain[200];  // so many that a list of them is refused
  Bound bound;
  tbb::pipeline p;
  for (Plain& f : plain) p.add_filter(f);
  p.add_filter(bound);
  refused = 0;
  refuses = true;
  EXPECT_THROW(p.run(1), std::bad_alloc);
  refuses = false;
  EXPECT_GT(refused, 0);
  EXPECT_EQ(bound.try_process_item(), tbb::thread_bound_filter::end_of_stream);
}

}  // namespace
