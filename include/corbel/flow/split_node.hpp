// SPDX-License-Identifier: Apache-2.0
// A node that takes tuples apart. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_SPLIT_NODE_HPP
#define CORBEL_FLOW_SPLIT_NODE_HPP

#include <cstddef>
#include <tuple>

#include <corbel/detail/flow/join_ports.hpp>
#include <corbel/detail/flow/output_port.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

template <typename TupleType>
class split_node;

// Passes each element of a tuple to all successors of its port, in the thread that puts the tuple.
// Accepts all tuples; an element that no successor accepts is lost. The elements are copyable.
// Thread safety: see sender and receiver.
template <typename... Ts>
class split_node<std::tuple<Ts...>> : public graph_node, public receiver<std::tuple<Ts...>> {
 public:
  using input_type = std::tuple<Ts...>;
  using predecessor_type = typename receiver<input_type>::predecessor_type;
  using output_ports_type = detail::output_ports<input_type>;

  explicit split_node(graph& g) : graph_node(g), ports_(*this) {}
  // A node with edges from or to the nodes of the set, in their graph. The nodes that it precedes
  // are connected to its ports in their order.
  template <typename... Set>
  explicit split_node(const node_set<Set...>& nodes) : split_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph, without edges.
  split_node(const split_node& other) : split_node(other.graph_reference()) {}

  // The ports: a tuple of senders. See flow::output_port.
  output_ports_type& output_ports() { return ports_.tuple; }

  graph_task* try_put_task(const input_type& message) override {
    return try_put_task(message, message_metainfo());
  }
  graph_task* try_put_task(const input_type& message, const message_metainfo& info) override {
    putter puts{*this, message, info};
    detail::each_index<0, sizeof...(Ts)>::all(puts);
    graph_task* const next = puts.result.take();
    return next != nullptr ? next : detail::successfully_enqueued();
  }
  graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  void reset_node(reset_flags flags) override {
    if ((flags & rf_clear_edges) != 0) ports_.clear();
  }

 private:
  struct putter {
    split_node& node;
    const input_type& message;
    const message_metainfo& info;
    detail::next_task result;

    putter(split_node& n, const input_type& m, const message_metainfo& i)
        : node(n), message(m), info(i) {}
    template <std::size_t I>
    bool call() {
      result.add(std::get<I>(node.ports_.tuple).try_put_task(std::get<I>(message), info));
      return true;
    }
  };

  detail::port_set<input_type> ports_;
};

#if defined(__cpp_deduction_guides)
template <typename Node, typename... Nodes>
split_node(const node_set<detail::following, Node, Nodes...>&)
    -> split_node<typename Node::output_type>;
template <typename... Nodes>
split_node(const node_set<detail::preceding, Nodes...>&)
    -> split_node<std::tuple<typename Nodes::input_type...>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_SPLIT_NODE_HPP
