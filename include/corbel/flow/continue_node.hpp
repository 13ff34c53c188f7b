// SPDX-License-Identifier: Apache-2.0
// A node that calls a function once all its predecessors have sent a message. C++11 and later.
// Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_CONTINUE_NODE_HPP
#define CORBEL_FLOW_CONTINUE_NODE_HPP

#include <type_traits>
#include <utility>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/continue_task.hpp>
#include <corbel/detail/flow/node_output.hpp>
#include <corbel/flow/continue_receiver.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/policies.hpp>

namespace corbel {
namespace flow {

// Each time it has got as many messages as it has predecessors, starts a task that calls
// body(continue_msg()) and pushes what it returns to all successors. Predecessors are the edges
// from nodes whose messages are continue_msg, and those that the constructor is told of. Several
// calls of the body may be made at a time. Policy may be `lightweight` (policies.hpp).
//
// An exception of the body cancels the graph. Any thread may call any member at any time, except
// the constructors and the destructor. The node must outlive its messages and its edges.
template <typename Output, typename Policy = detail::no_policy>
CORBEL_REQUIRES(std::is_copy_constructible<Output>::value)
class continue_node : public graph_node,
                      public continue_receiver,
                      public detail::node_output<Output> {
 public:
  using input_type = continue_msg;
  using output_type = Output;
  using predecessor_type = sender<continue_msg>;
  using successor_type = receiver<Output>;

  // Throw bad_alloc and what copying the body throws.
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(graph& g, Body body, Policy = Policy(), node_priority_t priority = no_priority)
      : continue_node(g, 0, priority, body_holder(detail::tag<Body>(), body)) {}
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(graph& g, Body body, node_priority_t priority)
      : continue_node(g, 0, priority, body_holder(detail::tag<Body>(), body)) {}
  // `number_of_predecessors` are counted in addition to the edges.
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(graph& g, int number_of_predecessors, Body body, Policy = Policy(),
                node_priority_t priority = no_priority)
      : continue_node(g, number_of_predecessors, priority, body_holder(detail::tag<Body>(), body)) {
  }
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(graph& g, int number_of_predecessors, Body body, node_priority_t priority)
      : continue_node(g, number_of_predecessors, priority, body_holder(detail::tag<Body>(), body)) {
  }

  // Nodes with edges from or to the nodes of the set, in their graph.
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(const node_set<Set...>& nodes, Body body, Policy policy = Policy(),
                node_priority_t priority = no_priority)
      : continue_node(nodes, 0, body, policy, priority) {}
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(const node_set<Set...>& nodes, Body body, node_priority_t priority)
      : continue_node(nodes, 0, body, Policy(), priority) {}
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(const node_set<Set...>& nodes, int number_of_predecessors, Body body,
                Policy policy = Policy(), node_priority_t priority = no_priority)
      : continue_node(nodes.graph_reference(), number_of_predecessors, body, policy, priority) {
    make_edges_in_order(nodes, *this);
  }
  template <typename Body, typename... Set>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, const continue_msg&>)
  continue_node(const node_set<Set...>& nodes, int number_of_predecessors, Body body,
                node_priority_t priority)
      : continue_node(nodes, number_of_predecessors, body, Policy(), priority) {}

  // A node of the same graph with the same settings, without edges and messages. Its body is a copy
  // of the one that was given to the constructor of `other`.
  continue_node(const continue_node& other)
      : graph_node(other.graph_reference()),
        continue_receiver(other),
        detail::node_output<Output>(),
        is_lightweight_(other.is_lightweight_),
        body_(other.body_) {}

  graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  void reset_node(reset_flags flags) override {
    reset_receiver(flags);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
    if ((flags & rf_clear_edges) != 0) this->clear_successors();
  }

 private:
  friend struct detail::body_access;
  friend class detail::continue_task<continue_node>;
  using body_holder = detail::body_holder<Output, const continue_msg&>;

  continue_node(graph& g, int number_of_predecessors, node_priority_t priority, body_holder&& body)
      : graph_node(g),
        continue_receiver(number_of_predecessors, priority),
        is_lightweight_(std::is_base_of<lightweight, Policy>::value && body->is_noexcept()),
        body_(std::move(body)) {}

  graph_task* execute() override { return execute(message_metainfo()); }
  graph_task* execute(const message_metainfo& info) override {
    graph& g = graph_node::graph_reference();
    if (CORBEL_UNLIKELY(is_lightweight_)) {
      return detail::is_graph_cancelled(g) ? nullptr : process(info);
    }
    return detail::make_graph_task<detail::continue_task<continue_node>>(*this, g, priority(),
                                                                         info);
  }

  graph_task* process(const message_metainfo& info) {
    return this->put_to_all(body_->call(continue_msg()), info);
  }

  const bool is_lightweight_;
  body_holder body_;
};

#if defined(__cpp_deduction_guides)
template <typename Body>
continue_node(graph&, Body, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>>;
template <typename Body, typename Policy>
continue_node(graph&, Body, Policy, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>, Policy>;
template <typename Body>
continue_node(graph&, int, Body, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>>;
template <typename Body, typename Policy>
continue_node(graph&, int, Body, Policy, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>, Policy>;
template <typename Body, typename... Set>
continue_node(const node_set<Set...>&, Body, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>>;
template <typename Body, typename Policy, typename... Set>
continue_node(const node_set<Set...>&, Body, Policy, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>, Policy>;
template <typename Body, typename... Set>
continue_node(const node_set<Set...>&, int, Body, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>>;
template <typename Body, typename Policy, typename... Set>
continue_node(const node_set<Set...>&, int, Body, Policy, node_priority_t = no_priority)
    -> continue_node<detail::body_output<Body>, Policy>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_CONTINUE_NODE_HPP
