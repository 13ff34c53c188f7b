// SPDX-License-Identifier: Apache-2.0
// A queue with the oneTBB API.
#include <tbb/concurrent_queue.h>

#include "queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t) {}

  void push(std::uint64_t item) { items_.push(item); }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    transfer::until([&] { return items_.try_pop(item); });
    return item;
  }

 private:
  tbb::concurrent_queue<std::uint64_t> items_;
};

}  // namespace

const bench::Kernel bench::kernel = queue::description(transfer::measure<Queue>);
