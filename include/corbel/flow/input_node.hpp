// SPDX-License-Identifier: Apache-2.0
// Nodes that make messages. C++11 and later. Follows the oneTBB specification 1.4 (input_node), and
// TBB 2020 (source_node).
#ifndef CORBEL_FLOW_INPUT_NODE_HPP
#define CORBEL_FLOW_INPUT_NODE_HPP

#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/generator.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow_control.hpp>

namespace corbel {
namespace flow {

// Makes messages by body(control), one call at a time, and pushes them to all successors, from
// activate() on until the body calls control.stop(); a further activate() begins again. A message
// that all successors reject is kept until one accepts or pulls it; no further message is made
// meanwhile. Without successors none is made, unless try_get asks for one.
//
// An exception of the body cancels the graph. Any thread may call any member at any time, except
// the constructors and the destructor. The node must outlive its messages and its edges.
template <typename Output>
CORBEL_REQUIRES(std::is_copy_constructible<Output>::value&& std::is_copy_assignable<Output>::value)
class input_node : public detail::generator<Output> {
 public:
  using output_type = Output;
  using successor_type = receiver<Output>;
  // No node comes before it.
  using input_type = null_type;

  // Throws bad_alloc and what copying the body throws.
  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, flow_control&>)
  input_node(graph& g, Body body)
      : detail::generator<Output>(g, false), body_(detail::tag<Body>(), body) {}
  // A node with edges to the nodes of the set, in their graph.
  template <typename Body, typename... Nodes>
  CORBEL_REQUIRES(detail::gives_message<Body, Output, flow_control&>)
  input_node(const node_set<detail::preceding, Nodes...>& nodes, Body body)
      : input_node(nodes.graph_reference(), std::move(body)) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph that is not active, without edges. Its body is a copy of the one that
  // was given to the constructor of `other`.
  input_node(const input_node& other)
      : detail::generator<Output>(other.graph_reference(), false), body_(other.body_) {}

 protected:
  void reset_node(reset_flags flags) override {
    this->reset_generator(flags, false);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
  }

 private:
  friend struct detail::body_access;

  bool generate(void* place) override {
    detail::flow_control_access access;
    Output* const item = ::new (place) Output(body_->call(access.control));
    if (CORBEL_LIKELY(!access.is_stopped())) return true;
    item->~Output();
    return false;
  }

  detail::body_holder<Output, flow_control&> body_;
};

#if defined(__cpp_deduction_guides)
template <typename Body>
input_node(graph&, Body) -> input_node<detail::body_output<Body>>;
template <typename Body, typename... Set>
input_node(const node_set<Set...>&, Body) -> input_node<detail::body_output<Body>>;
#endif

// From TBB 2020: makes messages by body(message), which stores one in its argument, a default
// constructed Output, and returns true; or returns false at the end. Active from the beginning
// unless the constructor is told otherwise. Otherwise like input_node.
template <typename Output>
class source_node : public detail::generator<Output> {
 public:
  using output_type = Output;
  using successor_type = receiver<Output>;
  using input_type = null_type;

  template <typename Body>
  CORBEL_REQUIRES(detail::gives_message<Body, bool, Output&>)
  source_node(graph& g, Body body, bool is_active = true)
      : detail::generator<Output>(g, is_active),
        is_active_at_first_(is_active),
        body_(detail::tag<Body>(), body) {}
  template <typename Body, typename... Nodes>
  CORBEL_REQUIRES(detail::gives_message<Body, bool, Output&>)
  source_node(const node_set<detail::preceding, Nodes...>& nodes, Body body, bool is_active = true)
      : source_node(nodes.graph_reference(), std::move(body), is_active) {
    make_edges_in_order(nodes, *this);
  }
  source_node(const source_node& other)
      : detail::generator<Output>(other.graph_reference(), other.is_active_at_first_),
        is_active_at_first_(other.is_active_at_first_),
        body_(other.body_) {}

 protected:
  void reset_node(reset_flags flags) override {
    this->reset_generator(flags, is_active_at_first_);
    if ((flags & rf_reset_bodies) != 0) body_.reset();
  }

 private:
  friend struct detail::body_access;

  bool generate(void* place) override {
    struct keeper {
      Output* kept;
      ~keeper() {
        if (kept != nullptr) kept->~Output();
      }
    } keep{::new (place) Output()};
    if (!body_->call(*keep.kept)) return false;
    keep.kept = nullptr;
    return true;
  }

  const bool is_active_at_first_;
  detail::body_holder<bool, Output&> body_;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_INPUT_NODE_HPP
