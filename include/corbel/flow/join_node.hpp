// SPDX-License-Identifier: Apache-2.0
// A node that puts messages of several kinds together. C++11 and later. Follows the oneTBB
// specification 1.4, and its extension for keys of message types (TBB_PREVIEW_FLOW_GRAPH_FEATURES).
#ifndef CORBEL_FLOW_JOIN_NODE_HPP
#define CORBEL_FLOW_JOIN_NODE_HPP

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/join_cores.hpp>
#include <corbel/detail/flow/reserving_join.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/policies.hpp>
#include <corbel/tbb_hash_compare.hpp>

namespace corbel {
namespace flow {

// A policy of join nodes: a tuple is made of messages with the same key, one of each port. A port
// rejects a message whose key it has. K may be a reference; KHash meets the HashCompare
// requirements.
template <typename K, typename KHash = tbb_hash_compare<typename std::decay<K>::type>>
struct key_matching {
  using key_type = K;
  using base_key_type = typename std::decay<K>::type;
  using hash_compare_type = KHash;
};
using tag_value = std::uint64_t;
using tag_matching = key_matching<tag_value>;

// The key of a message, for nodes that are made without key functions. Messages of other types have
// a function template of this name in their own namespace, with K as its first argument.
template <typename K, typename T>
inline K key_from_message(const T& message) {
  return message.key();
}

}  // namespace flow

namespace detail {

template <typename Tuple, typename Policy>
struct join_core;
template <typename... Ts>
struct join_core<std::tuple<Ts...>, flow::queueing> {
  using type = queueing_join<std::tuple<Ts...>>;
  using ports = input_ports<type, Ts...>;
};
template <typename... Ts>
struct join_core<std::tuple<Ts...>, flow::reserving> {
  using type = reserving_join<std::tuple<Ts...>>;
  using ports = input_ports<type, Ts...>;
};
template <typename... Ts, typename K, typename KHash>
struct join_core<std::tuple<Ts...>, flow::key_matching<K, KHash>> {
  using type = keyed_join<std::tuple<Ts...>, K, KHash>;
  using ports = input_ports<type, Ts...>;
};

// What all join nodes have.
template <typename Tuple, typename Policy>
class join_base : public flow::graph_node, public flow::sender<Tuple> {
 protected:
  using core = typename join_core<Tuple, Policy>::type;

 public:
  using output_type = Tuple;
  using successor_type = typename flow::sender<Tuple>::successor_type;
  using input_ports_type = typename join_core<Tuple, Policy>::ports;

  // The ports: a tuple of receivers. See flow::input_port.
  input_ports_type& input_ports() { return ports_; }

  // Takes a tuple, by the policy; returns false if there is none, or it is being passed on. Throws
  // what the assignment throws; no message is lost then.
  bool try_get(Tuple& v) override { return core_.get(v, nullptr); }
  bool try_get(Tuple& v, flow::message_metainfo& info) override { return core_.get(v, &info); }

  bool register_successor(successor_type& to) override { return core_.add_successor(to); }
  bool remove_successor(successor_type& to) override { return core_.remove_successor(to); }
  flow::graph& graph_reference() const { return graph_node::graph_reference(); }

 protected:
  template <typename... Arguments>
  explicit join_base(flow::graph& g, const Arguments&... arguments)
      : join_base(make_index_sequence<std::tuple_size<Tuple>::value>(), g, arguments...) {}

  void reset_node(flow::reset_flags flags) override { core_.reset(ports_, flags); }

  core core_;

 private:
  input_ports_type ports_;  // after core_, before set_ports

  template <std::size_t... Is, typename... Arguments>
  join_base(index_sequence<Is...>, flow::graph& g, const Arguments&... arguments)
      : graph_node(g),
        core_(g, static_cast<flow::sender<Tuple>&>(*this), arguments...),
        ports_(core_of<Is>()...) {
    set_ports(core_, 0);
  }

