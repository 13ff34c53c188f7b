// SPDX-License-Identifier: Apache-2.0
// A node whose function sends any number of messages to any of several outputs. C++11 and later.
// Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_MULTIFUNCTION_NODE_HPP
#define CORBEL_FLOW_MULTIFUNCTION_NODE_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/function_input.hpp>
#include <corbel/detail/flow/output_port.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

// Calls body(message, ports) for each message, in tasks of the graph, as function_node does. Output
// is the std::tuple of the message types of the outputs. The body calls
// std::get<N>(ports).try_put() as often as it likes; `ports` may be used only during the call.
// output_port<N>(node) is the beginning of an edge.
//
// Limits, policies, exceptions and thread safety: see function_node.
template <typename Input, typename Output, typename Policy = queueing>
CORBEL_REQUIRES(
    std::is_default_constructible<Input>::value&& std::is_copy_constructible<Input>::value)
class multifunction_node : public detail::function_input<Input> {
 public:
  using input_type = Input;
  using output_type = null_type;
  using output_ports_type = detail::output_ports<Output>;
  using predecessor_type = sender<Input>;

  // `concurrency` may be `unlimited` and `serial`. Throws bad_alloc and what copying the body
  // throws.
  template <typename Body>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, output_ports_type&>)
  multifunction_node(graph& g, std::size_t concurrency, Body body, Policy = Policy(),
                     node_priority_t priority = no_priority)
      : multifunction_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}
  template <typename Body>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, output_ports_type&>)
  multifunction_node(graph& g, std::size_t concurrency, Body body, node_priority_t priority)
      : multifunction_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}

  // A node with edges from or to the nodes of the set, in their graph: the i-th edge from port i.
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, output_ports_type&>)
  multifunction_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
                     Policy policy = Policy(), node_priority_t priority = no_priority)
      : multifunction_node(nodes.graph_reference(), concurrency, body, policy, priority) {
    make_edges_in_order(nodes, *this);
  }
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, output_ports_type&>)
  multifunction_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
                     node_priority_t priority)
      : multifunction_node(nodes, concurrency, body, Policy(), priority) {}

  // A node of the same graph with the same settings, without edges and messages. Its body is a copy
  // of the one that was given to the constructor of `other`.
  multifunction_node(const multifunction_node& other)
      : detail::function_input<Input>(other), ports_(*this), body_(other.body_) {}

  // The outputs; see also output_port.
  output_ports_type& output_ports() { return ports_.tuple; }

 protected:
  void reset_node(reset_flags flags) override {
    this->reset_input(flags);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
    if ((flags & rf_clear_edges) != 0) ports_.clear();
  }

 private:
  friend struct detail::body_access;
  using body_holder = detail::body_holder<void, const Input&, output_ports_type&>;

  multifunction_node(graph& g, std::size_t concurrency, node_priority_t priority,
                     body_holder&& body)
      : detail::function_input<Input>(g, concurrency, detail::tag<Policy>(), body->is_noexcept(),
                                      priority),
        ports_(*this),
        body_(std::move(body)) {}

  graph_task* process(const Input& message, const message_metainfo& info) override {
    if (CORBEL_LIKELY(info.empty())) {
      body_->call(message, ports_.tuple);
    } else {
      detail::port_set<Output> tracked(ports_, info);
      body_->call(message, tracked.tuple);
    }
    return nullptr;
  }

  detail::port_set<Output> ports_;
  body_holder body_;
};

#if defined(__cpp_deduction_guides)
template <typename Body>
multifunction_node(graph&, std::size_t, Body, node_priority_t = no_priority)
    -> multifunction_node<detail::body_input<Body>, detail::port_types<detail::body_target<Body>>>;
template <typename Body, typename Policy>
multifunction_node(graph&, std::size_t, Body, Policy, node_priority_t = no_priority)
    -> multifunction_node<detail::body_input<Body>, detail::port_types<detail::body_target<Body>>,
                          Policy>;
template <typename Body, typename... Set>
multifunction_node(const node_set<Set...>&, std::size_t, Body, node_priority_t = no_priority)
    -> multifunction_node<detail::body_input<Body>, detail::port_types<detail::body_target<Body>>>;
template <typename Body, typename Policy, typename... Set>
multifunction_node(const node_set<Set...>&, std::size_t, Body, Policy,
                   node_priority_t = no_priority)
    -> multifunction_node<detail::body_input<Body>, detail::port_types<detail::body_target<Body>>,
                          Policy>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_MULTIFUNCTION_NODE_HPP
