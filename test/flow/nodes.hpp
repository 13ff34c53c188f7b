// SPDX-License-Identifier: Apache-2.0
// Nodes and messages for the tests of nodes.
#ifndef CORBEL_TEST_FLOW_NODES_HPP
#define CORBEL_TEST_FLOW_NODES_HPP

#include <tbb/flow_graph.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace flow_test {

using namespace tbb::flow;

// Calls f(i) in `count` threads.
template <typename F>
void in_threads(int count, const F& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

// A successor outside of any node class: accepts while it is open, and remembers what it has got.
// While it is closed it rejects messages, and takes over the edges if it pulls.
template <typename T>
class gate : public receiver<T> {
 public:
  explicit gate(graph& g, bool is_open = true, bool pulls = false)
      : graph_(g), is_open_(is_open), pulls_(pulls) {}

  graph_task* try_put_task(const T& message) override {
    ++offered;
    if (!is_open_) return nullptr;
    got.push_back(message);
    return ::corbel::detail::successfully_enqueued();
  }
  graph& graph_reference() const override { return graph_; }
  bool register_predecessor(sender<T>& from) override {
    if (pulls_) predecessors.push_back(&from);
    return pulls_;
  }
  bool remove_predecessor(sender<T>& from) override {
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      if (predecessors[i] != &from) continue;
      predecessors.erase(predecessors.begin() + std::ptrdiff_t(i));
      return true;
    }
    return false;
  }

  void open() { is_open_ = true; }
  void close() { is_open_ = false; }

  // Only read while the graph is idle.
  std::vector<T> got;
  std::vector<sender<T>*> predecessors;
  std::atomic<int> offered{0};

 private:
  graph& graph_;
  std::atomic<bool> is_open_;
  const bool pulls_;
};

// A message that counts its objects, and whose copies throw when their number is up.
struct counted {
  static std::atomic<long>& alive() {
    static std::atomic<long> n{0};
    return n;
  }
  // The number of copies until one throws; negative: none does.
  static std::atomic<long>& until_throw() {
    static std::atomic<long> n{-1};
    return n;
  }

  int value;

  counted(int v = 0) : value(v) { ++alive(); }
  counted(const counted& other) : value(other.value) {
    count_copy();
    ++alive();
  }
  counted& operator=(const counted& other) {
    count_copy();
    value = other.value;
    return *this;
  }
  ~counted() { --alive(); }

  friend bool operator<(const counted& a, const counted& b) { return a.value < b.value; }

 private:
  static void count_copy() {
    if (until_throw() >= 0 && until_throw()-- == 0) throw std::runtime_error("copy");
  }
};

// Takes all messages that a sender has.
template <typename T, typename Node>
std::vector<T> take_all(Node& from) {
  std::vector<T> all;
  T v{};
  while (from.try_get(v)) all.push_back(v);
  return all;
}

// Puts equal numbers to the ports of a join node, each port from a thread of its own: pairs of
// equal numbers come out, each number once.
template <typename Node>
void expect_pairs_from_threads(graph& g, Node& node) {
  constexpr int kEach = 3000;
  std::atomic<int> calls{0}, wrong{0};
  std::vector<std::atomic<int>> seen(kEach);
  using pair = std::tuple<int, int>;
  function_node<pair> end(g, unlimited, [&](const pair& p) {
    ++calls;
    if (std::get<0>(p) != std::get<1>(p)) ++wrong;
    ++seen[std::size_t(std::get<0>(p))];
  });
  make_edge(node, end);
  in_threads(2, [&](int t) {
    for (int i = 0; i < kEach; ++i) {
      if (t == 0) {
        input_port<0>(node).try_put(i);
      } else {
        input_port<1>(node).try_put(i);
      }
    }
    g.wait_for_all();
  });
  g.wait_for_all();
  EXPECT_EQ(calls, kEach);
  EXPECT_EQ(wrong, 0);
  for (auto& s : seen) ASSERT_EQ(s, 1);
}

}  // namespace flow_test

#endif  // CORBEL_TEST_FLOW_NODES_HPP
