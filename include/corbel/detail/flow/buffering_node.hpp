// SPDX-License-Identifier: Apache-2.0
// What buffer_node, queue_node, priority_queue_node and sequencer_node have in common. Not for
// programs to include.
#ifndef CORBEL_DETAIL_FLOW_BUFFERING_NODE_HPP
#define CORBEL_DETAIL_FLOW_BUFFERING_NODE_HPP

#include <utility>

#include <corbel/detail/flow/message_queue.hpp>
#include <corbel/detail/flow/output_buffer.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace detail {

// Keeps messages in an order, and gives each to one successor.
template <typename T, typename Order>
class buffering_node : public flow::graph_node, public flow::receiver<T>, public flow::sender<T> {
 public:
  using input_type = T;
  using output_type = T;
  using predecessor_type = typename flow::receiver<T>::predecessor_type;
  using successor_type = typename flow::sender<T>::successor_type;

  // Remove the next message, or reserve it; see sender. Return false if there is none or a message
  // is reserved, or is being passed on. Throw what the assignment throws; the message stays then.
  bool try_get(T& message) override { return buffer_.get(message, nullptr); }
  bool try_get(T& message, flow::message_metainfo& info) override {
    return buffer_.get(message, &info);
  }
  bool try_reserve(T& message) override { return buffer_.reserve(message, nullptr); }
  bool try_reserve(T& message, flow::message_metainfo& info) override {
    return buffer_.reserve(message, &info);
  }
  bool try_release() override { return buffer_.release(); }
  bool try_consume() override { return buffer_.consume(); }

  bool register_successor(successor_type& to) override { return buffer_.add_successor(to); }
  bool remove_successor(successor_type& to) override { return buffer_.remove_successor(to); }
  flow::graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  template <typename... Arguments>
  explicit buffering_node(flow::graph& g, Arguments&&... order)
      : graph_node(g), buffer_(g, *this, std::forward<Arguments>(order)...) {}

  // What try_put_task does. Strong guarantee.
  template <typename... Position>
  graph_task* keep(const T& message, const flow::message_metainfo& info, Position... position) {
    typename Order::arrival arrival(message, info);
    return buffer_.put([&](Order& order) { return order.push(arrival, position...); });
  }

  void reset_node(flow::reset_flags flags) override { buffer_.reset(flags); }

 private:
  output_buffer<T, Order, false> buffer_;
};

// A buffering node whose order needs nothing but the message.
template <typename T, typename Order>
class simple_buffering_node : public buffering_node<T, Order> {
 public:
  // Keeps the message, and has it passed on by a task of the graph. Returns successfully_enqueued
  // or that task. Throws bad_alloc, and what copying the message and the comparison throw.
  graph_task* try_put_task(const T& message) override {
    return this->keep(message, flow::message_metainfo());
  }
  graph_task* try_put_task(const T& message, const flow::message_metainfo& info) override {
    return this->keep(message, info);
  }

 protected:
  using buffering_node<T, Order>::buffering_node;
};

template <typename T>
using fifo_node = simple_buffering_node<T, message_queue<T>>;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_BUFFERING_NODE_HPP
