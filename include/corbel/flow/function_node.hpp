// SPDX-License-Identifier: Apache-2.0
// A node that calls a function for each message. C++11 and later. Follows the oneTBB
// specification 1.4.
#ifndef CORBEL_FLOW_FUNCTION_NODE_HPP
#define CORBEL_FLOW_FUNCTION_NODE_HPP

#include <cstddef>
#include <type_traits>
#include <utility>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/function_input.hpp>
#include <corbel/detail/flow/node_output.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

// Calls body(message) for each message, in tasks of the graph, and pushes what it returns to all
// successors. At most `concurrency` calls are made at a time. Policy says what happens to further
// messages (policies.hpp). Input must be default and copy constructible, Output
// copy constructible. The body is copied; the copy may have a state, which concurrent calls share.
//
// An exception of the body cancels the graph. Any thread may call any member at any time, except
// the constructors and the destructor. The node must outlive its messages and its edges.
template <typename Input, typename Output = continue_msg, typename Policy = queueing>
CORBEL_REQUIRES(
    std::is_default_constructible<Input>::value&& std::is_copy_constructible<Input>::value&&
        std::is_copy_constructible<Output>::value)
class function_node : public detail::function_input<Input>,
                      public detail::node_output<Output> {
 public:
  using input_type = Input;
  using output_type = Output;
  using predecessor_type = sender<Input>;
  using successor_type = receiver<Output>;

  // `concurrency` may be `unlimited` and `serial`. Throws bad_alloc and what copying the body
  // throws.
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const Input&>)
  function_node(graph& g, std::size_t concurrency, Body body, Policy = Policy(),
                node_priority_t priority = no_priority)
      : function_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const Input&>)
  function_node(graph& g, std::size_t concurrency, Body body, node_priority_t priority)
      : function_node(g, concurrency, priority, body_holder(detail::tag<Body>(), body)) {}

  // A node with edges from or to the nodes of the set, in their graph.
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const Input&>)
  function_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
                Policy policy = Policy(), node_priority_t priority = no_priority)
      : function_node(nodes.graph_reference(), concurrency, body, policy, priority) {
    make_edges_in_order(nodes, *this);
  }
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const Input&>)
  function_node(const node_set<Set...>& nodes, std::size_t concurrency, Body body,
                node_priority_t priority)
      : function_node(nodes, concurrency, body, Policy(), priority) {}

  // A node of the same graph with the same settings, without edges and messages. Its body is a copy
  // of the one that was given to the constructor of `other`.
  function_node(const function_node& other)
      : detail::function_input<Input>(other), detail::node_output<Output>(), body_(other.body_) {}

 protected:
  void reset_node(reset_flags flags) override {
    this->reset_input(flags);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
    if ((flags & rf_clear_edges) != 0) this->clear_successors();
  }

 private:
  friend struct detail::body_access;
  using body_holder = detail::body_holder<Output, const Input&>;

  function_node(graph& g, std::size_t concurrency, node_priority_t priority, body_holder&& body)
      : detail::function_input<Input>(g, concurrency, detail::tag<Policy>(), body->is_noexcept(),
                                      priority),
        body_(std::move(body)) {}

  graph_task* process(const Input& message, const message_metainfo& info) override {
    return this->put_to_all(body_->call(message), info);
  }

  body_holder body_;
};

#if defined(__cpp_deduction_guides)
template <typename Body>
function_node(graph&, std::size_t, Body, node_priority_t = no_priority)
    -> function_node<detail::body_input<Body>, detail::body_output<Body>>;
template <typename Body, typename Policy>
function_node(graph&, std::size_t, Body, Policy, node_priority_t = no_priority)
    -> function_node<detail::body_input<Body>, detail::body_output<Body>, Policy>;
template <typename Body, typename... Set>
function_node(const node_set<Set...>&, std::size_t, Body, node_priority_t = no_priority)
    -> function_node<detail::body_input<Body>, detail::body_output<Body>>;
template <typename Body, typename Policy, typename... Set>
function_node(const node_set<Set...>&, std::size_t, Body, Policy, node_priority_t = no_priority)
    -> function_node<detail::body_input<Body>, detail::body_output<Body>, Policy>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_FUNCTION_NODE_HPP
