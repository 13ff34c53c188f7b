// SPDX-License-Identifier: Apache-2.0
// Sets of nodes: edges that are made together, and by constructors of nodes. C++11 and later.
// Follows the extension "Flow Graph Features" of oneTBB (TBB_PREVIEW_FLOW_GRAPH_FEATURES).
#ifndef CORBEL_FLOW_NODE_SET_HPP
#define CORBEL_FLOW_NODE_SET_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <corbel/detail/index_sequence.hpp>
#include <corbel/flow/edges.hpp>

namespace corbel {
namespace detail {

// On which side of the nodes of a set the node is that a constructor makes.
struct any_order {};
struct following {};
struct preceding {};

}  // namespace detail

namespace flow {

// References to nodes, which must outlive it.
template <typename Order, typename... Nodes>
class node_set {
 public:
  explicit node_set(Nodes&... n) : nodes(n...) {}
  // The set with another order.
  template <typename Other>
  explicit node_set(const node_set<Other, Nodes...>& other) : nodes(other.nodes) {}

  // The graph of the first node.
  graph& graph_reference() const { return std::get<0>(nodes).graph_reference(); }

  std::tuple<Nodes&...> nodes;
};

// Return a set of nodes without an order, and sets for constructors: the new node follows all nodes
// of the set, or precedes them.
template <typename Node, typename... Nodes>
inline node_set<detail::any_order, Node, Nodes...> make_node_set(Node& node, Nodes&... nodes) {
  return node_set<detail::any_order, Node, Nodes...>(node, nodes...);
}
template <typename Node, typename... Nodes>
inline node_set<detail::following, Node, Nodes...> follows(Node& node, Nodes&... nodes) {
  return node_set<detail::following, Node, Nodes...>(node, nodes...);
}
template <typename... Nodes>
inline node_set<detail::following, Nodes...> follows(
    const node_set<detail::any_order, Nodes...>& set) {
  return node_set<detail::following, Nodes...>(set);
}
template <typename Node, typename... Nodes>
inline node_set<detail::preceding, Node, Nodes...> precedes(Node& node, Nodes&... nodes) {
  return node_set<detail::preceding, Node, Nodes...>(node, nodes...);
}
template <typename... Nodes>
inline node_set<detail::preceding, Nodes...> precedes(
    const node_set<detail::any_order, Nodes...>& set) {
  return node_set<detail::preceding, Nodes...>(set);
}

}  // namespace flow

namespace detail {

template <typename T, typename = void>
struct has_input_ports : std::false_type {};
template <typename T>
struct has_input_ports<T, typename std::conditional<true, void, typename T::input_ports_type>::type>
    : std::true_type {};
template <typename T, typename = void>
struct has_output_ports : std::false_type {};
template <typename T>
struct has_output_ports<T,
                        typename std::conditional<true, void, typename T::output_ports_type>::type>
    : std::true_type {};

// The port for the i-th of several edges: a node with a single port has all of them there.
template <typename Ports, std::size_t I>
struct port_number
    : std::integral_constant<std::size_t, std::tuple_size<Ports>::value == 1 ? 0 : I> {};

// The end of an edge at the i-th of the nodes that it connects with others: the port, or the node
// itself.
template <std::size_t I, typename Node>
inline auto input_end(Node& node, std::true_type)
    -> decltype(flow::input_port<port_number<typename Node::input_ports_type, I>::value>(node)) {
  return flow::input_port<port_number<typename Node::input_ports_type, I>::value>(node);
}
template <std::size_t I, typename Node>
inline Node& input_end(Node& node, std::false_type) {
  return node;
}
template <std::size_t I, typename Node>
inline auto output_end(Node& node, std::true_type)
    -> decltype(flow::output_port<port_number<typename Node::output_ports_type, I>::value>(node)) {
  return flow::output_port<port_number<typename Node::output_ports_type, I>::value>(node);
}
template <std::size_t I, typename Node>
inline Node& output_end(Node& node, std::false_type) {
  return node;
}

template <typename Set, typename Node, std::size_t... Is>
inline void connect_set_to(const Set& set, Node& node, index_sequence<Is...>) {
  const int each[] = {
      (flow::make_edge(std::get<Is>(set.nodes), input_end<Is>(node, has_input_ports<Node>())),
       0)...};
  static_cast<void>(each);
}
template <typename Node, typename Set, std::size_t... Is>
inline void connect_to_set(Node& node, const Set& set, index_sequence<Is...>) {
  const int each[] = {
      (flow::make_edge(output_end<Is>(node, has_output_ports<Node>()), std::get<Is>(set.nodes)),
       0)...};
  static_cast<void>(each);
}

// The message type of a node that is made with a set and named without it.
template <typename Set>
struct set_message {};
template <typename Node, typename... Nodes>
struct set_message<flow::node_set<following, Node, Nodes...>> {
  using type = typename Node::output_type;
};
template <typename Node, typename... Nodes>
struct set_message<flow::node_set<preceding, Node, Nodes...>> {
  using type = typename Node::input_type;
};
template <typename Set>
using set_message_t = typename set_message<Set>::type;

}  // namespace detail

namespace flow {

// Make an edge from each node of the set to `node`, or from `node` to each node of the set. If
// `node` has several ports at that end, the i-th edge uses port i. Throw bad_alloc.
template <typename Order, typename... Nodes, typename Node>
inline void make_edges(const node_set<Order, Nodes...>& set, Node& node) {
  detail::connect_set_to(set, node, detail::make_index_sequence<sizeof...(Nodes)>());
}
template <typename Node, typename Order, typename... Nodes>
inline void make_edges(Node& node, const node_set<Order, Nodes...>& set) {
  detail::connect_to_set(node, set, detail::make_index_sequence<sizeof...(Nodes)>());
}

// For constructors: make the edges that the order of the set says.
template <typename... Nodes, typename Node>
inline void make_edges_in_order(const node_set<detail::following, Nodes...>& set, Node& node) {
  flow::make_edges(set, node);
}
template <typename... Nodes, typename Node>
inline void make_edges_in_order(const node_set<detail::preceding, Nodes...>& set, Node& node) {
  flow::make_edges(node, set);
}

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_NODE_SET_HPP
