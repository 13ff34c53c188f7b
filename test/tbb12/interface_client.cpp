// SPDX-License-Identifier: Apache-2.0
// Compiled with oneTBB's headers, and run on its library and on Corbel's libtbb.so.12: prints what
// must be the same on both.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#define TBB_PREVIEW_CONCURRENT_LRU_CACHE 1
#include <tbb/tbb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void say(const char* what, long value) {
  std::printf("%s: %ld\n", what, value);
  std::fflush(stdout);
}

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

template <typename Condition>
void wait_for(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

long fibonacci(int n) {
  if (n < 2) return n;
  long a = 0, b = 0;
  tbb::parallel_invoke([&] { a = fibonacci(n - 1); }, [&] { b = fibonacci(n - 2); });
  return a + b;
}

void algorithms() {
  say("fibonacci", fibonacci(20));
  std::vector<int> numbers(100000);
  tbb::parallel_for(0, 100000, [&](int i) { numbers[i] = 99999 - i; });
  tbb::affinity_partitioner affinity;
  for (int round = 0; round < 5; ++round) {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 100000, 10),
        [&](const tbb::blocked_range<int>& r) {
          for (int i = r.begin(); i != r.end(); ++i) ++numbers[i];
        },
        affinity);
  }
  tbb::parallel_for(
      tbb::blocked_range<int>(0, 100000, 1000),
      [&](const tbb::blocked_range<int>& r) {
        for (int i = r.begin(); i != r.end(); ++i) --numbers[i];
      },
      tbb::static_partitioner());
  say("sum", tbb::parallel_reduce(
                 tbb::blocked_range<int>(0, 100000), 0L,
                 [&](const tbb::blocked_range<int>& r, long sum) {
                   for (int i = r.begin(); i != r.end(); ++i) sum += numbers[i];
                   return sum;
                 },
                 std::plus<long>()));
  const std::string joined = tbb::parallel_deterministic_reduce(
      tbb::blocked_range<int>(0, 26, 1), std::string(),
      [](const tbb::blocked_range<int>& r, std::string s) {
        for (int i = r.begin(); i != r.end(); ++i) s += char('a' + i);
        return s;
      },
      std::plus<std::string>());
  std::printf("joined: %s\n", joined.c_str());
  tbb::parallel_sort(numbers.begin(), numbers.end());
  say("sorted", std::is_sorted(numbers.begin(), numbers.end()));
  std::vector<long> sums(1000);
  tbb::parallel_scan(
      tbb::blocked_range<int>(0, 1000, 7), 0L,
      [&](const tbb::blocked_range<int>& r, long sum, bool is_final) {
        for (int i = r.begin(); i != r.end(); ++i) {
          sum += i;
          if (is_final) sums[i] = sum;
        }
        return sum;
      },
      std::plus<long>());
  say("scan", sums[999]);
  std::atomic<long> fed{0};
  std::vector<int> seeds{1, 2, 3};
  tbb::parallel_for_each(seeds.begin(), seeds.end(), [&](int x, tbb::feeder<int>& feeder) {
    fed += x;
    if (x < 1000) feeder.add(x * 3);
  });
  say("fed", fed);
}

void groups() {
  tbb::task_group group;
  std::atomic<long> count{0};
  for (int i = 0; i < 1000; ++i) group.run([&] { ++count; });
  say("waited", group.wait());
  say("counted", count);
  auto handle = group.defer([&] { ++count; });
  group.run(std::move(handle));
  group.run_and_wait([&] { ++count; });
  say("deferred", count);
  // A body that returns the task to run next.
  group.run([&]() -> tbb::task_handle {
    ++count;
    return group.defer([&] { ++count; });
  });
  group.wait();
  say("bypassed", count);

  tbb::task_group cancelled;
  cancelled.cancel();
  cancelled.run([&] { ++count; });
  say("cancelled", cancelled.wait() == tbb::canceled);
  say("reset", cancelled.wait() == tbb::complete);

  try {
    for (int i = 0; i < 100; ++i) {
      group.run([i] {
        if (i == 42) throw std::runtime_error("forty-two");
      });
    }
    group.wait();
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
  // The parent's cancellation reaches tasks below.
  tbb::task_group_context outer;
  std::atomic<bool> is_inside{false};
  std::atomic<long> seen{0};
  tbb::parallel_for(
      0, 1,
      [&](int) {
        tbb::parallel_for(0, 100000, [&](int) {
          if (!is_inside.exchange(true)) outer.cancel_group_execution();
          ++seen;
        });
      },
      outer);
  say("stopped early", seen < 100000 && outer.is_group_execution_cancelled());
  outer.reset();
  say("not cancelled", !outer.is_group_execution_cancelled());
  try {
    tbb::parallel_for(0, 1000, [](int i) {
      if (i == 500) throw std::string("text");
    });
  } catch (const std::string& text) {
    std::printf("caught: %s\n", text.c_str());
  }
  say("outside", tbb::is_current_task_group_canceling());
}

class Counter : public tbb::task_scheduler_observer {
 public:
  explicit Counter(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~Counter() override { observe(false); }
  void on_scheduler_entry(bool) override { ++entered; }
  void on_scheduler_exit(bool) override { ++left; }
  std::atomic<long> entered{0}, left{0};
};

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
    wait_for([&] { return counter.entered >= counter.left; });
  }
  tbb::task_arena attached{tbb::attach()};
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
  tbb::task_group group;
  std::atomic<long> in_arena{0};
  arena.execute([&] { group.run([&] { ++in_arena; }); });
  arena.wait_for(group);
  say("waited in the arena", in_arena);
  tbb::task_arena low(2, 1, tbb::task_arena::priority::low);
  low.execute([&] { tbb::parallel_for(0, 10, [&](int) { ++in_arena; }); });
  say("of low priority", in_arena);
  std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
  tbb::task_arena of_node(tbb::task_arena::constraints(nodes[0], 2));
  say("of a node", of_node.execute([] { return 1; }));
  say("outside", tbb::task_arena::not_initialized);
}

