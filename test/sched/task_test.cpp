// SPDX-License-Identifier: Apache-2.0
// Tasks with virtual functions, from which libstdc++'s parallel algorithms derive theirs.
#include <gtest/gtest.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

namespace {

namespace d1 = tbb::detail::d1;

TEST(WaitContext, ContinuesWhileSomethingIsReserved) {
  d1::wait_context wait(1);
  wait.reserve(2);
  EXPECT_TRUE(wait.continue_execution());
  wait.release(2);
  EXPECT_TRUE(wait.continue_execution());
  wait.release();
  EXPECT_FALSE(wait.continue_execution());
}

struct Counters {
  std::atomic<int> executed{0}, cancelled{0}, alive{0};
};

// Spawns two tasks of half the depth and continues as a third.
class Tree : public d1::task {
 public:
  Tree(int depth, Counters& counters, d1::wait_context& wait, d1::small_object_allocator allocator,
       int throws_at = -1)
      : depth_(depth),
        counters_(counters),
        wait_(wait),
        allocator_(allocator),
        throws_at_(throws_at) {
    ++counters_.alive;
  }
  ~Tree() override { --counters_.alive; }

  d1::task* execute(d1::execution_data& data) override {
    EXPECT_EQ(d1::current_context(), data.context);
    EXPECT_EQ(tbb::task::current_context(), data.context);
    EXPECT_NE(d1::execution_slot(data), d1::no_slot);
    EXPECT_EQ(d1::is_stolen(data), d1::original_slot(data) != d1::execution_slot(data));
    ++counters_.executed;
    if (depth_ == throws_at_) throw std::runtime_error("tree");
    if (depth_ == 0) return finish(data);
    wait_.reserve();
    --depth_;
    d1::small_object_allocator allocator;
    d1::spawn(*allocator.new_object<Tree>(data, depth_, counters_, wait_, allocator, throws_at_),
              *data.context);
    return this;
  }

  d1::task* cancel(d1::execution_data& data) override {
    ++counters_.cancelled;
    return finish(data);
  }

 private:
  d1::task* finish(d1::execution_data& data) {
    d1::wait_context& wait = wait_;
    allocator_.delete_object(this, data);
    wait.release();
    return nullptr;
  }

  int depth_;
  Counters& counters_;
  d1::wait_context& wait_;
  d1::small_object_allocator allocator_;
  int throws_at_;
};

TEST(VirtualTask, SpawnsAndBypasses) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    Counters counters;
    tbb::task_group_context context;
    d1::wait_context wait(1);
    d1::small_object_allocator allocator;
    auto* root = allocator.new_object<Tree>(10, counters, wait, allocator);
    d1::execute_and_wait(*root, context, wait, context);
    EXPECT_EQ(counters.executed, 2 * 1024 - 1);
    EXPECT_EQ(counters.cancelled, 0);
    EXPECT_EQ(counters.alive, 0);
    EXPECT_FALSE(wait.continue_execution());
  }
}

TEST(VirtualTask, IsCancelledAfterAnException) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Counters counters;
    tbb::task_group_context context;
    d1::wait_context wait(1);
    d1::small_object_allocator allocator;
    auto* root = allocator.new_object<Tree>(8, counters, wait, allocator, 3);
    EXPECT_THROW(d1::execute_and_wait(*root, context, wait, context), std::runtime_error);
    EXPECT_GE(counters.cancelled, 1);
    EXPECT_EQ(counters.alive, 0);
    EXPECT_TRUE(context.is_group_execution_cancelled());
  }
}

TEST(VirtualTask, OfACancelledContextIsCancelled) {
  Counters counters;
  tbb::task_group_context context;
  context.cancel_group_execution();
  d1::wait_context wait(2);
  d1::small_object_allocator allocator;
  d1::spawn(*allocator.new_object<Tree>(4, counters, wait, allocator), context);
  d1::spawn(*allocator.new_object<Tree>(4, counters, wait, allocator), context, 0);
  d1::wait(wait, context);
  EXPECT_EQ(counters.executed, 0);
  EXPECT_EQ(counters.cancelled, 2);
}

TEST(VirtualTask, MayEndInAnotherThread) {
  d1::wait_context wait(1);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    wait.release();
  });
  tbb::task_group_context context;
  d1::wait(wait, context);
  EXPECT_FALSE(wait.continue_execution());
  other.join();
}

struct Large {
  explicit Large(bool throws) {
    if (throws) throw std::logic_error("large");
  }
  char bytes[1000];
};

TEST(SmallObjectAllocator, TakesAnySizeAndAConstructorThatThrows) {
  d1::small_object_allocator allocator;
  Large* const large = allocator.new_object<Large>(false);
  large->bytes[999] = 1;
  allocator.delete_object(large);
  EXPECT_THROW(allocator.new_object<Large>(true), std::logic_error);
  int* const number = allocator.new_object<int>(7);
  EXPECT_EQ(*number, 7);
  allocator.deallocate(number);
}

TEST(CurrentContext, IsThatOfTheInnermostTask) {
  std::thread([] { EXPECT_EQ(tbb::task::current_context(), nullptr); }).join();
  EXPECT_EQ(tbb::task::current_context(), nullptr);
  int begun = 0;
  tbb::parallel_invoke(
      [&] {
        ++begun;
        EXPECT_TRUE(tbb::task::current_context()->cancel_group_execution());
        EXPECT_TRUE(tbb::task::current_context()->is_group_execution_cancelled());
        EXPECT_TRUE(corbel::is_current_task_group_canceling());
      },
      [] {});
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(tbb::task::current_context(), nullptr);
}

}  // namespace
