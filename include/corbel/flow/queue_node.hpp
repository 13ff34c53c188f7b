// SPDX-License-Identifier: Apache-2.0
// A node that buffers messages first in, first out. C++11 and later. Follows the oneTBB
// specification 1.4.
#ifndef CORBEL_FLOW_QUEUE_NODE_HPP
#define CORBEL_FLOW_QUEUE_NODE_HPP

#include <corbel/detail/flow/buffering_node.hpp>

namespace corbel {
namespace flow {

// An unbounded queue. Accepts all messages, and gives each to one successor, in the order in which
// they came. A message that no successor accepts stays at the front, for a later push or pull. T is
// copyable. Thread safety: see sender and receiver.
template <typename T>
class queue_node : public detail::fifo_node<T> {
  using base = detail::fifo_node<T>;

 public:
  explicit queue_node(graph& g) : base(g) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit queue_node(const node_set<Set...>& nodes) : queue_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph, without edges.
  queue_node(const queue_node& other) : queue_node(other.graph_reference()) {}
};

#if defined(__cpp_deduction_guides)
template <typename Set>
queue_node(const Set&) -> queue_node<detail::set_message_t<Set>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_QUEUE_NODE_HPP
