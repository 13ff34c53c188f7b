// SPDX-License-Identifier: Apache-2.0
// Random graphs of tasks that use every part of the scheduler, run by several threads of the
// program at the same time. Every task of a graph must run exactly once; in a graph that an
// exception cancels, at most once, and the exception must reach the caller.
//
// CORBEL_STRESS_SECONDS is the duration (5), CORBEL_STRESS_SEED the first seed. The seed of a graph
// that failed is printed; given as an argument, it runs that graph repeatedly.
#include <corbel/classic/task.hpp>
#include <corbel/collaborative_call_once.hpp>
#include <corbel/detail/suspend.hpp>
#include <corbel/global_control.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/parallel_pipeline.hpp>
#include <corbel/parallel_reduce.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

enum class Kind {
  kLeaf,
  kInvoke,
  kGroup,
  kHeldBack,  // a group whose tasks are deferred and have an order
  kLoop,
  kAutoLoop,
  kAffineLoop,
  kEach,
  kSum,
  kPipeline,
  kIsolated,
  kArena,
  kEnqueued,
  kClassic,
  kSuspended,
  kOnce,
  kCount
};

struct Node {
  Kind kind = Kind::kLeaf;
  unsigned work = 0;  // iterations of an empty loop
  std::vector<unsigned> children;
  std::atomic<unsigned> runs{0};
};

// Where a task runs. Threads wait for slots only in arenas of higher levels, as with lock ranks:
// two threads that hold slots in two arenas, and wait for slots in each other's, would deadlock.
enum Level { kOutside, kNarrow, kWide, kIsolatedLevel };

struct Failure {
  unsigned node;
};

// A thread outside the library that resumes suspended tasks.
class Resumer {
 public:
  Resumer() : thread_([this] { run(); }) {}
  ~Resumer() {
    take(nullptr);
    thread_.join();
  }
  void take(corbel::detail::suspend_point point) {
    const std::lock_guard<std::mutex> guard(mutex_);
    points_.push_back(point);
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> guard(mutex_);
      changed_.wait(guard, [&] { return !points_.empty(); });
      const corbel::detail::suspend_point point = points_.front();
      points_.pop_front();
      guard.unlock();
      if (point == nullptr) return;
      corbel::detail::resume(point);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<corbel::detail::suspend_point> points_;
  std::thread thread_;
};

struct World {
  Resumer resumer;
  corbel::task_arena narrow{1};
  corbel::task_arena wide{4, 2};
};

class Graph {
 public:
  Graph(unsigned seed, World& world) : random_(seed), world_(world) {
    const unsigned size = 1 + random_() % (random_() % 8 == 0 ? 3000 : 200);
    nodes_ = std::vector<Node>(size);
    for (unsigned i = 0; i < size; ++i) {
      Node& n = nodes_[i];
      n.kind = Kind(1 + random_() % (unsigned(Kind::kCount) - 1));
      calls_once_ = calls_once_ || n.kind == Kind::kOnce;
      n.work = random_() % 16 == 0 ? random_() % 20000 : random_() % 50;
      // A parent close by makes the graph deep, one near the root makes it broad.
      if (i != 0) nodes_[random_() % 2 != 0 ? (i - 1) / 2 : random_() % i].children.push_back(i);
    }
    if (random_() % 4 == 0) failing_ = random_() % size;
  }

  // Returns what is wrong, or an empty string.
  std::string run() {
    bool failed = false;
    try {
      run(0);
    } catch (const Failure& failure) {
      failed = true;
      if (failure.node != failing_) return "an exception of another graph";
    }
    const bool should_fail = failing_ != kNone;
    if (failed != should_fail) return failed ? "an exception too many" : "an exception was lost";
    for (unsigned i = 0; i < nodes_.size(); ++i) {
      const unsigned runs = nodes_[i].runs.load(std::memory_order_relaxed);
      // A call that ends with an exception has not taken place; the next one calls again.
      if ((runs > 1 && !(failed && calls_once_)) || (runs == 0 && !failed)) {
        return "task " + std::to_string(i) + " of kind " + std::to_string(int(nodes_[i].kind)) +
               " ran " + std::to_string(runs) + " times";
      }
    }
    return {};
  }

