// SPDX-License-Identifier: Apache-2.0
// The group and the task::self() of a thread: what is left of them when the thread has ended, and
// what the next thread begins with.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_scheduler_init.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>

#include "classic_tasks.hpp"
#include "helped.hpp"

namespace {

using tbb::task;
using tbb::task_group_context;
using test::Call;
using test::wait_for;

void in_new_thread(const std::function<void()>& f) { std::thread(f).join(); }

// What a thread finds that has not used the library yet.
void expect_new_state() {
  EXPECT_FALSE(task::self().is_cancelled());
  EXPECT_EQ(task::self().ref_count(), 1);
  EXPECT_EQ(task::self().parent(), nullptr);
  bool ran = false;
  EXPECT_NO_THROW(test::run([&](Call&) {
    ran = true;
    return nullptr;
  }));
  EXPECT_TRUE(ran);
  task& self = task::self();
  self.set_ref_count(2);
  ran = false;
  EXPECT_NO_THROW(self.spawn_and_wait_for_all(*new (self.allocate_child()) Call([&](Call&) {
    ran = true;
    return nullptr;
  })));
  EXPECT_TRUE(ran);
}

void enqueue(const Call::Function& f) { task::enqueue(*new (task::allocate_root()) Call(f)); }

// An enqueued task that waits to be told to go on.
class Held {
 public:
  // Allocates it with `allocate`, called in the thread that is to end.
  template <typename Allocate>
  void enqueue(const Allocate& allocate, bool throws) {
    task& t = *new (allocate()) Call([this, throws](Call& c) -> task* {
      group_ = c.group();
      EXPECT_TRUE(wait_for([&] { return go_on_.load(); }, 20000));
      if (throws) throw std::runtime_error("of another thread");
      has_ended_ = true;
      return nullptr;
    });
    task::enqueue(t);
  }
  bool is_in_it() {
    return wait_for([&] { return group_ != nullptr; }, 20000);
  }
  void go_on() { go_on_ = true; }
  // Never freed, since it belongs to a thread.
  task_group_context& group() { return *group_; }
  bool has_ended() {
    return wait_for([&] { return has_ended_.load(); }, 20000);
  }