void suspended() {
  std::thread resumer;
  std::atomic<long> done{0};
  tbb::task_group group;
  for (int i = 0; i < 4; ++i) {
    group.run([&] {
      tbb::task::suspend([&](tbb::task::suspend_point point) {
        std::thread([point] {
          nap(5);
          tbb::task::resume(point);
        }).detach();
      });
      ++done;
    });
  }
  group.wait();
  say("resumed", done);
}

void pipelines() {
  for (const std::size_t tokens : {1, 4, 64}) {
    int next = 0;
    long last = -1, sum = 0;
    bool is_ordered = true;
    tbb::parallel_pipeline(
        tokens,
        tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order,
                                            [&](tbb::flow_control& control) -> std::string {
                                              if (next == 1000) control.stop();
                                              return std::to_string(next++);
                                            }) &
            tbb::make_filter<std::string, long>(tbb::filter_mode::parallel,
                                                [](const std::string& s) { return std::stol(s); }) &
            tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order, [&](long x) {
              is_ordered = is_ordered && x == last + 1;
              last = x;
              sum += x;
            }));
    say("ordered", is_ordered);
    say("piped", sum);
  }
  std::atomic<int> made{0};
  std::atomic<long> out{0};
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, int>(tbb::filter_mode::parallel, [&](tbb::flow_control& control) {
           const int i = made++;
           if (i >= 500) control.stop();
           return i;
         }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_out_of_order, [&](int x) {
           out += x;
         }));
  say("parallel source", out);
  try {
    int i = 0;
    tbb::parallel_pipeline(
        4, tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order,
                                               [&](tbb::flow_control& control) -> std::string {
                                                 if (i++ == 100) control.stop();
                                                 return std::string(100, 'x');
                                               }) &
               tbb::make_filter<std::string, void>(
                   tbb::filter_mode::parallel,
                   [&](const std::string&) { throw std::runtime_error("in a filter"); }));
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
}

