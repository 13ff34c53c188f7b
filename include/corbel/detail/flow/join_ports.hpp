// SPDX-License-Identifier: Apache-2.0
// The input ports of nodes that have several. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_JOIN_PORTS_HPP
#define CORBEL_DETAIL_FLOW_JOIN_PORTS_HPP

#include <cstddef>
#include <tuple>

#include <corbel/detail/index_sequence.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

// Port number I of a node, which passes everything on to the node's core.
template <typename Core, std::size_t I, typename T>
class input_port_of : public flow::receiver<T> {
 public:
  using predecessor_type = typename flow::receiver<T>::predecessor_type;

  explicit input_port_of(Core& core) : core_(core) {}
  input_port_of(const input_port_of&) = delete;
  input_port_of& operator=(const input_port_of&) = delete;

  flow::graph_task* try_put_task(const T& message) override {
    return core_.template put<I>(message, flow::message_metainfo());
  }
  flow::graph_task* try_put_task(const T& message, const flow::message_metainfo& info) override {
    return core_.template put<I>(message, info);
  }
  bool register_predecessor(predecessor_type& from) override {
    return core_.template add_predecessor<I>(from);
  }
  bool remove_predecessor(predecessor_type& from) override {
    return core_.template remove_predecessor<I>(from);
  }
  flow::graph& graph_reference() const override { return core_.graph(); }

 private:
  Core& core_;
};

// The tuple of the ports for messages of types Ts.
template <typename Core, typename Indices, typename... Ts>
struct input_ports_of;
template <typename Core, std::size_t... Is, typename... Ts>
struct input_ports_of<Core, index_sequence<Is...>, Ts...> {
  using type = std::tuple<input_port_of<Core, Is, Ts>...>;
};
template <typename Core, typename... Ts>
using input_ports = typename input_ports_of<Core, make_index_sequence<sizeof...(Ts)>, Ts...>::type;

// The numbers from I to N - 1.
template <std::size_t I, std::size_t N>
struct each_index {
  // Returns whether f.template call<J>() is true for all of them; stops at the first that is not.
  template <typename F>
  static bool all(F& f) {
    return f.template call<I>() && each_index<I + 1, N>::all(f);
  }
};
template <std::size_t N>
struct each_index<N, N> {
  template <typename F>
  static bool all(F&) {
    return true;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_JOIN_PORTS_HPP
