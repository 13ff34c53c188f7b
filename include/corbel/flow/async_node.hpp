// SPDX-License-Identifier: Apache-2.0
// A node whose messages are worked on outside of the graph. C++11 and later. Follows the oneTBB
// specification 1.4.
#ifndef CORBEL_FLOW_ASYNC_NODE_HPP
#define CORBEL_FLOW_ASYNC_NODE_HPP

#include <cstddef>
#include <tuple>
#include <utility>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/function_input.hpp>
#include <corbel/detail/flow/output_port.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/gateway.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

// Calls body(message, gateway) for each message, in tasks of the graph, as function_node does. The
// body hands the work over to other threads. They use the gateway: its reserve_wait keeps the graph
// from being idle until its release_wait, and its try_put pushes a result to all successors of the
// node. The edges begin at the node, or at its only output_port.
//
// Limits, policies, exceptions and thread safety: see function_node. The node must outlive all
// calls of its gateway. try_put_and_wait of a message waits for the body, not for what the other
// threads do: nothing says which of their results follows from which message.
template <typename Input, typename Output, typename Policy = queueing_lightweight>
CORBEL_REQUIRES(
    std::is_default_constructible<Input>::value&& std::is_copy_constructible<Input>::value)
class async_node : public detail::function_input<Input>,
                   public sender<Output> {
 public:
  using input_type = Input;
  using output_type = Output;
  using predecessor_type = sender<Input>;
  using successor_type = receiver<Output>;
  using gateway_type = receiver_gateway<Output>;
  using output_ports_type = detail::output_ports<std::tuple<Output>>;

  // `concurrency` may be `unlimited` and `serial`. Throws bad_alloc and what copying the body
  // throws.
  template <typename Body>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, gateway_type&>)
  async_node(graph& g, std::size_t concurrency, Body body, Policy = Policy(),
             node_priority_t priority = no_priority)
      : async_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}
  template <typename Body>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, gateway_type&>)
  async_node(graph& g, std::size_t concurrency, Body body, node_priority_t priority)
      : async_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}

  // A node with edges from or to the nodes of the set, in their graph.
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, gateway_type&>)
  async_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
             Policy policy = Policy(), node_priority_t priority = no_priority)
      : async_node(nodes.graph_reference(), concurrency, body, policy, priority) {
    make_edges_in_order(nodes, *this);
  }
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::takes_message<Body, const Input&, gateway_type&>)
  async_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
             node_priority_t priority)
      : async_node(nodes, concurrency, body, Policy(), priority) {}

  // A node of the same graph with the same settings, without edges and messages. Its body is a copy
  // of the one that was given to the constructor of `other`.
  async_node(const async_node& other)
      : detail::function_input<Input>(other),
        sender<Output>(),
        ports_(*this),
        gateway_(*this),
        body_(other.body_) {}

  // The gateway that the body gets.
  gateway_type& gateway() { return gateway_; }
  output_ports_type& output_ports() { return ports_.tuple; }

  bool register_successor(successor_type& to) override { return port().register_successor(to); }
  bool remove_successor(successor_type& to) override { return port().remove_successor(to); }

 protected:
  void reset_node(reset_flags flags) override {
    this->reset_input(flags);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
    if ((flags & rf_clear_edges) != 0) ports_.clear();
  }

 private:
  friend struct detail::body_access;
  using body_holder = detail::body_holder<void, const Input&, gateway_type&>;

  class gateway_of final : public gateway_type {
   public:
    explicit gateway_of(async_node& node) : node_(node) {}
    void reserve_wait() override { node_.graph_reference().reserve_wait(); }
    void release_wait() override { node_.graph_reference().release_wait(); }
    bool try_put(const Output& result) override { return node_.port().try_put(result); }

   private:
    async_node& node_;
  };

  async_node(graph& g, std::size_t concurrency, node_priority_t priority, body_holder&& body)
      : detail::function_input<Input>(g, concurrency, detail::tag<Policy>(), body->is_noexcept(),
                                      priority),
        ports_(*this),
        gateway_(*this),
        body_(std::move(body)) {}

  multifunction_output<Output>& port() { return std::get<0>(ports_.tuple); }

  graph_task* process(const Input& message, const message_metainfo&) override {
    body_->call(message, gateway_);
    return nullptr;
  }

  detail::port_set<std::tuple<Output>> ports_;
  gateway_of gateway_;
  body_holder body_;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_ASYNC_NODE_HPP
