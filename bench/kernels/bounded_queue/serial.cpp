// SPDX-License-Identifier: Apache-2.0
// A queue of one thread: std::queue.
#include <queue>

#include "bounded_queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t) {}

  void push(std::uint64_t item) { items_.push(item); }

  std::uint64_t pop() {
    const std::uint64_t item = items_.front();
    items_.pop();
    return item;
  }

 private:
  std::queue<std::uint64_t> items_;
};

}  // namespace

const bench::Kernel bench::kernel = bounded_queue::description(transfer::measure<Queue>);
