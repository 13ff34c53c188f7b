// SPDX-License-Identifier: Apache-2.0
// A bounded queue with the oneTBB API.
#include <tbb/concurrent_queue.h>

#include "bounded_queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t capacity) {
    items_.set_capacity(static_cast<std::ptrdiff_t>(capacity));
  }

  void push(std::uint64_t item) { items_.push(item); }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    items_.pop(item);
    return item;
  }

 private:
  tbb::concurrent_bounded_queue<std::uint64_t> items_;
};

}  // namespace

const bench::Kernel bench::kernel = bounded_queue::description(transfer::measure<Queue>);
