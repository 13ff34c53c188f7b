// SPDX-License-Identifier: Apache-2.0
// The urgent tasks of a flow graph (include/corbel/detail/flow/urgent_tasks.hpp): with what
// corbel/flow/graph.hpp does around the heap, every task runs once, the graph does not end before
// its tasks, and no thread uses the graph after its end.
#include <corbel/detail/flow/urgent_tasks.hpp>

#include <array>
#include <vector>

#include "blocks.hpp"
#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

constexpr std::size_t kTasks = 6;

struct Task {
  bool is_selector = false;
  unsigned priority = 0;
  Task* submits = nullptr;  // by its body
  Task* next = nullptr;     // what its body returns
  Var<int> content;         // set before the task is submitted
  int runs = 0;
};

using Heap = detail::basic_urgent_tasks<Task, Atomic, Mutex>;

// The heap is the first member of the tests.
constexpr int kLock = 1;

// What the steps of graph.hpp do wrong in a mutant.
enum class Fault {
  kNone,
  kExchangesInTwoSteps,
  kSelectorIsNotCounted,
  kSelectorIsMissing,
  kSelectorIsReleasedFirst,
  kDisplacedTaskIsLost,
  kTaskIsCopied,
  kCountDoesNotRelease,
};

// The tasks of a graph. Each thread runs one first, then what is in the deques.
struct Graph : Test {
  explicit Graph(Fault f) : fault(f) { forget_blocks(); }

  Heap heap;
  const Fault fault;
  Atomic<int> reservations{0};
  Var<int> exists{1};  // 0: the graph has ended, and is destroyed
  Mutex lock;
  std::vector<Task*> deque;  // stands for those of all threads
  std::array<Task, kTasks> tasks;
  std::array<Task, kTasks> selectors;
  std::size_t made_selectors = 0;
  std::array<Task*, 3> first{};

  Heap& urgent() {
    check(exists.get() == 1, "a thread uses a graph that has ended");
    return heap;
  }

  void reserve() {
    check(exists.get() == 1, "a thread uses a graph that has ended");
    reservations.fetch_add(1, relaxed);
  }
  void release() {
    const std::memory_order order = fault == Fault::kCountDoesNotRelease ? relaxed : acq_rel;
    if (reservations.fetch_sub(1, order) != 1) return;
    // What a waiting thread does then.
    for (const Task& t : tasks) check(t.content.get() == 0 || t.runs == 1, "a task is lost");
    exists.set(0);
  }

  void spawn(Task& task) {
    MutexGuard guard(lock);
    deque.push_back(&task);
  }
  Task* take() {
    MutexGuard guard(lock);
    if (deque.empty()) return nullptr;
    Task* const task = deque.back();
    deque.pop_back();
    return task;
  }

  // The rest does what graph.hpp does.
  void submit(Task& task) {
    task.content.set(1);
    reserve();
    if (task.priority == 0) return spawn(task);
    Task* selector = nullptr;
    {
      MutexGuard guard(lock);  // only of this model
      selector = &selectors[made_selectors++];
    }
    selector->is_selector = true;
    if (fault != Fault::kSelectorIsNotCounted) reserve();
    urgent().push(task);
    if (fault == Fault::kSelectorIsMissing) return release();
    spawn(*selector);
  }

  Task* select() {
    if (fault == Fault::kSelectorIsReleasedFirst) release();
    Task* const found = urgent().pop();
    if (fault != Fault::kSelectorIsReleasedFirst) release();
    return found;
  }

  bool let_urgent_first(Task& task, Task*& next) {
    if (task.priority != 0 || !urgent().may_have_some()) return false;
    Task* const other = urgent().pop();
    if (other == nullptr) return false;
    if (fault != Fault::kDisplacedTaskIsLost) spawn(task);
    next = other;
    return true;
  }

  Task* end(Task* next) {
    if (next == nullptr) {
      release();
      return nullptr;
    }
    next->content.set(1);
    if (next->priority == 0 || !urgent().may_have_some()) return next;
    if (fault == Fault::kTaskIsCopied) {
      urgent().push_and_pop(*next);
      return next;
    }
    if (fault != Fault::kExchangesInTwoSteps) return urgent().push_and_pop(*next);
    urgent().push(*next);
    return urgent().pop();
  }

  Task* run_one(Task& task) {
    if (task.is_selector) return select();
    Task* next = nullptr;
    if (let_urgent_first(task, next)) return next;
    check(task.content.get() == 1, "a task is not known");
    check(++task.runs == 1, "a task runs twice");
    if (task.submits != nullptr) submit(*task.submits);
    return end(task.next);
  }

  void run(int thread) override {
    Task* next = first[std::size_t(thread)];
    for (;;) {
      while (next != nullptr) next = run_one(*next);
      if ((next = take()) == nullptr) return;
    }
  }

  void finish() override {
    for (const Task& t : tasks) check(t.content.get() == 0 || t.runs == 1, "a task is lost");
    check(reservations.load(relaxed) == 0, "the graph does not end");
    check(exists.get() == 0, "the graph does not end");
    check(!heap.may_have_some(), "the heap has a task that has run");
  }

