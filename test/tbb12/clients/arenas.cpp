// SPDX-License-Identifier: Apache-2.0
// Arenas, observers and settings.
#include "client.hpp"

namespace {

class Counter : public tbb::task_scheduler_observer {
 public:
  explicit Counter(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Counter() override { observe(false); }
  void on_scheduler_entry(bool) override { ++entered; }
  void on_scheduler_exit(bool) override { ++left; }
  std::atomic<long> entered{0}, left{0};
};

// Before there are workers: one that still searches takes part for a moment after the limit is set.
void one_thread() {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const std::thread::id me = std::this_thread::get_id();
  std::atomic<long> others{0};
  tbb::parallel_for(0, 10000, [&](int) { others += std::this_thread::get_id() != me; });
  say("others", others);
  tbb::task_arena arena(4);
  std::atomic<bool> is_done{false};
  arena.enqueue([&] { is_done = true; });
  wait_for([&] { return is_done.load(); });
  say("enqueued with one thread", 1);
}

void arenas() {
  tbb::task_arena arena(3, 1);
  arena.initialize();
  say("width", arena.max_concurrency());
  arena.execute([&] { say("width inside", tbb::this_task_arena::max_concurrency()); });
  say("result", arena.execute([] { return 17; }));
  std::atomic<long> enqueued{0};
  for (int i = 0; i < 100; ++i) arena.enqueue([&] { ++enqueued; });
  wait_for([&] { return enqueued == 100; });
  say("enqueued", enqueued);
  try {
    arena.execute([] { throw std::logic_error("from the arena"); });
  } catch (const std::logic_error& error) {
    std::printf("caught: %s\n", error.what());
  }
  {
    Counter counter(arena);
    for (int i = 0; i < 10; ++i) {
      arena.execute([] { tbb::parallel_for(0, 100, [](int) {}); });
    }
    say("observed", counter.entered > 0);
  }
  tbb::task_arena attached{tbb::task_arena::attach()};
  say("attached", attached.is_active());
  std::atomic<bool> is_wrong{false};
  thread_local long inside = 0;
  tbb::parallel_for(0, 100, [&](int) {
    tbb::this_task_arena::isolate([&] {
      ++inside;
      tbb::parallel_for(0, 100, [&](int) {});
      if (--inside != 0) is_wrong = true;
    });
  });
  say("isolated", !is_wrong);
  std::atomic<long> in_arena{0};
  tbb::task_arena low(2, 1, tbb::task_arena::priority::low);
  low.execute([&] { tbb::parallel_for(0, 10, [&](int) { ++in_arena; }); });
  say("of low priority", in_arena);
  std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  tbb::task_arena of_node(tbb::task_arena::constraints(nodes[0], 2));
  say("of a node", of_node.execute([] { return 1; }));
  say("outside", tbb::task_arena::not_initialized);
}

void settings() {
  using Control = tbb::global_control;
  {
    const Control two(Control::max_allowed_parallelism, 2);
    say("two", long(Control::active_value(Control::max_allowed_parallelism)));
    const Control one(Control::max_allowed_parallelism, 1);
    say("one", long(Control::active_value(Control::max_allowed_parallelism)));
    tbb::parallel_for(0, 100, [](int) {});
  }
  const Control stack(Control::thread_stack_size, 1 << 20);
  say("stack", long(Control::active_value(Control::thread_stack_size)));
  // All at the same time: one alone may be aligned by chance.
  tbb::cache_aligned_allocator<char> allocator;
  long aligned = 0;
  std::vector<char*> blocks;
  for (std::size_t bytes = 1; bytes < 2000; bytes += 50) {
    blocks.push_back(allocator.allocate(bytes));
    aligned += reinterpret_cast<std::uintptr_t>(blocks.back()) % 128 == 0;
  }
  for (char* const block : blocks) allocator.deallocate(block, 0);
  say("aligned", aligned);
#if SINCE_2021_6
  tbb::task_scheduler_handle handle{tbb::attach()};
#else
  tbb::task_scheduler_handle handle = tbb::task_scheduler_handle::get();
#endif
  say("held", bool(handle));
  say("finalized", tbb::finalize(handle, std::nothrow));
  say("empty", !handle);
  tbb::parallel_for(0, 100, [](int) {});
}

void settings_of_arenas() {
  using tbb::task_arena;
  say("index outside", tbb::this_task_arena::current_thread_index());
  task_arena never(5, 2);
  say("not active", never.is_active());
  say("width", never.max_concurrency());
  never.initialize();
  say("active", never.is_active());
  never.terminate();
  say("terminated", never.is_active());
  never.initialize(3, 1, task_arena::priority::high);
  say("width again", never.max_concurrency());
  const task_arena copy(never);
  say("copy", copy.max_concurrency());
  task_arena one(1);
  say("width of one", one.max_concurrency());
  one.execute([] {
    say("index", tbb::this_task_arena::current_thread_index());
    say("width", tbb::this_task_arena::max_concurrency());
  });
  task_arena reserved(4, 4);
  std::set<int> indices;
  reserved.execute([&] {
    tbb::parallel_for(0, 1000,
                      [&](int) { indices.insert(tbb::this_task_arena::current_thread_index()); });
  });
  say("indices", long(indices.size()));
  task_arena of_constraints(task_arena::constraints{}.set_max_concurrency(3), 0);
  say("constrained", of_constraints.max_concurrency());
  task_arena later;
  later.initialize(task_arena::constraints{tbb::info::numa_nodes()[0], 2});
  say("constrained later", later.max_concurrency());
  say("default", task_arena().max_concurrency() == tbb::info::default_concurrency());
  say("of no node",
      tbb::info::default_concurrency(task_arena::automatic) == tbb::info::default_concurrency());
  task_arena attached{task_arena::attach{}};
  say("attached", attached.is_active());
  std::thread([] {
    task_arena unattached{task_arena::attach{}};
    say("attached in a new thread", unattached.is_active());
    tbb::parallel_for(0, 10, [](int) {});
    task_arena used{task_arena::attach{}};
    say("attached after use", used.is_active());
    say("a value", used.execute([] { return std::string("value"); }) == "value");
  }).join();
}

// Counts how many threads are in the body at once.
void limits() {
  for (const int width : {1, 2, 3}) {
    tbb::task_arena arena(width);
    std::atomic<int> inside{0}, most{0};
    arena.execute([&] {
      tbb::parallel_for(0, 2000, [&](int) {
        const int now = ++inside;
        for (int m = most; now > m && !most.compare_exchange_weak(m, now);) {
        }
        --inside;
      });
    });
    say("not wider", most <= width);
  }
}

void nested_arenas() {
  tbb::task_arena a(2), b(2), c(1, 0);
  std::atomic<long> sum{0};
  a.execute([&] {
    tbb::parallel_for(0, 10, [&](int) {
      b.execute([&] {
        tbb::parallel_for(0, 10, [&](int) { ++sum; });
        b.execute([&] { ++sum; });
      });
    });
  });
  say("nested", sum);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        try {
          c.execute([&] {
            if (i % 10 == t) throw i;
            tbb::parallel_for(0, 10, [&](int) { ++sum; });
          });
        } catch (int thrown) {
          if (thrown % 10 == t) ++sum;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  say("in a full arena", sum);
  std::atomic<long> left{1000};
  std::function<void(int)> spread = [&](int depth) {
    --left;
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) {
      if (i == 0) {
        tbb::this_task_arena::enqueue([&, depth] { spread(depth - 1); });
      } else {
        b.enqueue([&, depth] { spread(depth - 1); });
      }
    }
  };
  a.enqueue([&] { spread(6); });
  wait_for([&] { return left == 1000 - 127; });
  say("spread", left);
  tbb::task_group group;
  tbb::task_handle handle = group.defer([&] { ++sum; });
  a.enqueue(std::move(handle));
  a.execute([&] { group.run([&] { ++sum; }); });
  a.execute([&] { group.wait(); });
  say("by handle", sum);
#if SINCE_2021_6
  tbb::this_task_arena::enqueue(group.defer([&] { ++sum; }));
  group.wait();
  say("by handle here", sum);
#endif
#if SINCE_2022_3
  a.enqueue([&] { ++sum; }, group);
  tbb::this_task_arena::enqueue([&] { ++sum; }, group);
  say("status", a.wait_for(group));
  group.wait();
  say("in a group", sum);
#endif
#if SINCE_2023_2
  {
    const tbb::task_arena::parallel_phase phase(a);
    for (int i = 0; i < 10; ++i) a.execute([&] { tbb::parallel_for(0, 10, [&](int) { ++sum; }); });
  }
  say("in a phase", sum);
#endif
#if SINCE_2023_0
  long nodes = 0;
  for (tbb::task_arena& arena : tbb::create_numa_task_arenas()) {
    arena.execute([&] { ++nodes; });
  }
  say("arenas of nodes", nodes == long(tbb::info::numa_nodes().size()));
#endif
  // Tasks that the headers of the flow graph submit.
  std::atomic<long> inner{0};
  tbb::parallel_for(0, 100, [&](int) {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(0, 10, [&](int) { ++inner; });
      return 0;
    });
  });
  say("isolated value", tbb::this_task_arena::isolate([] { return 7; }));
  say("isolated", inner);
}

