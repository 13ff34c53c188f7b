// SPDX-License-Identifier: Apache-2.0
// A node that keeps the last message. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_OVERWRITE_NODE_HPP
#define CORBEL_FLOW_OVERWRITE_NODE_HPP

#include <corbel/detail/flow/single_value.hpp>

namespace corbel {
namespace flow {

// Keeps the last message that it has got. Accepts all messages, and passes each to all successors,
// in the thread that puts it; a successor that is added later gets the message that the node has
// then. Gets do not remove it. If two threads put messages at the same time, successors may get
// them in another order than the one in which they were stored; one that is added while a message
// is put may get that message twice. T is copyable. Thread safety: see sender and receiver.
template <typename T>
class overwrite_node : public detail::single_value_node<T, true> {
  using base = detail::single_value_node<T, true>;

 public:
  explicit overwrite_node(graph& g) : base(g) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit overwrite_node(const node_set<Set...>& nodes) : overwrite_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph without a message or edges.
  overwrite_node(const overwrite_node& other) : overwrite_node(other.graph_reference()) {}
};

#if defined(__cpp_deduction_guides)
template <typename Set>
overwrite_node(const Set&) -> overwrite_node<detail::set_message_t<Set>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_OVERWRITE_NODE_HPP
