// SPDX-License-Identifier: Apache-2.0
// A node that buffers messages. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_BUFFER_NODE_HPP
#define CORBEL_FLOW_BUFFER_NODE_HPP

#include <corbel/detail/flow/buffering_node.hpp>

namespace corbel {
namespace flow {

// An unbounded buffer. Accepts all messages, and gives each to one successor, in no order that
// programs may rely on. A message that no successor accepts stays, for a later push or pull. T is
// copyable. Thread safety: see sender and receiver.
template <typename T>
class buffer_node : public detail::fifo_node<T> {
  using base = detail::fifo_node<T>;

 public:
  explicit buffer_node(graph& g) : base(g) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit buffer_node(const node_set<Set...>& nodes) : buffer_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph, without edges.
  buffer_node(const buffer_node& other) : buffer_node(other.graph_reference()) {}
};

#if defined(__cpp_deduction_guides)
template <typename Set>
buffer_node(const Set&) -> buffer_node<detail::set_message_t<Set>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_BUFFER_NODE_HPP
