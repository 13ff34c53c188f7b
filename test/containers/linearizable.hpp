// SPDX-License-Identifier: Apache-2.0
// A checker of linearizability (M. Herlihy and J. Wing, "Linearizability: A Correctness Condition
// for Concurrent Objects", 1990): whether the results of concurrent operations are those of some
// order, one operation after the other, in which each takes its place between its call and its
// return. The search is that of J. Wing and C. Gong, "Testing and Verifying Concurrent Objects"
// (1993), with a memory of the states that led nowhere. For short histories: up to a dozen
// operations of a few threads, again and again.
//
//   struct operation {...};  // what was called, with its arguments and its result; printable by <<
//   struct model {           // the sequential object; copyable, compared by ==
//     bool apply(const operation&);  // performs it; returns whether it would give that result
//   };
//   history<operation> happened(3);
//   run_rounds(3, rounds,
//       [&] { happened.clear(); ...a new object... },
//       [&](int thread) { happened.record(thread, operation{...}, [&](operation& o) {...}); },
//       [&] { EXPECT_TRUE(is_linearizable(model(), happened)) << happened; });
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

namespace corbel::test {

// The operations of one run, each with its place in the order of all calls and returns.
template <typename Operation>
class history {
 public:
  struct entry {
    Operation operation;
    std::uint64_t called;
    std::uint64_t returned;
  };

  explicit history(int threads) : threads_(std::size_t(threads)) {}

  // Forgets all entries. No thread may record meanwhile.
  void clear() {
    for (log& of : threads_) of.entries.clear();
    next_.store(0, std::memory_order_relaxed);  // relaxed: the threads start after it
  }

  // Calls run(operation), which performs the operation and stores its result in it. `thread` is the
  // number of the calling thread: no other thread may use it at the same time.
  template <typename Run>
  void record(int thread, Operation operation, Run run) {
    std::vector<entry>& entries = threads_[std::size_t(thread)].entries;
    // (1) seq_cst: one order of all calls and returns. If an operation returns before another is
    // called, its ticket is smaller.
    const std::uint64_t called = next_.fetch_add(1, std::memory_order_seq_cst);
    run(operation);
    const std::uint64_t returned = next_.fetch_add(1, std::memory_order_seq_cst);  // (1)
    entries.push_back({std::move(operation), called, returned});
  }

  // Adds an entry with given places in the order.
  void add(int thread, Operation operation, std::uint64_t called, std::uint64_t returned) {
    threads_[std::size_t(thread)].entries.push_back({std::move(operation), called, returned});
  }

  // All entries. No thread may record meanwhile.
  std::vector<entry> entries() const {
    std::vector<entry> all;
    for (const log& of : threads_) all.insert(all.end(), of.entries.begin(), of.entries.end());
    return all;
  }

  friend std::ostream& operator<<(std::ostream& out, const history& shown) {
    for (std::size_t t = 0; t < shown.threads_.size(); ++t) {
      for (const entry& e : shown.threads_[t].entries) {
        out << "  thread " << t << ": " << e.operation << "  [" << e.called << ", " << e.returned
            << "]\n";
      }
    }
    return out;
  }

 private:
  struct alignas(64) log {
    std::vector<entry> entries;
  };

  std::vector<log> threads_;
  std::atomic<std::uint64_t> next_{0};
};

namespace detail {

template <typename Model, typename Operation>
class search {
 public:
  using entry = typename history<Operation>::entry;

  explicit search(std::vector<entry> entries) : entries_(std::move(entries)) {}

  // Whether the entries that are not in `done` have an order that begins in state `now`.
  bool finds_order(const Model& now, std::uint64_t done = 0) {
    if (done == (std::uint64_t{1} << entries_.size()) - 1) return true;
    for (const Model& tried : dead_ends_[done]) {
      if (tried == now) return false;
    }
    // The next operation is one that was called before any of the others returned.
    std::uint64_t first_return = UINT64_MAX;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if ((done >> i & 1) == 0 && entries_[i].returned < first_return) {
        first_return = entries_[i].returned;
      }
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if ((done >> i & 1) != 0 || entries_[i].called > first_return) continue;
      Model next = now;
      if (next.apply(entries_[i].operation) && finds_order(next, done | std::uint64_t{1} << i)) {
        return true;
      }
    }
    dead_ends_[done].push_back(now);
    return false;
  }

 private:
  std::vector<entry> entries_;
  std::map<std::uint64_t, std::vector<Model>> dead_ends_;
};

}  // namespace detail

// Whether the history, of at most 63 operations, is one of the sequential object `initial`.
template <typename Model, typename Operation>
bool is_linearizable(const Model& initial, const history<Operation>& happened) {
  return detail::search<Model, Operation>(happened.entries()).finds_order(initial);
}

// Where the threads of run_rounds meet: they spin, so that they leave together.
class meeting {
 public:
  explicit meeting(int threads) : threads_(threads) {}

  // Returns when all threads have called it.
  void wait() {
    const int round = round_.load(std::memory_order_relaxed);  // relaxed: changes after this thread
    // (2) acq_rel: the last thread sees what the others did before, and passes it on by (3)
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);        // relaxed: published by (3)
      round_.store(round + 1, std::memory_order_release);  // (3) release: to (4)
      return;
    }
    // (4) acquire: with (3)
    for (int looks = 0; round_.load(std::memory_order_acquire) == round; ++looks) {
      if (looks > 100) std::this_thread::yield();
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

// In each round, calls before() in one thread, then body(thread) in `threads` threads at the same
// time, then after() in one thread.
template <typename Before, typename Body, typename After>
void run_rounds(int threads, int rounds, Before before, Body body, After after) {
  meeting start(threads);
  meeting end(threads);
  const auto work = [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      if (thread == 0) before();
      start.wait();
      body(thread);
      end.wait();
      if (thread == 0) after();
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
}

}  // namespace corbel::test
