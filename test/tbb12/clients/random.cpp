// SPDX-License-Identifier: Apache-2.0
// Random programs: trees of tasks and calls, graphs and pipelines, whose results are determined by
// the seed. Arguments: the first seed, the number of seeds, the number of threads.
#include "client.hpp"

#include <cstdlib>
#include <memory>
#include <random>

namespace {

using Random = std::mt19937;

int below(Random& random, int n) { return int(random() % unsigned(n)); }

tbb::task_arena& some_arena(Random& random) {
  static tbb::task_arena arenas[3] = {tbb::task_arena(1), tbb::task_arena(2),
                                      tbb::task_arena(3, 1, tbb::task_arena::priority::high)};
  return arenas[below(random, 3)];
}

void pause() {
  tbb::task::suspend([](tbb::task::suspend_point point) {
    std::thread([point] { tbb::task::resume(point); }).detach();
  });
}

// Counts the calls in a tree of nested parallel constructs, which `seed` determines.
long tree(unsigned seed, int depth, bool may_change_arena = true) {
  Random random(seed);
  if (depth == 0) return 1;
  const int kind = below(random, 10);
  const int width = 1 + below(random, 6);
  std::atomic<long> sum{1};
  const auto child = [&](int i) {
    sum += tree(seed * 31u + unsigned(i) + 1u, depth - 1, may_change_arena);
  };
  switch (kind) {
    case 0:
      tbb::parallel_for(0, width, child);
      break;
    case 1:
      tbb::parallel_for(0, width, child, tbb::simple_partitioner());
      break;
    case 2: {
      tbb::task_group group;
      for (int i = 0; i < width; ++i) group.run([&, i] { child(i); });
      group.wait();
      break;
    }
    case 3: {
      tbb::task_group group;
      group.run([&] { child(0); });
      group.run_and_wait([&] { child(1); });
      break;
    }
    case 4:
      tbb::parallel_invoke([&] { child(0); }, [&] { child(1); }, [&] { child(2); });
      break;
    case 5:
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, width, child); });
      break;
    case 6:
      // Threads that wait for each other's arenas would not end on the original.
      if (!may_change_arena) return 1;
      some_arena(random).execute([&] {
        tbb::parallel_for(
            0, width, [&](int i) { sum += tree(seed * 31u + unsigned(i) + 1u, depth - 1, false); });
      });
      break;
    case 7:
      pause();
      child(0);
      break;
    case 8: {
      std::vector<int> items(std::size_t(width), 0);
      tbb::parallel_for_each(items.begin(), items.end(), [&](int x, tbb::feeder<int>& feeder) {
        if (x < 2) feeder.add(x + 1);
        child(x);
      });
      break;
    }
    default: {
      // An exception ends a group; how much of it has run is not determined.
      long thrown = 0;
      try {
        tbb::parallel_for(0, width, [&](int i) {
          tree(seed * 31u + unsigned(i) + 1u, depth - 1, may_change_arena);
          if (i == width - 1) throw long(width);
        });
      } catch (long t) {
        thrown = t;
      }
      sum += thrown;
    }
  }
  return sum;
}

// Sums what reaches the ends of a random graph without loops.
long network(unsigned seed) {
  using namespace tbb::flow;
  using Node = function_node<long, long>;
  Random random(seed);
  graph g;
  std::atomic<long> sum{0};
  std::vector<std::unique_ptr<Node>> nodes;
  const int count = 2 + below(random, 12);
  for (int i = 0; i < count; ++i) {
    const std::size_t concurrency = below(random, 3) == 0 ? unlimited : 1 + below(random, 3);
    const auto body = [&sum, i, nested = below(random, 4) == 0](long x) {
      if (nested) tbb::parallel_for(0, 3, [&](int j) { sum += j; });
      sum += x * (i + 1);
      return x + i;
    };
    const int priority = below(random, 4);
    if (priority == 0) {
      nodes.emplace_back(new Node(g, concurrency, body));
    } else {
      nodes.emplace_back(new Node(g, concurrency, body, node_priority_t(priority)));
    }
    for (int j = 0; j < i; ++j) {
      if (below(random, i) < 2) make_edge(*nodes[std::size_t(j)], *nodes.back());
    }
  }
  for (int i = 0; i < 10; ++i) nodes[0]->try_put(i);
  g.wait_for_all();
  for (int i = 0; i < 5; ++i) nodes[std::size_t(below(random, count))]->try_put(1);
  g.wait_for_all();
  return sum;
}

long line(unsigned seed) {
  using Mode = tbb::filter_mode;
  Random random(seed);
  const auto mode = [&] {
    const Mode modes[] = {Mode::parallel, Mode::serial_in_order, Mode::serial_out_of_order};
    return modes[below(random, 3)];
  };
  const int items = below(random, 300);
  std::atomic<int> made{0};
  std::atomic<long> sum{0};
  tbb::filter<void, long> chain =
      tbb::make_filter<void, long>(mode(), [&](tbb::flow_control& control) -> long {
        const int i = made++;
        if (i >= items) control.stop();
        return i;
      });
  for (int stages = below(random, 4); stages > 0; --stages) {
    const bool nested = below(random, 3) == 0;
    chain = chain & tbb::make_filter<long, long>(mode(), [nested, stages](long x) {
              return nested ? tbb::parallel_reduce(
                                  tbb::blocked_range<long>(0, 20), x,
                                  [](const tbb::blocked_range<long>& r, long s) {
                                    return s + long(r.size());
                                  },
                                  [x](long a, long b) { return a + b - x; })
                            : x * (stages + 1) % 1009;
            });
  }
  tbb::parallel_pipeline(std::size_t(1 + below(random, 8)),
                         chain & tbb::make_filter<long, void>(mode(), [&](long x) { sum += x; }));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned first = argc > 1 ? unsigned(std::atoi(argv[1])) : 1;
  const unsigned seeds = argc > 2 ? unsigned(std::atoi(argv[2])) : 20;
  const std::size_t threads = argc > 3 ? std::size_t(std::atoi(argv[3])) : 4;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena{int(threads)};
  for (unsigned seed = first; seed != first + seeds; ++seed) {
    arena.execute([&] {
      say("tree", tree(seed, 6));
      say("network", network(seed));
      say("line", line(seed));
    });
  }
  std::puts("end");
  return 0;
}
