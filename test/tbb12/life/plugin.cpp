// SPDX-License-Identifier: Apache-2.0
// A plug-in that is linked to libtbb.so.12, with objects of the library in its own static ones.
#include <tbb/collaborative_call_once.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <stdexcept>

#include "meeting.hpp"

namespace {

struct Private : std::runtime_error {
  Private() : std::runtime_error("private") {}
};

tbb::enumerable_thread_specific<long> of_threads(7L);
tbb::enumerable_thread_specific<long, tbb::cache_aligned_allocator<long>, tbb::ets_key_per_instance>
    by_key(0L);
tbb::task_arena arena(2, 1);
tbb::collaborative_once_flag once;
long once_calls = 0;

}  // namespace

extern "C" {

void throws_private() { throw Private(); }

void throws_in_loop() {
  tbb::parallel_for(0, 100, [](int i) {
    if (i == 50) throw Private();
  });
}

// As much as one thread does without leaving work to others.
void use_alone() {
  tbb::parallel_for(0, 1, [](int i) {
    of_threads.local() += i;
    by_key.local() += 1;
  });
  tbb::this_task_arena::isolate([] { tbb::collaborative_call_once(once, [] { ++once_calls; }); });
}

// Without keys of threads, which a C library of another namespace counts anew: the same key then
// means two things in one thread.
long use_without_keys() {
  std::atomic<long> sum{0};
  tbb::parallel_for(0, 1000, [&](int) { ++sum; });
  return sum + meet(arena, 2);
}

// Everything the plug-in has takes part, with a worker.
long use() {
  std::atomic<long> sum{0};
  tbb::parallel_for(0, 1000, [&](int i) {
    of_threads.local() += i;
    by_key.local() += 1;
    tbb::collaborative_call_once(once, [] { tbb::parallel_for(0, 1, [](int) { ++once_calls; }); });
    ++sum;
  });
  std::atomic<long> enqueued{0};
  arena.enqueue([&] {
    of_threads.local() += 0;
    by_key.local() += 0;
    ++enqueued;
  });
  wait_for([&] { return enqueued == 1; });
  return sum + once_calls + by_key.combine([](long a, long b) { return a + b; });
}

}  // extern "C"
