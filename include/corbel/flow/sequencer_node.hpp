// SPDX-License-Identifier: Apache-2.0
// A node that puts messages into their sequence. C++11 and later. Follows the oneTBB specification
// 1.4.
#ifndef CORBEL_FLOW_SEQUENCER_NODE_HPP
#define CORBEL_FLOW_SEQUENCER_NODE_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/flow/body_types.hpp>
#include <corbel/detail/flow/buffering_node.hpp>

namespace corbel {
namespace flow {

// An unbounded buffer that passes messages on by their sequence numbers, which begin at 0 and have
// no gaps: a message waits for all that come before it. Gives each to one successor; a message that
// no successor accepts stays. Rejects a message whose number there has been. T is copyable. Needs
// memory for the numbers between the next message and the last one that has come. Thread safety:
// see sender and receiver.
template <typename T>
class sequencer_node : public detail::buffering_node<T, detail::sequence_order<T>> {
  using base = detail::buffering_node<T, detail::sequence_order<T>>;

 public:
  // A node whose messages have the numbers sequencer(message), or those that a pointer to a member
  // of T gives. Several threads may call the copy of `sequencer` that the node keeps. What it
  // throws goes to the caller of try_put; the message is not accepted then.
  template <typename Sequencer>
  sequencer_node(graph& g, const Sequencer& sequencer)
      : base(g), number_(detail::tag<typename std::decay<Sequencer>::type>(), sequencer) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set, typename Sequencer>
  sequencer_node(const node_set<Set...>& nodes, const Sequencer& sequencer)
      : sequencer_node(nodes.graph_reference(), sequencer) {
    make_edges_in_order(nodes, *this);
  }
  // An empty node of the same graph, without edges, with a copy of the function that was given to
  // the constructor of `other`.
  sequencer_node(const sequencer_node& other)
      : base(other.graph_reference()), number_(other.number_) {}

  graph_task* try_put_task(const T& message) override {
    return try_put_task(message, message_metainfo());
  }
  graph_task* try_put_task(const T& message, const message_metainfo& info) override {
    return this->keep(message, info, number_->call(message));
  }

 protected:
  void reset_node(reset_flags flags) override {
    base::reset_node(flags);
    if ((flags & rf_reset_bodies) != 0) number_.reset();
  }

 private:
  detail::body_holder<std::size_t, const T&> number_;
};

#if defined(__cpp_deduction_guides)
template <typename Sequencer>
sequencer_node(graph&, Sequencer) -> sequencer_node<detail::body_input<Sequencer>>;
template <typename... Set, typename Sequencer>
sequencer_node(const node_set<Set...>&, Sequencer) -> sequencer_node<detail::body_input<Sequencer>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_SEQUENCER_NODE_HPP
