// SPDX-License-Identifier: Apache-2.0
// A bounded queue with boost::lockfree::queue.
#include <boost/lockfree/queue.hpp>

#include "bounded_queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t) {}

  void push(std::uint64_t item) {
    transfer::until([&] { return items_.push(item); });
  }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    transfer::until([&] { return items_.pop(item); });
    return item;
  }

 private:
  boost::lockfree::queue<std::uint64_t, boost::lockfree::capacity<transfer::kCapacity>> items_;
};

}  // namespace

const bench::Kernel bench::kernel = bounded_queue::description(transfer::measure<Queue>);
