// SPDX-License-Identifier: Apache-2.0
// A priority queue of one thread: std::priority_queue.
#include <queue>
#include <utility>

#include "priority_queue.hpp"

namespace {

template <typename Item>
class Queue {
 public:
  void push(Item item) { items_.push(std::move(item)); }

  bool try_pop(Item& item) {
    if (items_.empty()) return false;
    item = items_.top();
    items_.pop();
    return true;
  }

 private:
  std::priority_queue<Item> items_;
};

}  // namespace

const bench::Kernel bench::kernel = priority_queue::description(priority_queue::measure<Queue>);