// A call into an arena leaves the isolation scope, also in the arena that the thread is in. With
// one thread, a wait that does not find its tasks hangs.
void waits_in_isolation() {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  std::atomic<long> done{0};
  tbb::task_group group;
  tbb::flow::graph graph;
  tbb::flow::function_node<int> node(graph, tbb::flow::unlimited, [&](int) { ++done; });
  const auto wait = [&] {
    group.run([&] { ++done; });
    tbb::this_task_arena::isolate([&] {
      tbb::task_arena same{tbb::task_arena::attach{}};
      same.execute([&] { group.wait(); });
    });
    node.try_put(1);
    tbb::this_task_arena::isolate([&] { graph.wait_for_all(); });
  };
  wait();
  say("in isolation", done);
  // One body: a worker that still looks for work may take part in a loop beyond the limit.
  for (int i = 0; i < 10; ++i) tbb::parallel_for(0, 1, [&](int) { wait(); });
  say("in isolation, in a task", done);
}

[[noreturn]] void tell_failure(const char*, int, const char* condition, const char* what) {
  std::printf("failed: %s, %s\n", condition, what);
  std::fflush(stdout);
  std::_Exit(0);
}

void more_settings() {
  using Control = tbb::global_control;
  {
    auto* const three = new Control(Control::max_allowed_parallelism, 3);
    auto* const five = new Control(Control::max_allowed_parallelism, 5);
    say("least", long(Control::active_value(Control::max_allowed_parallelism)));
    delete three;
    say("next", long(Control::active_value(Control::max_allowed_parallelism)));
    delete five;
  }
  say("all", long(Control::active_value(Control::max_allowed_parallelism)) >=
                 tbb::info::default_concurrency());
  say("terminates", long(Control::active_value(Control::terminate_on_exception)));
  {
    const Control small(Control::thread_stack_size, 1 << 18);
    const Control large(Control::thread_stack_size, 1 << 22);
    say("stack", long(Control::active_value(Control::thread_stack_size)));
  }
  long kept = -1;
  tbb::parallel_for(0, 1, [&](int) {
#if SINCE_2021_6
    tbb::task_scheduler_handle handle{tbb::attach()};
#else
    tbb::task_scheduler_handle handle = tbb::task_scheduler_handle::get();
#endif
    try {
      tbb::finalize(handle);
      kept = 0;
    } catch (const tbb::unsafe_wait&) {
      kept = 1;
    }
    kept += bool(handle) ? 2 : 0;
  });
  say("not finalized in a task", kept);
#if SINCE_2023_2
  using Handler = tbb::assertion_handler_type;
  const Handler before = tbb::set_assertion_handler(&tell_failure);
  say("handler", tbb::get_assertion_handler() == &tell_failure);
  tbb::set_assertion_handler(before);
  say("default handler", tbb::get_assertion_handler() == before);
#endif
  const tbb::tick_count start = tbb::tick_count::now();
  nap(2);
  say("time passes", (tbb::tick_count::now() - start).seconds() > 0);
  say("version", TBB_runtime_interface_version() >= TBB_INTERFACE_VERSION);
}

