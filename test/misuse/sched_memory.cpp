// SPDX-License-Identifier: Apache-2.0
// The scheduler when memory is exhausted. Each call is made with the k-th allocation failing, or
// with all from the k-th on, for k from 1 until the call succeeds. The caller gets bad_alloc, and
// neither an accepted task nor an object is lost.
#include <corbel/blocked_range.hpp>
#include <corbel/classic/task.hpp>
#include <corbel/global_control.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/parallel_reduce.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <thread>
#include <vector>

#include "sched_misuse.hpp"

// ---- operator new of the whole process ----------------------------------------------------------

namespace {

std::atomic<long> allocations_left{1L << 40};
std::atomic<bool> all_fail{false};

void* allocate(std::size_t size, std::size_t alignment) {
  // relaxed: a count only
  const long left = allocations_left.fetch_sub(1, std::memory_order_relaxed) - 1;
  if (left == 0 || (left < 0 && all_fail)) return nullptr;
  size = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, size == 0 ? alignment : size);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, 16); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 16); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 16); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 16);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, std::size_t(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, std::size_t(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace misuse {
namespace {

template <typename F>
void fail_at_each_allocation(const F& call) {
  int refused = 0;
  for (const bool all : {false, true}) {
    for (long k = 1;; k += 1 + k / 8) {
      bool done = false;
      all_fail = all;
      allocations_left = k;
      try {
        call();
        done = allocations_left > 0;
      } catch (const std::bad_alloc&) {
        ++refused;
      }
      allocations_left = 1L << 40;
      expect(balance.alive == 0, "no object is left over");
      if (done) break;
    }
  }
  expect(refused > 0, "an allocation was refused");
  say("each was refused or done");
}

// Runs in a new thread, so that the allocations of a thread's first use can fail, too.
template <typename F>
void in_new_threads(const F& call) {
  fail_at_each_allocation([&] {
    bool refused = false;
    const long left = allocations_left.exchange(1L << 40);
    std::thread([&] {
      allocations_left = left;
      try {
        call();
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      if (refused) allocations_left = 1L << 40;
    }).join();
    if (refused) throw std::bad_alloc();
  });
}

// More than the initial capacity of a deque.
constexpr int kMany = 600;

struct Task : Object {
  std::atomic<int>* calls;
  explicit Task(std::atomic<int>* c) : calls(c) {}
  void operator()() const { ++*calls; }
};

// The thread has tasks, but there is no worker yet. The allocation for the first worker fails.
void first_worker() {
  std::atomic<int> calls{0};
  corbel::task_group group;
  corbel::task_handle handle = group.defer(Task(&calls));
  {
    corbel::global_control alone(corbel::global_control::max_allowed_parallelism, 1);
    corbel::task_group other;
    other.run([] {});
    other.wait();
    all_fail = true;
    allocations_left = 1;
  }
  group.run(std::move(handle));
  group.wait();
  allocations_left = 1L << 40;
  expect(calls == 1, "the task has run");
  say("each was refused or done");
}

void run_many(corbel::task_group& group, std::atomic<int>* calls) {
  int accepted = 0;
  try {
    for (; accepted < kMany; ++accepted) group.run(Task(calls));
  } catch (const std::bad_alloc&) {
    group.wait();
    expect(*calls == accepted, "all accepted tasks have run");
    throw;
  }
  group.wait();
  expect(*calls == kMany, "all have run");
}

void groups() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    corbel::task_group group;
    run_many(group, &calls);
  });
}

void isolated_groups() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    corbel::this_task_arena::isolate([&] {
      corbel::task_group group;
      run_many(group, &calls);
    });
  });
}

void ordered_groups() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    corbel::task_group group;
    try {
      corbel::task_handle first = group.defer(Task(&calls));
      for (int i = 0; i < kMany; ++i) {
        corbel::task_handle next = group.defer(Task(&calls));
        corbel::task_group::set_task_order(first, next);
        group.run(std::move(next));
      }
      group.run(std::move(first));
    } catch (const std::bad_alloc&) {
      group.wait();
      throw;
    }
    group.wait();
    expect(calls == kMany + 1, "all have run");
  });
}

void branch(std::atomic<int>* calls, int depth) {
  const Object object;
  if (depth == 0) {
    ++*calls;
    return test::work_a_little();
  }
  corbel::parallel_invoke([=] { branch(calls, depth - 1); }, [=] { branch(calls, depth - 1); });
}

void invokes() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    branch(&calls, 5);
    expect(calls == 32, "all calls are made");
  });
}

void isolated_invokes() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    const auto call = [&] { corbel::this_task_arena::isolate([&] { branch(&calls, 3); }); };
    corbel::parallel_invoke(call, call, call, call);
    expect(calls == 32, "all calls are made");
  });
}

void loops() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    corbel::parallel_for(0, 200, [&](int) {
      const Object object;
      ++calls;
      test::work_a_little();
    });
    expect(calls == 200, "all calls are made");
  });
}