  // A task that a thread has taken from its deque.
  Task& starts(int thread, std::size_t i, unsigned priority = 0) {
    Task& task = tasks[i];
    task.priority = priority;
    task.content.set(1);
    reserve();
    first[std::size_t(thread)] = &task;
    return task;
  }
  Task& made(std::size_t i, unsigned priority) {
    tasks[i].priority = priority;
    return tasks[i];
  }
};

// Two threads submit urgent tasks.
struct TwoSubmit : Graph {
  explicit TwoSubmit(Fault f = Fault::kNone) : Graph(f) {
    starts(0, 0).submits = &made(2, 1);
    starts(1, 1).submits = &made(3, 2);
  }
};

// The task of one thread returns an urgent one. The other thread has one to begin that is not
// urgent, and there is an urgent one in the heap.
struct Exchanges : Graph {
  explicit Exchanges(Fault f = Fault::kNone, unsigned priority = 2) : Graph(f) {
    starts(0, 0, 3).next = &made(2, priority);
    starts(1, 1);
    submit(made(3, 1));
  }
};

// As before, but both threads exchange.
struct TwoExchange : Graph {
  explicit TwoExchange(Fault f = Fault::kNone) : Graph(f) {
    starts(0, 0, 3).next = &made(2, 2);
    starts(1, 1, 3).next = &made(4, 1);
    submit(made(3, 1));
  }
};

// Both threads have a task to begin that lets an urgent one first.
struct TwoAreDisplaced : Graph {
  explicit TwoAreDisplaced(Fault f = Fault::kNone) : Graph(f) {
    starts(0, 0);
    starts(1, 1).next = &made(4, 0);
    submit(made(2, 1));
    submit(made(3, 2));
  }
};

// An urgent task submits one, and returns one.
struct SubmitsAndReturns : Graph {
  explicit SubmitsAndReturns(Fault f = Fault::kNone) : Graph(f) {
    Task& task = starts(0, 0, 1);
    task.submits = &made(2, 1);
    task.next = &made(3, 1);
    starts(1, 1);
  }
};

TEST(UrgentTasks, TwoThreadsSubmit) { EXPECT_SOUND((explore<TwoSubmit>(2, nullptr))); }
TEST(UrgentTasks, Exchanges) {
  for (unsigned priority : {1U, 2U}) {
    EXPECT_SOUND((explore<Exchanges>(2, nullptr, Fault::kNone, priority)));
  }
}
TEST(UrgentTasks, TwoThreadsExchange) { EXPECT_SOUND((explore<TwoExchange>(2, nullptr))); }
TEST(UrgentTasks, TwoTasksAreDisplaced) { EXPECT_SOUND((explore<TwoAreDisplaced>(2, nullptr))); }
TEST(UrgentTasks, SubmitsAndReturns) { EXPECT_SOUND((explore<SubmitsAndReturns>(2, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

// Between the steps, other threads run both tasks and end the graph.
TEST(UrgentTasksMutant, ExchangeInTwoSteps) {
  EXPECT_BROKEN((explore<Exchanges>(2, nullptr, Fault::kExchangesInTwoSteps, 2U)), "data race");
}
TEST(UrgentTasksMutant, SelectorIsNotCounted) {
  EXPECT_BROKEN((explore<TwoSubmit>(2, nullptr, Fault::kSelectorIsNotCounted)), "a task is lost");
}
TEST(UrgentTasksMutant, SelectorIsMissing) {
  EXPECT_BROKEN((explore<TwoSubmit>(2, nullptr, Fault::kSelectorIsMissing)), "a task is lost");
}
TEST(UrgentTasksMutant, SelectorIsReleasedFirst) {
  EXPECT_BROKEN((explore<TwoAreDisplaced>(2, nullptr, Fault::kSelectorIsReleasedFirst)),
                "data race");
}
TEST(UrgentTasksMutant, DisplacedTaskIsLost) {
  EXPECT_BROKEN((explore<TwoAreDisplaced>(2, nullptr, Fault::kDisplacedTaskIsLost)),
                "a task is lost");
}
TEST(UrgentTasksMutant, ExchangedTaskRunsTwice) {
  EXPECT_BROKEN((explore<Exchanges>(2, nullptr, Fault::kTaskIsCopied, 1U)), "a task runs twice");
}
TEST(UrgentTasksMutant, CountDoesNotRelease) {
  EXPECT_BROKEN((explore<TwoSubmit>(2, nullptr, Fault::kCountDoesNotRelease)), "data race");
}
TEST(UrgentTasksMutant, HeapWithoutTheLock) {
  const Mutation unlocked = [](Step& step) {
    if (step.location == kLock) step.op = Op::kNothing;
  };
  EXPECT_BROKEN((explore<TwoSubmit>(2, unlocked)), "the heap has a task that has run");
}

}  // namespace
}  // namespace corbel::model
