// SPDX-License-Identifier: Apache-2.0
// An object of each type that GDB has a printer for. test_gdb.py prints them in stop_here().
#include <oneapi/tbb.h>

#include <string>
#include <thread>
#include <utility>

namespace {

struct Throwing {
  explicit Throwing(int n) : number(n) {}
  Throwing(const Throwing& other) : number(other.number) {}
  Throwing& operator=(const Throwing&) = default;
  bool operator<(const Throwing& other) const { return number < other.number; }
  int number;
};

// Not constructed from 2.
struct Picky {
  explicit Picky(int n) : number(n) {
    if (n == 2) throw n;
  }
  int number;
};

struct Wide {
  int number = 0;
  int rest[5] = {};
};

// All keys in one bucket.
struct OneBucket {
  static std::size_t hash(int) { return 1; }
  static bool equal(int a, int b) { return a == b; }
};

using Names = tbb::concurrent_hash_map<int, std::string>;

__attribute__((noinline)) void stop_here() { __asm__ volatile("" : : : "memory"); }

}  // namespace

int main() {
  tbb::concurrent_vector<int> empty_vector;
  tbb::concurrent_vector<int> vector{1, 2, 3};
  oneapi::tbb::concurrent_vector<std::string> long_vector;
  for (int i = 0; i < 1000; ++i) long_vector.push_back("text " + std::to_string(i));
  tbb::concurrent_vector<int> int_vector;
  tbb::concurrent_vector<char> char_vector;
  tbb::concurrent_vector<Wide> wide_vector;
  for (int i = 0; i < 100; ++i) {
    int_vector.push_back(i);
    char_vector.push_back(static_cast<char>(i));
    wide_vector.push_back(Wide{i, {}});
  }
  const tbb::concurrent_vector<int>& reference = vector;

  Names hash_map;
  for (int i = 0; i < 300; ++i) hash_map.insert({i, "number " + std::to_string(i)});
  tbb::concurrent_hash_map<int, int, OneBucket> clashing_map;
  for (int i = 0; i < 30; ++i) clashing_map.insert({i, i});
  tbb::concurrent_hash_map<int, int, OneBucket> full_bucket;
  for (int i = 0; i < 7; ++i) full_bucket.insert({i, i});
  tbb::concurrent_unordered_map<std::string, int> unordered_map{{"one", 1}, {"two", 2}};
  tbb::concurrent_unordered_set<int> unordered_set;
  for (int i = 0; i < 3000; ++i) unordered_set.insert(i);
  tbb::concurrent_unordered_multimap<int, int> unordered_multimap{{7, 1}, {7, 2}};
  tbb::concurrent_unordered_multiset<int> unordered_multiset{8, 8};
  tbb::concurrent_map<int, std::string> map{{2, "two"}, {1, "one"}};
  tbb::concurrent_multimap<int, int> multimap{{3, 1}, {3, 2}};
  tbb::concurrent_set<int> set;
  for (int i = 0; i < 1000; ++i) set.insert(999 - i);
  tbb::concurrent_multiset<std::string> multiset{"b", "a", "a"};

  tbb::concurrent_queue<int> queue;
  for (int i = 0; i < 3000; ++i) queue.push(i);
  int popped = 0;
  for (int i = 0; i < 1000; ++i) queue.try_pop(popped);
  tbb::concurrent_queue<Picky> broken_queue;
  for (int i = 1; i < 4; ++i) {
    try {
      broken_queue.emplace(i);
    } catch (int) {
    }
  }
  tbb::concurrent_bounded_queue<int> bounded_queue;
  bounded_queue.set_capacity(10);
  bounded_queue.push(5);
  tbb::concurrent_priority_queue<int> priority_queue;
  for (const int i : {3, 9, 4}) priority_queue.push(i);
  tbb::concurrent_priority_queue<Throwing> throwing_queue;
  throwing_queue.push(Throwing(6));

  tbb::enumerable_thread_specific<int> thread_specific;
  thread_specific.local() = 11;
  std::thread([&] { thread_specific.local() = 12; }).join();
  tbb::combinable<int> combinable;
  combinable.local() = 13;

  tbb::blocked_range<int> range(3, 17);
  tbb::blocked_range<std::size_t> coarse_range(0, 100, 10);
  tbb::blocked_range2d<int> range2d(0, 4, 0, 5);
  tbb::blocked_range3d<int> range3d(0, 4, 0, 5, 0, 6);
  tbb::blocked_nd_range<int, 4> nd_range({0, 1}, {0, 2}, {0, 3}, {0, 4});

  tbb::mutex mutex;
  [[maybe_unused]] tbb::spin_mutex spin_mutex;
  tbb::speculative_spin_mutex speculative_mutex;
  tbb::rw_mutex rw_mutex;
  tbb::spin_rw_mutex spin_rw_mutex;
  tbb::queuing_mutex queuing_mutex;
  tbb::queuing_rw_mutex queuing_rw_mutex;
  [[maybe_unused]] tbb::null_mutex null_mutex;
  tbb::mutex::scoped_lock scoped_lock(mutex);
  tbb::queuing_mutex::scoped_lock queuing_lock(queuing_mutex);
  rw_mutex.lock_shared();
  spin_rw_mutex.lock();
  tbb::queuing_rw_mutex::scoped_lock queuing_rw_lock(queuing_rw_mutex, false);

  tbb::task_group_context context;
  context.cancel_group_execution();
  tbb::task_group task_group;
  tbb::task_handle task_handle = task_group.defer([&popped] { ++popped; });
  tbb::task_handle no_handle;
  tbb::task_arena arena(3);
  [[maybe_unused]] tbb::collaborative_once_flag once_flag;

  tbb::flow::graph graph;
  tbb::flow::function_node<int, int> function_node(graph, 2, [](int i) { return i; });
  tbb::flow::queue_node<int> queue_node(graph);
  queue_node.try_put(21);
  queue_node.try_put(22);
  tbb::flow::overwrite_node<int> overwrite_node(graph);
  overwrite_node.try_put(23);
  tbb::flow::limiter_node<int> limiter_node(graph, 4);
  tbb::flow::broadcast_node<int> broadcast_node(graph);
  graph.wait_for_all();

  stop_here();
  task_group.run(std::move(task_handle));
  task_group.wait();
  rw_mutex.unlock_shared();
  spin_rw_mutex.unlock();
  return static_cast<int>(reference.size()) - 3;
}