 private:
  static constexpr unsigned kNone = ~0U;

  class ClassicChild : public corbel::task {
   public:
    ClassicChild(Graph& graph, unsigned child, Level level)
        : graph_(graph), child_(child), level_(level) {}
    corbel::task* execute() override {
      graph_.run(child_, level_);
      return nullptr;
    }

   private:
    Graph& graph_;
    const unsigned child_;
    const Level level_;
  };

  // Runs the children as classic tasks, one of them by scheduler bypass.
  class ClassicParent : public corbel::task {
   public:
    ClassicParent(Graph& graph, const Node& node, Level level)
        : graph_(graph), node_(node), level_(level) {}
    corbel::task* execute() override {
      if (node_.children.empty()) return nullptr;
      auto& join = *new (allocate_continuation()) corbel::empty_task;
      join.set_ref_count(int(node_.children.size()));
      for (std::size_t i = 1; i < node_.children.size(); ++i) {
        spawn(*new (join.allocate_child()) ClassicChild(graph_, node_.children[i], level_));
      }
      return new (join.allocate_child()) ClassicChild(graph_, node_.children[0], level_);
    }

   private:
    Graph& graph_;
    const Node& node_;
    const Level level_;
  };

  void run(unsigned index, Level level = kOutside) {
    Node& n = nodes_[index];
    n.runs.fetch_add(1, std::memory_order_relaxed);
    for (unsigned i = 0; i < n.work; ++i) asm volatile("");
    if (index == failing_) throw Failure{index};
    const std::vector<unsigned>& c = n.children;
    const std::size_t count = c.size();
    switch (n.kind) {
      case Kind::kInvoke:
        return invoke(c, 0, level);
      case Kind::kGroup:
        return group(c, level);
      case Kind::kHeldBack:
        return held_back(c, level);
      case Kind::kLoop:
        return corbel::parallel_for(
            corbel::blocked_range<std::size_t>(0, count, 1),
            [&](const corbel::blocked_range<std::size_t>& part) {
              for (std::size_t i = part.begin(); i != part.end(); ++i) run(c[i], level);
            },
            corbel::simple_partitioner());
      case Kind::kAutoLoop:
        return corbel::parallel_for(std::size_t{0}, count,
                                    [&](std::size_t i) { run(c[i], level); });
      case Kind::kAffineLoop: {
        corbel::affinity_partitioner affinity;
        return corbel::parallel_for(
            std::size_t{0}, count, [&](std::size_t i) { run(c[i], level); }, affinity);
      }
      case Kind::kEach:
        return corbel::parallel_for_each(c.begin(), c.end(), [&](unsigned i) { run(i, level); });
      case Kind::kSum:
        return sum(c, level);
      case Kind::kPipeline:
        return pipeline(c, level);
      case Kind::kIsolated:
        return corbel::this_task_arena::isolate([&] { group(c, kIsolatedLevel); });
      case Kind::kArena: {
        const Level into = n.work % 2 == 0 ? kNarrow : kWide;
        if (level >= into) return group(c, level);
        return (into == kNarrow ? world_.narrow : world_.wide).execute([&, into] {
          group(c, into);
        });
      }
      case Kind::kEnqueued:
        return enqueued(c, level);
      case Kind::kClassic:
        return corbel::task::spawn_root_and_wait(*new (corbel::task::allocate_root())
                                                     ClassicParent(*this, n, level));
      case Kind::kSuspended: {
        auto tell = [&](corbel::detail::suspend_point point) { world_.resumer.take(point); };
        corbel::detail::suspend_with(tell);
        return group(c, level);
      }
      case Kind::kOnce:
        return once(c);
      default:
        return;
    }
  }

  void invoke(const std::vector<unsigned>& c, std::size_t from, Level level) {
    switch (c.size() - from) {
      case 0:
        return;
      case 1:
        return run(c[from], level);
      case 2:
        return corbel::parallel_invoke([&] { run(c[from], level); },
                                       [&] { run(c[from + 1], level); });
      default:
        corbel::parallel_invoke([&] { run(c[from], level); }, [&] { run(c[from + 1], level); },
                                [&] { invoke(c, from + 2, level); });
    }
  }

