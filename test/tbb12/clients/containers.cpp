// SPDX-License-Identifier: Apache-2.0
// Containers and memory.
#include "client.hpp"

namespace {

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
  wait_for([&] { return queue.size() == -1; });
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
}

struct Throws {
  static std::atomic<int> made, alive;
  static int limit;
  int value = 0;
  Throws() : Throws(0) {}
  explicit Throws(int v) : value(v) {
    if (++made == limit) throw std::runtime_error("limit");
    ++alive;
  }
  Throws(const Throws& other) : Throws(other.value) {}
  Throws& operator=(const Throws&) = default;
  ~Throws() { --alive; }
};
std::atomic<int> Throws::made{0}, Throws::alive{0};
int Throws::limit = 0;

void queues() {
  tbb::concurrent_bounded_queue<long> queue;
  say("capacity", queue.capacity() > 1000000);
  queue.set_capacity(5);
  say("capacity", queue.capacity());
  for (int i = 0; i < 8; ++i) say("tried", queue.try_push(i));
  say("size", queue.size());
  long got = -1;
  say("popped", queue.try_pop(got));
  say("first", got);
  queue.clear();
  say("empty", queue.empty());
  std::atomic<long> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) queue.emplace(i);
    });
    threads.emplace_back([&] {
      long x;
      for (int i = 0; i < 3000; ++i) {
        queue.pop(x);
        sum += x;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  say("sum", sum);
  threads.clear();
  // Those that wait for an item or a place are woken by abort.
  std::atomic<long> aborted{0}, waiting{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      long x;
      try {
        ++waiting;
        queue.pop(x);
      } catch (const tbb::user_abort& e) {
        aborted += e.what() != nullptr;
      }
    });
  }
  // A pop that waits counts as a negative size.
  wait_for([&] { return waiting == 3 && queue.size() == -3; });
  queue.abort();
  for (std::thread& t : threads) t.join();
  threads.clear();
  say("aborted", aborted);
  for (int i = 0; i < 5; ++i) queue.push(i);
  waiting = 0;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      try {
        ++waiting;
        queue.push(7);
      } catch (const std::exception& e) {
        aborted += dynamic_cast<const tbb::user_abort*>(&e) != nullptr;
      }
    });
  }
  wait_for([&] { return waiting == 2 && queue.size() == 7; });
  queue.abort();
  for (std::thread& t : threads) t.join();
  say("aborted", aborted);
  say("left", queue.size());
  tbb::concurrent_bounded_queue<long> copy(queue), moved(std::move(copy));
  say("copied", moved.size());
  tbb::concurrent_queue<std::string> texts;
  tbb::parallel_for(0, 1000, [&](int i) { texts.push(std::to_string(i)); });
  std::string text;
  long digits = 0;
  while (texts.try_pop(text)) digits += std::stol(text);
  say("digits", digits);
  // An element whose constructor throws is not in the queue.
  Throws::limit = 5;
  tbb::concurrent_bounded_queue<Throws> throwing;
  for (int i = 0; i < 8; ++i) {
    try {
      throwing.emplace(i);
    } catch (const std::runtime_error&) {
      say("not in the queue", i);
    }
  }
  Throws::limit = 0;
  long values = 0;
  Throws t;
  while (throwing.try_pop(t)) values = values * 10 + t.value;
  say("values", values);
  tbb::concurrent_priority_queue<int, std::greater<int>> heap;
  tbb::parallel_for(0, 1000, [&](int i) { heap.push(i * 7919 % 1000); });
  int last = -1, x = 0;
  long ordered = 0;
  while (heap.try_pop(x)) {
    ordered += x > last;
    last = x;
  }
  say("ordered", ordered);
}

void vectors() {
  tbb::concurrent_vector<int> v;
  tbb::parallel_for(0, 1000, [&](int i) {
    auto where = v.grow_by(3);
    for (int j = 0; j < 3; ++j) *where++ = i;
  });
  say("size", long(v.size()));
  say("sum", std::accumulate(v.begin(), v.end(), 0L));
  v.grow_to_at_least(5000, 1);
  say("size", long(v.size()));
  v.reserve(10000);
  v.shrink_to_fit();
  say("capacity", v.capacity() >= 5000);
  for (const std::size_t where : {std::size_t(4999), std::size_t(5000), std::size_t(1) << 40}) {
    try {
      say("at", v.at(where));
    } catch (const std::out_of_range&) {
      say("out of range", 1);
    }
  }
  try {
    v.reserve(v.max_size() + 1);
  } catch (const std::length_error&) {
    say("too long", 1);
  }
  Throws::made = 0;
  Throws::limit = 30;
  tbb::concurrent_vector<Throws> failing;
  try {
    failing.grow_by(20);
    failing.grow_by(20);
  } catch (const std::runtime_error&) {
    say("grown until", long(failing.size()) >= 20);
  }
  Throws::limit = 0;
  tbb::concurrent_vector<int, tbb::cache_aligned_allocator<int>> aligned(100, 3);
  say("aligned", std::accumulate(aligned.begin(), aligned.end(), 0L));
  long range = 0;
  for (auto r = aligned.range(10); !r.empty();) {
    range = long(r.size());
    break;
  }
  say("range", range);
}

