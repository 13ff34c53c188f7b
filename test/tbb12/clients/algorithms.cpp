// SPDX-License-Identifier: Apache-2.0
// Parallel algorithms.
#include "client.hpp"

namespace {

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

// A range that splits in proportion, and counts its pieces' elements.
struct Pieces {
  int first, last;
  static const bool is_splittable_in_proportion = true;
  Pieces(int f, int l) : first(f), last(l) {}
  Pieces(Pieces& r, tbb::split) : first((r.first + r.last) / 2), last(r.last) { r.last = first; }
  Pieces(Pieces& r, tbb::proportional_split p) : last(r.last) {
    const long whole = r.last - r.first;
    const long right = std::max(1L, whole * long(p.right()) / long(p.left() + p.right()));
    first = r.last = int(r.last - right);
  }
  bool empty() const { return first == last; }
  bool is_divisible() const { return last - first > 1; }
};

template <typename Partitioner>
void use_partitioner(const char* name, Partitioner&& partitioner) {
  std::atomic<long> sum{0};
  for (int round = 0; round < 3; ++round) {
    tbb::parallel_for(
        Pieces(0, 1000),
        [&](const Pieces& p) {
          for (int i = p.first; i < p.last; ++i) sum += i;
        },
        partitioner);
    tbb::parallel_for(0, 1000, 3, [&](int i) { sum += i; }, partitioner);
    sum += tbb::parallel_reduce(
        tbb::blocked_range<int>(0, 1000, 10), 0L,
        [](const tbb::blocked_range<int>& r, long s) {
          for (int i = r.begin(); i != r.end(); ++i) s += i;
          return s;
        },
        std::plus<long>(), partitioner);
  }
  say(name, sum);
}

struct Summing {
  long sum = 0;
  Summing() = default;
  Summing(Summing&, tbb::split) {}
  template <typename Range>
  void operator()(const Range& r) {
    for (auto i = r.begin(); i != r.end(); ++i) sum += i;
  }
  template <typename Range, typename Tag>
  void operator()(const Range& r, Tag) {
    (*this)(r);
  }
  void join(Summing& right) { sum += right.sum; }
  void reverse_join(Summing& left) { sum += left.sum; }
  void assign(Summing& other) { sum = other.sum; }
};

void bodies() {
  tbb::affinity_partitioner affinity;
  use_partitioner("auto", tbb::auto_partitioner());
  use_partitioner("simple", tbb::simple_partitioner());
  use_partitioner("static", tbb::static_partitioner());
  use_partitioner("affinity", affinity);
  Summing reduced, repeated, scanned;
  tbb::parallel_reduce(tbb::blocked_range<long>(0, 12345), reduced);
  tbb::parallel_deterministic_reduce(tbb::blocked_range<long>(0, 12345, 100), repeated,
                                     tbb::static_partitioner());
  tbb::parallel_scan(tbb::blocked_range<long>(0, 12345), scanned);
  say("reduced", reduced.sum);
  say("repeated", repeated.sum);
  say("scanned", scanned.sum);
  std::atomic<long> cells{0};
  tbb::parallel_for(tbb::blocked_range2d<int>(0, 50, 7, 0, 60, 9),
                    [&](const tbb::blocked_range2d<int>& r) {
                      cells += long(r.rows().size() * r.cols().size());
                    });
  tbb::parallel_for(tbb::blocked_range3d<int>(0, 20, 0, 30, 0, 40),
                    [&](const tbb::blocked_range3d<int>& r) {
                      cells += long(r.pages().size() * r.rows().size() * r.cols().size());
                    });
  say("cells", cells);
  std::atomic<long> invoked{0};
  const auto one = [&] { ++invoked; };
  tbb::parallel_invoke(one, one, one, one, one, one, one, one, one, one, one, one);
  say("invoked", invoked);
  std::set<std::string> words{"a", "bb", "ccc", "dddd"};
  std::atomic<long> letters{0};
  tbb::parallel_for_each(words, [&](const std::string& w) { letters += long(w.size()); });
  say("letters", letters);
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i * 7919 % 5000));
  tbb::parallel_sort(texts, std::greater<std::string>());
  say("descending", std::is_sorted(texts.rbegin(), texts.rend()));
  try {
    tbb::parallel_for(0, 10, -1, [](int) {});
  } catch (const std::invalid_argument&) {
    say("step", -1);
  }
  for (int where : {0, 77, 999}) {
    try {
      tbb::parallel_reduce(
          tbb::blocked_range<int>(0, 1000, 1), 0L,
          [&](const tbb::blocked_range<int>& r, long s) {
            if (r.begin() <= where && where < r.end()) throw where;
            return s;
          },
          std::plus<long>());
    } catch (int thrown) {
      say("thrown", thrown);
    }
  }
}

template <tbb::ets_key_usage_type Key>
void use_local(const char* name) {
  tbb::enumerable_thread_specific<long, tbb::cache_aligned_allocator<long>, Key> local(0L);
  tbb::parallel_for(0, 10000, [&](int i) { local.local() += i; }, tbb::simple_partitioner());
  bool exists = false;
  ++local.local(exists);
  say(name, local.combine(std::plus<long>()) - 1);
  std::vector<std::thread> threads;
  local.clear();
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      local.local() = 1;
      nap(20);
    });
  for (std::thread& t : threads) t.join();
  say("kept", local.combine(std::plus<long>()) > 0);
}

void locals() {
  use_local<tbb::ets_no_key>("no key");
  use_local<tbb::ets_key_per_instance>("key per instance");
  use_local<tbb::ets_suspend_aware>("suspend aware");
  // Several threads at once have an element each.
  tbb::enumerable_thread_specific<int, tbb::cache_aligned_allocator<int>, tbb::ets_suspend_aware>
      of_thread;
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      of_thread.local() = 1;
      ++here;
      wait_for([&] { return here == 4; });
    });
  }
  for (std::thread& t : threads) t.join();
  say("of four threads", long(of_thread.size()));
  // A suspended task keeps its element.
  std::atomic<long> lost{0};
  tbb::enumerable_thread_specific<long, tbb::cache_aligned_allocator<long>, tbb::ets_suspend_aware>
      of_stack(0L);
  tbb::task_group group;
  for (int i = 1; i <= 20; ++i) {
    group.run([&, i] {
      long& mine = of_stack.local();
      const long before = mine;
      mine = i;
      tbb::task::suspend([](tbb::task::suspend_point point) {
        std::thread([point] { tbb::task::resume(point); }).detach();
      });
      if (&of_stack.local() != &mine || mine != i) ++lost;
      mine = before;
    });
  }
  group.wait();
  say("lost", lost);
}

void once() {
  std::atomic<long> made{0}, caught{0};
  tbb::collaborative_once_flag flag;
  for (int round = 0; round < 3; ++round) {
    tbb::parallel_for(0, 50, [&](int) {
      try {
        tbb::collaborative_call_once(flag, [&] {
          if (made++ == 0) throw std::runtime_error("the first time");
          tbb::parallel_for(0, 1000, [](int) {});
        });
      } catch (const std::runtime_error&) {
        ++caught;
      }
    });
  }
  say("made", made);
  say("caught", caught > 0);
}

}  // namespace

int main() {
  algorithms();
  bodies();
  locals();
  once();
  std::puts("end");
  return 0;
}