  void group(const std::vector<unsigned>& c, Level level) {
    corbel::task_group tasks;
    for (const unsigned i : c) tasks.run([this, i, level] { run(i, level); });
    tasks.wait();
  }

  void held_back(const std::vector<unsigned>& c, Level level) {
    corbel::task_group tasks;
    std::vector<corbel::task_handle> handles;
    for (const unsigned i : c) handles.push_back(tasks.defer([this, i, level] { run(i, level); }));
    for (corbel::task_handle& h : handles) tasks.run(std::move(h));
    tasks.wait();
  }

  void sum(const std::vector<unsigned>& c, Level level) {
    const std::size_t added = corbel::parallel_reduce(
        corbel::blocked_range<std::size_t>(0, c.size(), 2), std::size_t{0},
        [&](const corbel::blocked_range<std::size_t>& part, std::size_t before) {
          for (std::size_t i = part.begin(); i != part.end(); ++i) run(c[i], level);
          return before + part.size();
        },
        [](std::size_t a, std::size_t b) { return a + b; });
    if (added != c.size() && failing_ == kNone) std::abort();
  }

  void pipeline(const std::vector<unsigned>& c, Level level) {
    std::size_t next = 0, last = 0;
    corbel::parallel_pipeline(
        3,
        corbel::make_filter<void, std::size_t>(corbel::filter_mode::serial_in_order,
                                               [&](corbel::flow_control& control) -> std::size_t {
                                                 if (next == c.size()) control.stop();
                                                 return next == c.size() ? 0 : next++;
                                               }) &
            corbel::make_filter<std::size_t, std::size_t>(corbel::filter_mode::parallel,
                                                          [&](std::size_t i) {
                                                            run(c[i], level);
                                                            return i;
                                                          }) &
            corbel::make_filter<std::size_t, void>(corbel::filter_mode::serial_in_order,
                                                   [&](std::size_t i) {
                                                     if (i != last++) std::abort();
                                                   }));
  }

  // An arena runs them while this thread does nothing but wait for them.
  void enqueued(const std::vector<unsigned>& c, Level level) {
    corbel::task_group tasks;
    if (level >= kWide) return group(c, level);
    for (const unsigned i : c) {
      world_.wide.enqueue(tasks.defer([this, i] { run(i, kWide); }));
    }
    world_.wide.execute([&] { tasks.wait(); });
  }

  void once(const std::vector<unsigned>& c) {
    corbel::collaborative_once_flag flag;
    const auto call = [&] {
      corbel::collaborative_call_once(flag, [&] { group(c, kIsolatedLevel); });
    };
    corbel::parallel_invoke(call, call, call);
  }

  std::minstd_rand random_;
  World& world_;
  std::vector<Node> nodes_;
  unsigned failing_ = kNone;
  bool calls_once_ = false;
};

double seconds_from(const char* name, double otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::atof(value) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(seconds_from("CORBEL_STRESS_SECONDS", 5));
  const bool one = argc > 1;
  const unsigned first = one ? unsigned(std::strtoul(argv[1], nullptr, 10))
                             : unsigned(seconds_from("CORBEL_STRESS_SEED", 1));
  const corbel::global_control width(corbel::global_control::max_allowed_parallelism, 4);
  World world;
  std::atomic<unsigned> next{first}, graphs{0};
  std::atomic<bool> bad{false};
  const auto run_graphs = [&] {
    while (!bad && std::chrono::steady_clock::now() < end) {
      const unsigned seed = one ? first : next++;
      const std::string wrong = Graph(seed, world).run();
      ++graphs;
      if (wrong.empty()) continue;
      bad = true;
      std::fprintf(stderr, "task_graph: FAILED: graph %u: %s\n", seed, wrong.c_str());
    }
  };
  const auto work = [&] { corbel::task_arena(4).execute(run_graphs); };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (!bad) std::printf("task_graph: %u graphs, every task ran once\n", graphs.load());
  return bad ? 1 : 0;
}
