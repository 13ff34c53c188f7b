// SPDX-License-Identifier: Apache-2.0
// A node that buffers messages by priority. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_PRIORITY_QUEUE_NODE_HPP
#define CORBEL_FLOW_PRIORITY_QUEUE_NODE_HPP

#include <cstddef>
#include <functional>

#include <corbel/detail/flow/buffering_node.hpp>

namespace corbel {
namespace flow {

// An unbounded buffer. Accepts all messages, and gives each to one successor, the greatest of those
// that it has first. A message that no successor accepts stays. T is copyable. If the comparison
// throws, no message is lost. Thread safety: see sender and receiver.
template <typename T, typename Compare = std::less<T>>
class priority_queue_node
    : public detail::simple_buffering_node<T, detail::priority_order<T, Compare>> {
  using base = detail::simple_buffering_node<T, detail::priority_order<T, Compare>>;

 public:
  using size_type = std::size_t;

  explicit priority_queue_node(graph& g, const Compare& compare = Compare())
      : base(g, compare), compare_(compare) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit priority_queue_node(const node_set<Set...>& nodes, const Compare& compare = Compare())
      : priority_queue_node(nodes.graph_reference(), compare) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph with the same comparison, without edges.
  priority_queue_node(const priority_queue_node& other)
      : priority_queue_node(other.graph_reference(), other.compare_) {}

 private:
  const Compare compare_;
};

#if defined(__cpp_deduction_guides)
template <typename Set, typename Compare>
priority_queue_node(const Set&, const Compare&)
    -> priority_queue_node<detail::set_message_t<Set>, Compare>;
template <typename Set>
priority_queue_node(const Set&)
    -> priority_queue_node<detail::set_message_t<Set>, std::less<detail::set_message_t<Set>>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_PRIORITY_QUEUE_NODE_HPP
