// SPDX-License-Identifier: Apache-2.0
#include "sched/core/cancellation.hpp"

#include <corbel/detail/context_node.hpp>

namespace corbel::detail {

std::atomic<std::uint64_t> cancellations{context_node::kOneCancellation};

bool find_cancelled(context_node& node) noexcept {
  return sched::find_cancelled(node, cancellations);
}

bool cancel(context_node& node) noexcept {
  if (!sched::set_cancelled(node)) return false;
  sched::announce_cancellation<context_node>(cancellations);
  return true;
}

}  // namespace corbel::detail