  template <std::size_t>
  core& core_of() {
    return core_;
  }
  template <typename Core>
  auto set_ports(Core& c, int) -> decltype(c.set_ports(ports_)) {
    c.set_ports(ports_);
  }
  template <typename Core>
  void set_ports(Core&, long) {}
};

// Finds the key of a message by key_from_message.
template <typename K, typename T>
struct message_key {
  K operator()(const T& message) const {
    using flow::key_from_message;
    return key_from_message<K>(message);
  }
};
template <typename K, typename T>
struct message_key<K&, T> {
  const K& operator()(const T& message) const {
    using flow::key_from_message;
    return key_from_message<const K&>(message);
  }
};

}  // namespace detail

namespace flow {

// Makes tuples of the messages that it gets at its ports, and passes each to all
// successors, in a task of the graph. A tuple that no successor accepts stays, for a later push or
// pull. The policies:
//   queueing      each port has a queue; a tuple is made of the first messages of all queues
//   reserving     ports reject messages, and so pull; a tuple is made of messages that are reserved
//                 at all ports, and consumed if a successor accepts it, otherwise released
//   key_matching  see there; tag_matching is key_matching<tag_value>
// The elements of the tuple are default-constructible and copyable. Thread safety: see sender
// and receiver.
template <typename OutputTuple, typename JoinPolicy = queueing>
class join_node : public detail::join_base<OutputTuple, JoinPolicy> {
  using base = detail::join_base<OutputTuple, JoinPolicy>;

 public:
  explicit join_node(graph& g) : base(g) {}
  // A node with edges from or to the nodes of the set, in their graph. The nodes that it follows
  // are connected to its ports in their order.
  template <typename... Set>
  explicit join_node(const node_set<Set...>& nodes, JoinPolicy = JoinPolicy())
      : join_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph, without edges.
  join_node(const join_node& other) : base(other.graph_reference()) {}
};

// See above; the policy is key_matching.
template <typename... Ts, typename K, typename KHash>
class join_node<std::tuple<Ts...>, key_matching<K, KHash>>
    : public detail::join_base<std::tuple<Ts...>, key_matching<K, KHash>> {
  using base = detail::join_base<std::tuple<Ts...>, key_matching<K, KHash>>;
  using functions = typename base::core::functions;
  template <typename T>
  using function = typename base::core::template function<T>;
  template <std::size_t Count>
  using if_one_each = typename std::enable_if<Count == sizeof...(Ts)>::type;

 public:
  // A node whose messages have the keys key_from_message<K>(message).
  explicit join_node(graph& g)
      : base(g, functions(function<Ts>(detail::tag<detail::message_key<K, Ts>>(), {})...)) {}
  // A node that calls a function for each port to get the key of a message; a pointer to a member
  // of the message is one. Several threads may call the copies of the functions that the node
  // keeps. What they throw goes to the caller of try_put; the message is not accepted then.
  template <typename... Bodies, typename = if_one_each<sizeof...(Bodies)>>
  join_node(graph& g, Bodies... bodies)
      : base(g, functions(function<Ts>(detail::tag<Bodies>(), bodies)...)) {}
  // Nodes with edges from or to the nodes of the set, in their graph. The nodes that they follow
  // are connected to the ports in their order.
  template <typename... Set>
  explicit join_node(const node_set<Set...>& nodes,
                     key_matching<K, KHash> = key_matching<K, KHash>())
      : join_node(nodes.graph_reference()) {
    make_edges_in_order(nodes, *this);
  }
  template <typename... Set, typename... Bodies, typename = if_one_each<sizeof...(Bodies)>>
  join_node(const node_set<Set...>& nodes, Bodies... bodies)
      : join_node(nodes.graph_reference(), bodies...) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph, without edges, with copies of the functions that were given to
  // the constructor of `other`.
  join_node(const join_node& other) : base(other.graph_reference(), other.core_.key_functions()) {}
};

#if defined(__cpp_deduction_guides)
template <typename Policy, typename... Nodes>
join_node(const node_set<detail::following, Nodes...>&, Policy)
    -> join_node<std::tuple<typename Nodes::output_type...>, Policy>;
template <typename Policy, typename Node, typename... Nodes>
join_node(const node_set<detail::preceding, Node, Nodes...>&, Policy)
    -> join_node<typename Node::input_type, Policy>;
template <typename... Nodes>
join_node(const node_set<detail::following, Nodes...>&)
    -> join_node<std::tuple<typename Nodes::output_type...>, queueing>;
template <typename Node, typename... Nodes>
join_node(const node_set<detail::preceding, Node, Nodes...>&)
    -> join_node<typename Node::input_type, queueing>;
template <typename Body, typename... Bodies>
join_node(graph&, Body, Bodies...)
    -> join_node<std::tuple<detail::body_input<Body>, detail::body_input<Bodies>...>,
                 key_matching<detail::plain_type<typename detail::callable_types<Body>::result>>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_JOIN_NODE_HPP
