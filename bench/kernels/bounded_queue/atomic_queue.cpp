// SPDX-License-Identifier: Apache-2.0
// A bounded queue with atomic_queue::AtomicQueue2.
#include <atomic_queue/atomic_queue.h>

#include "bounded_queue.hpp"

namespace {

class Queue {
 public:
  explicit Queue(std::size_t) {}

  void push(std::uint64_t item) {
    transfer::until([&] { return items_.try_push(item); });
  }

  std::uint64_t pop() {
    std::uint64_t item = 0;
    transfer::until([&] { return items_.try_pop(item); });
    return item;
  }

 private:
  atomic_queue::AtomicQueue2<std::uint64_t, transfer::kCapacity> items_;
};

}  // namespace

const bench::Kernel bench::kernel = bounded_queue::description(transfer::measure<Queue>);
