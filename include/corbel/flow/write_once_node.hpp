// SPDX-License-Identifier: Apache-2.0
// A node that keeps the first message. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_WRITE_ONCE_NODE_HPP
#define CORBEL_FLOW_WRITE_ONCE_NODE_HPP

#include <corbel/detail/flow/single_value.hpp>

namespace corbel {
namespace flow {

// Keeps the first message that it has got since its construction or the last clear(), and rejects
// further ones. Passes the message to all successors, in the thread that puts it; a successor that
// is added later gets it then; one that is added while the message is put may get it twice. Gets do
// not remove it. T is copyable. Thread safety: see sender and receiver.
template <typename T>
class write_once_node : public detail::single_value_node<T, false> {
  using base = detail::single_value_node<T, false>;

 public:
  explicit write_once_node(graph& g) : base(g) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit write_once_node(const node_set<Set...>& nodes)
      : write_once_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph without a message or edges.
  write_once_node(const write_once_node& other) : write_once_node(other.graph_reference()) {}
};

#if defined(__cpp_deduction_guides)
template <typename Set>
write_once_node(const Set&) -> write_once_node<detail::set_message_t<Set>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_WRITE_ONCE_NODE_HPP
