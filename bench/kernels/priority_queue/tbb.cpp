// SPDX-License-Identifier: Apache-2.0
// A priority queue with the oneTBB API.
#include <tbb/concurrent_priority_queue.h>

#include "priority_queue.hpp"

namespace {

template <typename Item>
using Queue = tbb::concurrent_priority_queue<Item>;

}  // namespace

const bench::Kernel bench::kernel = priority_queue::description(priority_queue::measure<Queue>);