// Pieces are mailed to slots whose threads are not in the isolation scope.
void isolated_mail() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    for (int repeat = 0; repeat < 4; ++repeat) {
      corbel::this_task_arena::isolate([&] {
        corbel::parallel_for(
            0, 50,
            [&](int) {
              const Object object;
              ++calls;
              test::work_a_little();
            },
            corbel::static_partitioner());
      });
    }
    expect(calls == 200, "all calls are made");
  });
}

// An arena whose threads are bound to processors.
void bound_arenas() {
  in_new_threads([] {
    corbel::task_arena arena(corbel::task_arena::constraints().set_max_threads_per_core(1), 0);
    std::atomic<int> calls{0};
    corbel::task_group group;
    int accepted = 0;
    try {
      for (; accepted < 50; ++accepted) arena.enqueue(Task(&calls), group);
    } catch (const std::bad_alloc&) {
      if (accepted > 0) group.wait();
      throw;
    }
    group.wait();
    expect(calls == 50, "all have run");
  });
}

void reductions() {
  in_new_threads([] {
    const int sum = corbel::parallel_reduce(
        corbel::blocked_range<int>(0, 200), 0,
        [](const corbel::blocked_range<int>& range, int so_far) {
          const Object object;
          for (int i = range.begin(); i != range.end(); ++i) so_far += i;
          test::work_a_little();
          return so_far;
        },
        [](int a, int b) { return a + b; });
    expect(sum == 19900, "the sum");
  });
}

void fed_items() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    const int roots[] = {9};
    corbel::parallel_for_each(roots, [&](int depth, corbel::feeder<int>& more) {
      const Object object;
      ++calls;
      if (depth == 0) return;
      more.add(depth - 1);
      more.add(depth - 1);
    });
    expect(calls == 1023, "all calls are made");
  });
}

void pipelines() {
  in_new_threads([] {
    int number = 0;
    int sum = 0;
    corbel::parallel_pipeline(
        8, corbel::make_filter<void, int>(corbel::filter_mode::serial_in_order,
                                          [&](corbel::flow_control& control) {
                                            if (++number > 50) control.stop();
                                            return number;
                                          }) &
               corbel::make_filter<int, int>(corbel::filter_mode::parallel,
                                             [](int i) {
                                               const Object object;
                                               test::work_a_little();
                                               return i;
                                             }) &
               corbel::make_filter<int, void>(corbel::filter_mode::serial_in_order,
                                              [&](int i) { sum += i; }));
    expect(sum == 1275, "the sum");
  });
}

void arenas() {
  in_new_threads([] {
    std::atomic<int> calls{0};
    std::atomic<int> leaves{0};
    corbel::task_arena arena(3);
    corbel::task_group group;
    int accepted = 0;
    const auto all_ran = [&] {
      arena.wait_for(group);
      expect(calls == accepted, "all accepted tasks have run");
    };
    try {
      for (; accepted < kMany; ++accepted) arena.enqueue(Task(&calls), group);
      arena.execute([&] { branch(&leaves, 3); });
    } catch (const std::bad_alloc&) {
      if (accepted > 0) all_ran();
      throw;
    }
    all_ran();
    expect(leaves == 8, "all leaves of the recursion have run");
  });
}

class Leaf : public corbel::task {
 public:
  explicit Leaf(std::atomic<int>* calls) : task_(calls) {}
  corbel::task* execute() override {
    task_();
    return nullptr;
  }

 private:
  Task task_;
};

void classic() {
  in_new_threads([] {
    using corbel::task;
    std::atomic<int> calls{0};
    task& parent = *new (task::allocate_root()) corbel::empty_task;
    struct End {
      task& t;
      ~End() {
        t.wait_for_all();
        task::destroy(t);
      }
    } end{parent};
    parent.set_ref_count(1);
    for (int i = 0; i < kMany; ++i) {
      Leaf& leaf = *new (task::allocate_additional_child_of(parent)) Leaf(&calls);
      try {
        task::spawn(leaf);
      } catch (const std::bad_alloc&) {
        task::destroy(leaf);
        throw;
      }
    }
  });
}

}  // namespace

extern const Case memory_cases[];
const Case memory_cases[] = {{"memory-groups", groups},
                             {"memory-isolated-groups", isolated_groups},
                             {"memory-ordered-groups", ordered_groups},
                             {"memory-invokes", invokes},
                             {"memory-traced-invokes", invokes},
                             {"memory-isolated-invokes", isolated_invokes},
                             {"memory-loops", loops},
                             {"memory-isolated-mail", isolated_mail},
                             {"memory-bound-arenas", bound_arenas},
                             {"memory-reductions", reductions},
                             {"memory-fed-items", fed_items},
                             {"memory-pipelines", pipelines},
                             {"memory-arenas", arenas},
                             {"memory-classic", classic},
                             {"memory-first-worker", first_worker},
                             {nullptr, nullptr}};

}  // namespace misuse

int main(int argc, char** argv) {
  return misuse::run_case({misuse::memory_cases}, argc == 2 ? argv[1] : "--list");
}
