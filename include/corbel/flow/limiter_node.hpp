// SPDX-License-Identifier: Apache-2.0
// A node that limits the number of messages that have passed it. C++11 and later. Follows the
// oneTBB specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_LIMITER_NODE_HPP
#define CORBEL_FLOW_LIMITER_NODE_HPP

#include <cstddef>
#include <type_traits>

#include <corbel/detail/flow/limiter.hpp>
#include <corbel/flow/continue_receiver.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace flow {

template <typename T, typename DecrementType>
class limiter_node;

}  // namespace flow

namespace detail {

// The receiver that changes the count of a limiter: by the value of each message.
template <typename T, typename DecrementType>
class limiter_decrementer : public flow::receiver<DecrementType> {
  static_assert(std::is_integral<DecrementType>::value,
                "the messages of a decrementer are integers or continue_msg");

 public:
  limiter_decrementer(limiter<T>& l, int) : limiter_(l) {}

  graph_task* try_put_task(const DecrementType& value) override {
    const bool raises = is_negative(value, std::is_signed<DecrementType>());
    const std::size_t by = static_cast<std::size_t>(value);
    return limiter_.change(raises ? std::size_t{0} - by : by, raises);
  }
  flow::graph& graph_reference() const override { return limiter_.graph(); }

 private:
  template <typename, typename>
  friend class flow::limiter_node;
  void reset(flow::reset_flags) {}
  static bool is_negative(DecrementType value, std::true_type) { return value < 0; }
  static bool is_negative(DecrementType, std::false_type) { return false; }

  limiter<T>& limiter_;
};

// By one for each message; if it has several predecessors, for a message from each of them.
template <typename T>
class limiter_decrementer<T, flow::continue_msg> : public flow::continue_receiver {
 public:
  limiter_decrementer(limiter<T>& l, int number_of_predecessors)
      : continue_receiver(number_of_predecessors), limiter_(l) {}

  flow::graph& graph_reference() const override { return limiter_.graph(); }

 protected:
  graph_task* execute() override { return limiter_.change(1, false); }

 private:
  template <typename, typename>
  friend class flow::limiter_node;
  void reset(flow::reset_flags flags) { reset_receiver(flags); }

  limiter<T>& limiter_;
};

}  // namespace detail

namespace flow {

// Passes each message to all successors, in the thread that puts it, and counts those that at least
// one successor has accepted. Rejects messages while the count is at the threshold. Once the
// decrementer has lowered the count, it pulls messages from the predecessors that it has rejected.
// T is default-constructible and copyable. Thread safety: see sender and receiver.
template <typename T, typename DecrementType = continue_msg>
class limiter_node : public graph_node, public receiver<T>, public sender<T> {
 public:
  using input_type = T;
  using output_type = T;
  using predecessor_type = typename receiver<T>::predecessor_type;
  using successor_type = typename sender<T>::successor_type;

 private:
  // Before `decrement`, which refers to it.
  detail::limiter<T> limiter_;
  const int decrement_predecessors_;

 public:
  // The decrementer, as TBB 2020 names it.
  detail::limiter_decrementer<T, DecrementType> decrement;

  // A node that lets `threshold` messages pass. A decrementer for continue_msg counts
  // `decrement_predecessors` in addition to its edges.
  limiter_node(graph& g, std::size_t threshold, int decrement_predecessors = 0)
      : graph_node(g),
        limiter_(g, *this, *this, threshold),
        decrement_predecessors_(decrement_predecessors),
        decrement(limiter_, decrement_predecessors) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set>
  limiter_node(const node_set<Set...>& nodes, std::size_t threshold)
      : limiter_node(nodes.graph_reference(), threshold) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph with the same threshold and a count of 0, without edges.
  limiter_node(const limiter_node& other)
      : limiter_node(other.graph_reference(), other.limiter_.threshold(),
                     other.decrement_predecessors_) {}

  // Returns the receiver of messages that change the count: a continue_msg lowers it by one, an
  // integer lowers it by its value, a negative one raises it. The count stays between 0 and the
  // threshold.
  receiver<DecrementType>& decrementer() { return decrement; }

  graph_task* try_put_task(const T& message) override {
    return limiter_.put(message, message_metainfo());
  }
  graph_task* try_put_task(const T& message, const message_metainfo& info) override {
    return limiter_.put(message, info);
  }
  bool register_predecessor(predecessor_type& from) override {
    return limiter_.add_predecessor(from);
  }
  bool remove_predecessor(predecessor_type& from) override {
    return limiter_.remove_predecessor(from);
  }
  bool register_successor(successor_type& to) override { return limiter_.add_successor(to); }
  bool remove_successor(successor_type& to) override { return limiter_.remove_successor(to); }
  graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  void reset_node(reset_flags flags) override {
    limiter_.reset(flags);
    decrement.reset(flags);
  }
};

#if defined(__cpp_deduction_guides)
template <typename Order, typename... Nodes>
limiter_node(const node_set<Order, Nodes...>&, std::size_t)
    -> limiter_node<detail::set_message_t<node_set<Order, Nodes...>>>;
#endif

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_LIMITER_NODE_HPP