void maps() {
  using Map = tbb::concurrent_hash_map<std::string, long>;
  Map map;
  std::atomic<long> inserted{0}, erased{0};
  tbb::parallel_for(0, 20000, [&](int i) {
    Map::accessor a;
    inserted += map.insert(a, std::to_string(i % 500));
    ++a->second;
    if (i % 1000 == 999) erased += map.erase(a);
  });
  say("consistent", long(map.size()) == inserted - erased);
  std::atomic<long> total{0};
  tbb::parallel_for(map.range(), [&](const Map::range_type& r) {
    for (auto i = r.begin(); i != r.end(); ++i) ++total;
  });
  say("in its range", total == long(map.size()));
  map.rehash(10000);
  Map copy(map);
  map.clear();
  say("cleared", long(map.size() + copy.count("nothing")));
  tbb::concurrent_unordered_map<int, int> unordered;
  tbb::concurrent_map<int, int> ordered;
  tbb::concurrent_unordered_multiset<int> many;
  tbb::concurrent_set<std::string> words;
  tbb::parallel_for(0, 5000, [&](int i) {
    unordered.insert({i % 700, i});
    ordered.emplace(i % 800, i);
    many.insert(i % 10);
    words.insert(std::to_string(i % 90));
  });
  say("unordered", long(unordered.size()));
  say("ordered", long(ordered.size()));
  say("of one key", long(many.count(3)));
  say("words", long(words.size()));
  say("first", ordered.begin()->first);
  say("bound", ordered.lower_bound(300)->first);
  try {
    unordered.at(12345);
  } catch (const std::out_of_range&) {
    say("no key", 1);
  }
  try {
    unordered.max_load_factor(-1);
  } catch (const std::out_of_range&) {
    say("load factor", 1);
  }
  std::atomic<long> computed{0};
  tbb::concurrent_lru_cache<int, long> cache([](int key) { return key * 2L; }, 10);
  tbb::parallel_for(0, 1000, [&](int i) { computed += cache[i % 20].value(); });
  say("computed", computed);
}

void memory() {
  for (const std::size_t bytes : {1, 64, 1000, 100000, 5000000}) {
    tbb::cache_aligned_allocator<char> aligned;
    tbb::tbb_allocator<char> plain;
    char* const a = aligned.allocate(bytes);
    char* const p = plain.allocate(bytes);
    std::memset(a, 1, bytes);
    std::memset(p, 2, bytes);
    say("aligned", reinterpret_cast<std::uintptr_t>(a) % 64 == 0);
    aligned.deallocate(a, bytes);
    plain.deallocate(p, bytes);
  }
  say("maximum", tbb::cache_aligned_allocator<int>().max_size() > 1000000);
  try {
    tbb::cache_aligned_allocator<char>().allocate(std::size_t(1) << 60);
  } catch (const std::bad_alloc&) {
    say("too much", 1);
  }
#if defined(__cpp_lib_memory_resource)
  tbb::cache_aligned_resource resource;
  void* const block = resource.allocate(100, 256);
  say("resource", reinterpret_cast<std::uintptr_t>(block) % 256 == 0);
  resource.deallocate(block, 100, 256);
  std::pmr::vector<int> numbers(1000, 5, &resource);
  say("in the resource", std::accumulate(numbers.begin(), numbers.end(), 0L));
#endif
#if SINCE_2023_1
  void* const spread = tbb::allocate_numa_interleaved(1 << 20);
  std::memset(spread, 0, 1 << 20);
  tbb::deallocate_numa_interleaved(spread, 1 << 20);
  say("interleaved", 1);
#endif
}

}  // namespace

int main() {
  containers();
  queues();
  vectors();
  maps();
  memory();
  std::puts("end");
  return 0;
}
