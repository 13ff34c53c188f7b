// SPDX-License-Identifier: Apache-2.0
// A queue with moodycamel::ConcurrentQueue, without tokens.
#include <concurrentqueue/concurrentqueue.h>

#include "queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t) {}

  void push(std::uint64_t item) { items_.enqueue(item); }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    transfer::until([&] { return items_.try_dequeue(item); });
    return item;
  }

 private:
  moodycamel::ConcurrentQueue<std::uint64_t> items_;
};

}  // namespace

const bench::Kernel bench::kernel = queue::description(transfer::measure<Queue>);
