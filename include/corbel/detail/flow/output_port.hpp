// SPDX-License-Identifier: Apache-2.0
// The outputs of nodes that have several. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_OUTPUT_PORT_HPP
#define CORBEL_DETAIL_FLOW_OUTPUT_PORT_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <corbel/detail/flow/node_output.hpp>
#include <corbel/detail/index_sequence.hpp>

namespace corbel {
namespace flow {

// An output of a node that has several, or of an async_node. Any thread may call any member at any
// time.
template <typename T>
class multifunction_output : public detail::node_output<T> {
 public:
  using output_type = T;
  using successor_type = receiver<T>;

  explicit multifunction_output(graph_node& node) : node_(node) {}
  // For the body of one message: an output that passes `info` on with what is put to it, to the
  // successors of `real`.
  multifunction_output(multifunction_output& real, const message_metainfo& info)
      : node_(real.node_), real_(&real), info_(&info) {}
  // An output of the same node, without edges: for std::tuple.
  multifunction_output(const multifunction_output& other)
      : detail::node_output<T>(other), node_(other.node_), real_(other.real_), info_(other.info_) {}

  // Pushes the message to all successors. Returns false if there is none, or all have rejected it.
  // Throws bad_alloc and what copying the message throws.
  bool try_put(const T& message) {
    graph_task* const next = try_put_task(message);
    if (detail::is_task(next)) detail::submit(*next);
    return next != nullptr;
  }
  bool try_put(const T& message, const message_metainfo& info) {
    graph_task* const next = try_put_task(message, info);
    if (detail::is_task(next)) detail::submit(*next);
    return next != nullptr;
  }
  // As the functions of receiver.
  graph_task* try_put_task(const T& message) {
    return CORBEL_LIKELY(info_ == nullptr) ? this->put_to_all(message, message_metainfo())
                                           : real_->put_to_all(message, *info_);
  }
  graph_task* try_put_task(const T& message, const message_metainfo& info) {
    return real().put_to_all(message, info);
  }

  bool register_successor(successor_type& to) override {
    return real().detail::template node_output<T>::register_successor(to);
  }
  bool remove_successor(successor_type& to) override {
    return real().detail::template node_output<T>::remove_successor(to);
  }
  graph& graph_reference() const { return node_.graph_reference(); }

  // Removes all edges.
  void clear() { this->clear_successors(); }

 private:
  multifunction_output& real() { return real_ != nullptr ? *real_ : *this; }

  graph_node& node_;
  multifunction_output* const real_ = nullptr;  // nullptr: this one has the successors
  const message_metainfo* const info_ = nullptr;
};

}  // namespace flow

namespace detail {

template <typename Tuple>
struct output_ports_of;
template <typename... Ts>
struct output_ports_of<std::tuple<Ts...>> {
  using type = std::tuple<flow::multifunction_output<Ts>...>;
};
template <typename Tuple>
using output_ports = typename output_ports_of<Tuple>::type;

// The message types of a tuple of ports.
template <typename Ports>
struct port_types_of;
template <typename... Ts>
struct port_types_of<std::tuple<flow::multifunction_output<Ts>...>> {
  using type = std::tuple<Ts...>;
};
template <typename Ports>
using port_types = typename port_types_of<Ports>::type;

// The ports of a node whose message types are those of Tuple.
template <typename Tuple>
class port_set {
 public:
  explicit port_set(flow::graph_node& node) : port_set(node, indices()) {}
  // Ports for the body of one message; see multifunction_output.
  port_set(port_set& real, const flow::message_metainfo& info) : port_set(real, info, indices()) {}

  void clear() { clear(indices()); }

  output_ports<Tuple> tuple;

 private:
  using indices = make_index_sequence<std::tuple_size<Tuple>::value>;

  template <std::size_t... Is>
  port_set(flow::graph_node& node, index_sequence<Is...>)
      : tuple(typename std::tuple_element<Is, output_ports<Tuple>>::type(node)...) {}
  template <std::size_t... Is>
  port_set(port_set& real, const flow::message_metainfo& info, index_sequence<Is...>)
      : tuple(typename std::tuple_element<Is, output_ports<Tuple>>::type(std::get<Is>(real.tuple),
                                                                         info)...) {}
  template <std::size_t... Is>
  void clear(index_sequence<Is...>) {
    const int each[] = {0, (std::get<Is>(tuple).clear(), 0)...};
    static_cast<void>(each);
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_OUTPUT_PORT_HPP
