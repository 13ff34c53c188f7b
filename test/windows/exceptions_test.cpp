// SPDX-License-Identifier: Apache-2.0
// Exceptions that pass through the scheduler's library, of which the program has the C++ runtime
// twice if both are linked with their own.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

struct OwnError : std::runtime_error {
  explicit OwnError(int n) : runtime_error("own error"), number(n) {}
  int number;
};

// Calls a function that throws OwnError, and returns its number.
template <class Function>
int caught(Function function) {
  try {
    function();
  } catch (const OwnError& error) {
    EXPECT_STREQ(error.what(), "own error");
    return error.number;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "caught as " << error.what();
  } catch (...) {
    ADD_FAILURE() << "caught without its type";
  }
  return 0;
}

class Exceptions : public testing::Test {
 protected:
  // Each exception has been thrown as often as caught.
  ~Exceptions() override {
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(std::current_exception(), nullptr);
  }
};

TEST_F(Exceptions, OfALoop) {
  for (int i = 1; i < 100; ++i) {
    EXPECT_EQ(i, caught([&] {
                tbb::parallel_for(0, 1000, [&](int k) {
                  if (k == 10 * i) throw OwnError(i);
                });
              }));
  }
}

TEST_F(Exceptions, OfATaskThatAnotherThreadRuns) {
  tbb::task_arena arena(2, 0);  // of workers alone
  for (int i = 1; i < 20; ++i) {
    tbb::task_group group;
    std::thread::id id;
    arena.enqueue(group.defer([&] {
      id = std::this_thread::get_id();
      throw OwnError(i);
    }));
    EXPECT_EQ(i, caught([&] { group.wait(); }));
    EXPECT_NE(id, std::this_thread::get_id());
  }
}

TEST_F(Exceptions, OfAForkedCall) {
  EXPECT_EQ(3, caught([] { tbb::parallel_invoke([] { throw OwnError(3); }, [] {}); }));
  EXPECT_EQ(4, caught([] { tbb::parallel_invoke([] {}, [] { throw OwnError(4); }); }));
}

TEST_F(Exceptions, OfACallInAnArena) {
  tbb::task_arena arena(2);
  EXPECT_EQ(5, caught([&] { arena.execute([] { throw OwnError(5); }); }));
  EXPECT_EQ(6, caught([&] { tbb::this_task_arena::isolate([] { throw OwnError(6); }); }));
  EXPECT_EQ(7, caught([&] {
              arena.execute([] {
                tbb::parallel_for(0, 100, [](int k) {
                  if (k == 50) throw OwnError(7);
                });
              });
            }));
}

// The caller finds no free slot: another thread makes the call.
TEST_F(Exceptions, OfADelegatedCall) {
  tbb::task_arena arena(1, 1);
  std::atomic<bool> is_in{false}, waits{false};
  std::thread holder([&] {
    arena.execute([&] {
      is_in = true;
      while (!waits) std::this_thread::yield();
      // What is delegated meanwhile is done in the wait.
      tbb::task_group group;
      group.run_and_wait([] {});
    });
  });
  while (!is_in) std::this_thread::yield();
  waits = true;
  EXPECT_EQ(8, caught([&] { arena.execute([] { throw OwnError(8); }); }));
  holder.join();
}

TEST_F(Exceptions, OfTheLibrary) {
  EXPECT_THROW(tbb::global_control(tbb::global_control::max_allowed_parallelism, 0),
               std::exception);
}

TEST_F(Exceptions, InAHandler) {
  try {
    throw OwnError(1);
  } catch (...) {
    EXPECT_EQ(2, caught([] {
                tbb::parallel_for(0, 100, [](int k) {
                  if (k == 3) throw OwnError(2);
                });
              }));
    const std::exception_ptr error = std::current_exception();
    EXPECT_EQ(1, caught([&] { std::rethrow_exception(error); }));
  }
}

// A stack is left in a handler, and others handle exceptions meanwhile.
TEST_F(Exceptions, OfASuspendedHandler) {
  std::thread([] {
    const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
    tbb::task_group group;
    tbb::task::suspend_point point = nullptr;
    group.run([&] {
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(2, caught([&] { throw OwnError(2); }));
      tbb::task::resume(point);
    });
    const int outer = caught([&] {
      try {
        throw OwnError(1);
      } catch (const OwnError&) {
        tbb::task::suspend([&](tbb::task::suspend_point p) { point = p; });
        throw;
      }
    });
    EXPECT_EQ(outer, 1);
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    group.wait();
  }).join();
}

TEST_F(Exceptions, AreKeptFromAGroupThatUnwinds) {
  EXPECT_EQ(9, caught([] {
              tbb::task_group group;
              group.run([] {});
              throw OwnError(9);  // no missing_wait
            }));
}

}  // namespace
