// SPDX-License-Identifier: Apache-2.0
// Compiled with oneTBB's headers, linked to libtbb.so.12.
#include "plugin.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace {

using Limit = tbb::global_control;

std::atomic<tbb::task_group_context*> cancellable{nullptr};

void loop(long n, Call call, void* data, tbb::task_group_context& context) {
  tbb::parallel_for(
      tbb::blocked_range<long>(0, n, 1),
      [=](const tbb::blocked_range<long>& r) {
        for (long i = r.begin(); i != r.end(); ++i) call(data, i);
      },
      tbb::simple_partitioner(), context);
}

}  // namespace

extern "C" {

void plugin_loop(long n, Call call, void* data) {
  tbb::task_group_context context;
  loop(n, call, data, context);
}

void plugin_loop_in_context(long n, Call call, void* data) {
  tbb::task_group_context context;
  cancellable = &context;
  loop(n, call, data, context);
}

void plugin_cancel() { cancellable.load()->cancel_group_execution(); }

void plugin_group(long n, Call call, void* data) {
  tbb::task_group group;
  for (long i = 0; i < n; ++i) {
    group.run([=] { call(data, i); });
  }
  group.wait();
}

void plugin_in_arena(int width, Call call, void* data) {
  tbb::task_arena arena(width);
  arena.execute([&] { call(data, 0); });
}

void plugin_isolated(Call call, void* data) {
  tbb::this_task_arena::isolate([&] { call(data, 0); });
}

void plugin_wait_long() {
  tbb::task_group group;
  tbb::task_handle held = group.defer([] {});
  std::thread releases([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    held = tbb::task_handle();
  });
  group.wait();
  releases.join();
}

void plugin_throw() { throw std::runtime_error("from the plug-in"); }

int plugin_width() { return tbb::this_task_arena::max_concurrency(); }
int plugin_index() { return tbb::this_task_arena::current_thread_index(); }
int plugin_is_cancelled() { return tbb::is_current_task_group_canceling(); }

long plugin_limit() { return long(Limit::active_value(Limit::max_allowed_parallelism)); }
void* plugin_set_limit(long threads) {
  return new Limit(Limit::max_allowed_parallelism, std::size_t(threads));
}
void plugin_unset_limit(void* limit) { delete static_cast<Limit*>(limit); }

int plugin_finalize() {
  tbb::task_scheduler_handle handle{tbb::attach{}};
  return tbb::finalize(handle, std::nothrow);
}

}  // extern "C"
