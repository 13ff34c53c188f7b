// SPDX-License-Identifier: Apache-2.0
// A node that passes on messages of several types, with the number of the port where each came.
// C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_INDEXER_NODE_HPP
#define CORBEL_FLOW_INDEXER_NODE_HPP

#include <cstddef>
#include <tuple>

#include <corbel/detail/flow/join_ports.hpp>
#include <corbel/detail/flow/node_output.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/tagged_msg.hpp>

namespace corbel {
namespace detail {

// What the ports of an indexer node call.
template <typename... Ts>
class indexer_core {
 public:
  using message = flow::tagged_msg<std::size_t, Ts...>;

  indexer_core(flow::graph& g, flow::sender<message>& output) : graph_(g), output_(output) {}

  flow::graph& graph() const { return graph_; }
  successor_cache<message>& successors() { return successors_; }

  template <std::size_t I, typename T>
  graph_task* put(const T& v, const flow::message_metainfo& info) {
    return successors_.put_to_all(output_, message(I, v), info);
  }
  template <std::size_t I, typename Sender>
  bool add_predecessor(Sender&) {
    return false;
  }
  template <std::size_t I, typename Sender>
  bool remove_predecessor(Sender&) {
    return false;
  }

 private:
  flow::graph& graph_;
  flow::sender<message>& output_;
  successor_cache<message> successors_;
};

}  // namespace detail

namespace flow {

// Passes each message that it gets at a port to all successors, in the thread that puts it,
// together with the number of the port. Keeps no messages: the put returns false if no successor
// accepts the message. The types are copyable. Thread safety: see sender and receiver.
template <typename T0, typename... TN>
class indexer_node : public graph_node, public sender<tagged_msg<std::size_t, T0, TN...>> {
  using core = detail::indexer_core<T0, TN...>;

 public:
  using output_type = tagged_msg<std::size_t, T0, TN...>;
  using successor_type = typename sender<output_type>::successor_type;
  using input_ports_type = detail::input_ports<core, T0, TN...>;

  explicit indexer_node(graph& g)
      : indexer_node(detail::make_index_sequence<1 + sizeof...(TN)>(), g) {}
  // A node with edges from or to the nodes of the set, in their graph. The nodes that it follows
  // are connected to its ports in their order.
  template <typename... Set>
  indexer_node(const node_set<Set...>& nodes) : indexer_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph, without edges.
  indexer_node(const indexer_node& other) : indexer_node(other.graph_reference()) {}

  // The ports: a tuple of receivers. See flow::input_port.
  input_ports_type& input_ports() { return ports_; }

  bool register_successor(successor_type& to) override {
    return core_.successors().register_successor(*this, to);
  }
  bool remove_successor(successor_type& to) override {
    return core_.successors().remove_successor(*this, to);
  }
  graph& graph_reference() const { return graph_node::graph_reference(); }

 protected:
  void reset_node(reset_flags flags) override {
    if ((flags & rf_clear_edges) != 0) core_.successors().clear();
  }

 private:
  template <std::size_t... Is>
  indexer_node(detail::index_sequence<Is...>, graph& g)
      : graph_node(g), core_(g, *this), ports_(core_of<Is>()...) {}
  template <std::size_t>
  core& core_of() {
    return core_;
  }

  core core_;
  input_ports_type ports_;
};

#if defined(__cpp_deduction_guides)
template <typename... Nodes>
indexer_node(const node_set<detail::following, Nodes...>&)
    -> indexer_node<typename Nodes::output_type...>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_INDEXER_NODE_HPP
