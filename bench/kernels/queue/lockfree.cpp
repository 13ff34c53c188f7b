// SPDX-License-Identifier: Apache-2.0
// A queue with boost::lockfree::queue, which gets a node for every item from a free list.
#include <boost/lockfree/queue.hpp>

#include "queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t capacity) : items_(capacity) {}

  void push(std::uint64_t item) { items_.push(item); }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    transfer::until([&] { return items_.pop(item); });
    return item;
  }

 private:
  boost::lockfree::queue<std::uint64_t> items_;
};

}  // namespace

const bench::Kernel bench::kernel = queue::description(transfer::measure<Queue>);