 private:
  std::atomic<task_group_context*> group_{nullptr};
  std::atomic<bool> go_on_{false};
  std::atomic<bool> has_ended_{false};
};

TEST(ClassicOwnGroup, IsCancelledWhenTheThreadEnds) {
  for (int i = 0; i < 3; ++i) {
    in_new_thread([] { EXPECT_TRUE(task::self().cancel_group_execution()); });
    in_new_thread(expect_new_state);
  }
}

TEST(ClassicOwnGroup, HasFailedWhenTheThreadEnds) {
  for (int i = 0; i < 3; ++i) {
    in_new_thread([] {
      enqueue([](Call&) -> task* { throw std::runtime_error("enqueued"); });
      EXPECT_TRUE(wait_for([] { return task::self().is_cancelled(); }, 20000));
    });
    in_new_thread(expect_new_state);
  }
}

TEST(ClassicOwnGroup, FailsWhenTheThreadHasEnded) {
  Held held;
  in_new_thread([&] {
    held.enqueue([] { return task::allocate_root(); }, true);
    EXPECT_TRUE(held.is_in_it());
  });
  in_new_thread([&] {
    expect_new_state();
    held.go_on();
    EXPECT_TRUE(wait_for([&] { return held.group().is_group_execution_cancelled(); }, 20000));
    expect_new_state();
  });
  in_new_thread(expect_new_state);
}

// The tasks that a thread has left are not cancelled by the next one.
TEST(ClassicOwnGroup, IsNotThatOfTheNextThread) {
  Held held;
  in_new_thread([&] {
    held.enqueue([] { return task::allocate_root(); }, false);
    EXPECT_TRUE(held.is_in_it());
  });
  in_new_thread([&] {
    EXPECT_TRUE(task::self().cancel_group_execution());
    EXPECT_FALSE(held.group().is_group_execution_cancelled());
  });
  held.go_on();
  EXPECT_TRUE(held.has_ended());
}

// Else a program that starts many threads would need ever more memory.
TEST(ClassicOwnGroup, IsUsedAgain) {
  std::set<task_group_context*> seen;
  bool is_used_again = false;
  for (int i = 0; i < 100 && !is_used_again && !HasFailure(); ++i) {
    in_new_thread([&] {
      std::atomic<bool> ran{false};
      enqueue([&](Call&) {
        ran = true;
        return nullptr;
      });
      EXPECT_TRUE(wait_for([&] { return ran.load(); }, 20000));
      is_used_again = !seen.insert(task::self().group()).second;
    });
  }
  EXPECT_TRUE(is_used_again);
}

TEST(ClassicOwnGroup, ReferencesOfSelf) {
  in_new_thread([] { task::self().set_ref_count(7); });
  in_new_thread(expect_new_state);
  in_new_thread([] {
    tbb::parallel_invoke([] { task::self().set_ref_count(3); }, [] {});
    task::self().set_parent(&task::self());
  });
  in_new_thread(expect_new_state);
}

// A child of the thread ends later than the thread.
TEST(ClassicOwnGroup, ChildrenOfSelf) {
  Held held;
  in_new_thread([&] {
    held.enqueue([] { return task::allocate_additional_child_of(task::self()); }, false);
    EXPECT_TRUE(held.is_in_it());
  });
  in_new_thread([&] {
    task& self = task::self();
    EXPECT_EQ(self.ref_count(), 1);
    self.set_ref_count(2);
    held.go_on();
    EXPECT_TRUE(held.has_ended());
    self.spawn_and_wait_for_all(*new (self.allocate_child()) tbb::empty_task);
    expect_new_state();
  });
  in_new_thread(expect_new_state);
}

// The thread is in another arena then, but no other thread.
TEST(ClassicOwnGroup, StaysWithTaskSchedulerInit) {
  in_new_thread([] {
    Held held;
    task* const self = &task::self();
    held.enqueue([&] { return task::allocate_additional_child_of(*self); }, false);
    EXPECT_TRUE(held.is_in_it());
    {
      const tbb::task_scheduler_init init(3);
      // Would get what the thread has given back.
      in_new_thread(expect_new_state);
      EXPECT_EQ(&task::self(), self);
      EXPECT_EQ(self->ref_count(), 2);
    }
    in_new_thread(expect_new_state);
    EXPECT_EQ(&task::self(), self);
    EXPECT_EQ(self->ref_count(), 2);
    held.go_on();
    task::self().wait_for_all();
    EXPECT_TRUE(held.has_ended());
    EXPECT_TRUE(self->cancel_group_execution());
    const tbb::task_scheduler_init init(3);
    EXPECT_TRUE(task::self().is_cancelled());
  });
  in_new_thread(expect_new_state);
}

// No wait resets a worker's own group, which enqueued tasks of algorithms get.
TEST(ClassicOwnGroup, OfAWorkerFails) {
  // Enqueues f in an algorithm that a worker calls.
  const auto enqueue_in_algorithm = [](const Call::Function& f) {
    enqueue([f](Call&) {
      tbb::parallel_invoke([&] { enqueue(f); }, [] {});
      return nullptr;
    });
  };
  for (int i = 0; i < 20; ++i) {
    std::atomic<task_group_context*> group{nullptr};
    enqueue_in_algorithm([&](Call& t) -> task* {
      group = t.group();
      throw std::runtime_error("enqueued by a worker");
    });
    ASSERT_TRUE(wait_for([&] { return group != nullptr; }, 20000));
    ASSERT_TRUE(wait_for([&] { return group.load()->is_group_execution_cancelled(); }, 20000));
    std::atomic<bool> ran{false};
    enqueue_in_algorithm([&](Call&) {
      ran = true;
      return nullptr;
    });
    ASSERT_TRUE(wait_for([&] { return ran.load(); }, 20000));
  }
}

}  // namespace