class Watcher : public tbb::task_scheduler_observer {
 public:
  Watcher() = default;
  explicit Watcher(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) {}
  ~Watcher() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    ++(is_worker ? workers : callers);
    index = tbb::this_task_arena::current_thread_index();
  }
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker) ++left;
  }
  std::atomic<long> workers{0}, callers{0}, left{0}, index{-1};
};

void observers() {
  tbb::task_arena arena(1);
  Watcher watcher(arena), all;
  say("observes", watcher.is_observing());
  watcher.observe(true);
  watcher.observe(true);
  say("observes", watcher.is_observing());
  for (int i = 0; i < 3; ++i) {
    arena.execute([] { tbb::parallel_for(0, 10, [](int) {}); });
  }
  say("callers", watcher.callers);
  say("callers left", watcher.left);
  say("workers", watcher.workers);
  say("index", watcher.index);
  watcher.observe(false);
  arena.execute([] {});
  say("callers", watcher.callers);
  all.observe(true);
  tbb::parallel_for(0, 10, [](int) {});
  say("seen", all.callers);
  all.observe(false);
  say("and left", all.left);
}

}  // namespace

int main() {
  one_thread();
  arenas();
  settings();
  settings_of_arenas();
  limits();
  nested_arenas();
  waits_in_isolation();
  more_settings();
  observers();
  std::puts("end");
  return 0;
}