void graphs() {
  using namespace tbb::flow;
  graph g;
  std::atomic<long> sum{0};
  input_node<int> source(g, [i = 0](tbb::flow_control& control) mutable {
    if (i == 1000) control.stop();
    return i++;
  });
  function_node<int, int> twice(g, unlimited, [](int x) { return 2 * x; });
  limiter_node<int> limiter(g, 10);
  function_node<int, continue_msg> add(g, serial, [&](int x) {
    sum += x;
    return continue_msg();
  });
  make_edge(source, limiter);
  make_edge(limiter, twice);
  make_edge(twice, add);
  make_edge(add, limiter.decrementer());
  source.activate();
  g.wait_for_all();
  say("graph", sum);

  broadcast_node<int> start(g);
  join_node<std::tuple<int, int>> both(g);
  function_node<int, int, lightweight> left(g, unlimited, [](int x) noexcept { return x + 1; });
  function_node<int, int> right(g, serial, [](int x) { return x * 10; }, node_priority_t(2));
  std::atomic<long> joined{0};
  function_node<std::tuple<int, int>> end(
      g, serial, [&](const std::tuple<int, int>& t) { joined += std::get<0>(t) + std::get<1>(t); });
  make_edge(start, left);
  make_edge(start, right);
  make_edge(left, input_port<0>(both));
  make_edge(right, input_port<1>(both));
  make_edge(both, end);
  for (int i = 0; i < 100; ++i) start.try_put(i);
  g.wait_for_all();
  say("joined", joined);

  sequencer_node<int> order(g, [](int x) { return std::size_t(x); });
  std::string letters;
  function_node<int> spell(g, serial, [&](int x) { letters += char('a' + x); });
  make_edge(order, spell);
  for (int i = 25; i >= 0; --i) order.try_put(i);
  g.wait_for_all();
  std::printf("spelt: %s\n", letters.c_str());

  using Async = async_node<int, int>;
  Async async(g, unlimited, [](int x, Async::gateway_type& gateway) {
    gateway.reserve_wait();
    std::thread([x, &gateway] {
      gateway.try_put(x * x);
      gateway.release_wait();
    }).detach();
  });
  std::atomic<long> squares{0};
  function_node<int> collect(g, serial, [&](int x) { squares += x; });
  make_edge(async, collect);
  for (int i = 0; i < 20; ++i) async.try_put(i);
  g.wait_for_all();
  say("squares", squares);

  function_node<int> throws(g, serial, [](int) { throw std::runtime_error("in a node"); });
  throws.try_put(1);
  try {
    g.wait_for_all();
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
  say("cancelled", g.is_cancelled());
  g.reset();
}

void containers() {
  tbb::concurrent_bounded_queue<int> queue;
  queue.set_capacity(3);
  std::thread producer([&] {
    for (int i = 0; i < 10000; ++i) queue.push(i);
  });
  long sum = 0;
  for (int i = 0; i < 10000; ++i) {
    int x = 0;
    queue.pop(x);
    sum += x;
  }
  producer.join();
  say("bounded", sum);
  std::thread aborted([&] {
    int x;
    try {
      queue.pop(x);
    } catch (const tbb::user_abort&) {
      say("aborted", 1);
    }
  });
  nap(20);
  queue.abort();
  aborted.join();
  tbb::concurrent_hash_map<int, int> map;
  tbb::concurrent_vector<int> vector;
  tbb::concurrent_priority_queue<int> heap;
  tbb::parallel_for(0, 10000, [&](int i) {
    tbb::concurrent_hash_map<int, int>::accessor a;
    map.insert(a, i % 100);
    ++a->second;
    vector.push_back(i);
    heap.push(i);
  });
  tbb::concurrent_hash_map<int, int>::const_accessor found;
  say("found", map.find(found, 7) ? found->second : -1);
  say("vector", std::accumulate(vector.begin(), vector.end(), 0L));
  try {
    vector.at(20000);
  } catch (const std::out_of_range&) {
    say("out of range", 1);
  }
  int greatest = 0;
  heap.try_pop(greatest);
  say("greatest", greatest);
  tbb::enumerable_thread_specific<long> local;
  tbb::combinable<long> combined;
  tbb::parallel_for(0, 1000, [&](int i) {
    local.local() += i;
    combined.local() += i;
  });
  say("local", local.combine(std::plus<long>()));
  say("combined", combined.combine(std::plus<long>()));
  tbb::collaborative_once_flag flag;
  std::atomic<long> once{0};
  tbb::parallel_for(0, 100, [&](int) {
    tbb::collaborative_call_once(flag, [&] { tbb::parallel_for(0, 10, [&](int) { ++once; }); });
  });
  say("once", once);
}

template <typename Mutex>
void use_lock(const char* name) {
  Mutex mutex;
  long count = 0;
  tbb::parallel_for(0, 10000, [&](int) {
    typename Mutex::scoped_lock lock(mutex);
    ++count;
  });
  typename Mutex::scoped_lock lock;
  const bool taken = lock.try_acquire(mutex);
  say(name, taken ? count : -1);
}

template <typename Mutex>
void use_rw_lock(const char* name) {
  Mutex mutex;
  long count = 0, upgrades = 0;
  std::atomic<bool> is_wrong{false};
  tbb::parallel_for(0, 10000, [&](int i) {
    typename Mutex::scoped_lock lock(mutex, i % 5 == 0);
    if (i % 5 == 0) {
      ++count;
      if (i % 10 == 0) {
        lock.downgrade_to_reader();
        if (count == 0) is_wrong = true;
      }
    } else if (i % 5 == 1) {
      const long before = count;
      if (lock.upgrade_to_writer() && count != before) is_wrong = true;
      ++upgrades;
    } else if (count < 0) {
      is_wrong = true;
    }
  });
  say(name, is_wrong ? -1 : count + upgrades);
}

void locks() {
  use_lock<tbb::mutex>("mutex");
  use_lock<tbb::spin_mutex>("spin_mutex");
  use_lock<tbb::queuing_mutex>("queuing_mutex");
  use_lock<tbb::speculative_spin_mutex>("speculative_spin_mutex");
  use_rw_lock<tbb::rw_mutex>("rw_mutex");
  use_rw_lock<tbb::spin_rw_mutex>("spin_rw_mutex");
  use_rw_lock<tbb::queuing_rw_mutex>("queuing_rw_mutex");
  use_rw_lock<tbb::speculative_spin_rw_mutex>("speculative_spin_rw_mutex");
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
  void* const memory = tbb::cache_aligned_allocator<char>().allocate(100);
  say("aligned", reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  tbb::cache_aligned_allocator<char>().deallocate(static_cast<char*>(memory), 100);
  tbb::task_scheduler_handle handle{tbb::attach()};
  say("held", bool(handle));
  say("finalized", tbb::finalize(handle, std::nothrow));
  say("empty", !handle);
  tbb::parallel_for(0, 100, [](int) {});
}

}  // namespace

int main() {
  algorithms();
  groups();
  arenas();
  suspended();
  pipelines();
  graphs();
  containers();
  locks();
  settings();
  std::puts("end");
  return 0;
}
