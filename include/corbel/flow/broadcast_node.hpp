// SPDX-License-Identifier: Apache-2.0
// A node that passes every message to all successors. C++11 and later. Follows the oneTBB
// specification 1.4.
#ifndef CORBEL_FLOW_BROADCAST_NODE_HPP
#define CORBEL_FLOW_BROADCAST_NODE_HPP

#include <corbel/detail/flow/successors.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

// Passes each message to all successors, in the thread that puts it. Accepts all messages; a
// message that a successor rejects is lost for that successor. Thread safety: see sender and
// receiver.
template <typename T>
class broadcast_node : public graph_node, public receiver<T>, public sender<T> {
 public:
  using input_type = T;
  using output_type = T;
  using predecessor_type = typename receiver<T>::predecessor_type;
  using successor_type = typename sender<T>::successor_type;

  explicit broadcast_node(graph& g) : graph_node(g) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  explicit broadcast_node(const node_set<Set...>& nodes) : broadcast_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph, without edges.
  broadcast_node(const broadcast_node& other) : broadcast_node(other.graph_reference()) {}

  graph_task* try_put_task(const T& message) override {
    return try_put_task(message, message_metainfo());
  }
  graph_task* try_put_task(const T& message, const message_metainfo& info) override {
    graph_task* const next = successors_.put_to_all(*this, message, info);
    return next != nullptr ? next : detail::successfully_enqueued();
  }
  bool register_successor(successor_type& to) override {
    return successors_.register_successor(*this, to);
  }
  bool remove_successor(successor_type& to) override {
    return successors_.remove_successor(*this, to);
  }
  graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  void reset_node(reset_flags flags) override {
    if ((flags & rf_clear_edges) != 0) successors_.clear();
  }

 private:
  detail::successor_cache<T> successors_;
};

#if defined(__cpp_deduction_guides)
template <typename Set>
broadcast_node(const Set&) -> broadcast_node<detail::set_message_t<Set>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_BROADCAST_NODE_HPP
