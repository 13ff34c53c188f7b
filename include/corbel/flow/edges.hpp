// SPDX-License-Identifier: Apache-2.0
// Edges between nodes, and the ports of nodes that have several. C++11 and later. Follows the
// oneTBB specification 1.4.
#ifndef CORBEL_FLOW_EDGES_HPP
#define CORBEL_FLOW_EDGES_HPP

#include <cstddef>
#include <tuple>
#include <utility>

#include <corbel/flow/messages.hpp>

namespace corbel {
namespace flow {

// From TBB 2020.
using std::get;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

// Return the port number N, from 0, of a node with several. It can be one end of an edge.
template <std::size_t N, typename Node>
inline auto output_port(Node& node)
    -> decltype(std::get<N>(std::declval<typename Node::output_ports_type&>())) {
  return std::get<N>(node.output_ports());
}
template <std::size_t N, typename Node>
inline auto input_port(Node& node)
    -> decltype(std::get<N>(std::declval<typename Node::input_ports_type&>())) {
  return std::get<N>(node.input_ports());
}

// Make an edge: messages of `from` go to `to`. If a node has several ports, the edge begins or ends
// at port 0. The same edge may be made several times; then messages go over it several times. May
// be called while the graph runs: messages that are passed on meanwhile may miss the edge. Throw
// bad_alloc.
template <typename T>
inline void make_edge(sender<T>& from, receiver<T>& to) {
  from.register_successor(to);
}
template <typename From, typename To, typename = typename From::output_ports_type,
          typename = typename To::input_ports_type>
inline void make_edge(From& from, To& to) {
  flow::make_edge(output_port<0>(from), input_port<0>(to));
}
template <typename From, typename T, typename = typename From::output_ports_type>
inline void make_edge(From& from, receiver<T>& to) {
  flow::make_edge(output_port<0>(from), to);
}
template <typename T, typename To, typename = typename To::input_ports_type>
inline void make_edge(sender<T>& from, To& to) {
  flow::make_edge(from, input_port<0>(to));
}

// Remove an edge that make_edge has made; do nothing if there is none. May be called while the
// graph runs: a message that is passed on meanwhile may still go over the edge. So neither end may
// be destroyed before the graph is idle.
template <typename T>
inline void remove_edge(sender<T>& from, receiver<T>& to) {
  // The edge may be one that pulls.
  if (!from.remove_successor(to) && !to.is_continue_receiver()) to.remove_predecessor(from);
}
template <typename From, typename To, typename = typename From::output_ports_type,
          typename = typename To::input_ports_type>
inline void remove_edge(From& from, To& to) {
  flow::remove_edge(output_port<0>(from), input_port<0>(to));
}
template <typename From, typename T, typename = typename From::output_ports_type>
inline void remove_edge(From& from, receiver<T>& to) {
  flow::remove_edge(output_port<0>(from), to);
}
template <typename T, typename To, typename = typename To::input_ports_type>
inline void remove_edge(sender<T>& from, To& to) {
  flow::remove_edge(from, input_port<0>(to));
}

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_EDGES_HPP
