// SPDX-License-Identifier: Apache-2.0
// What overwrite_node and write_once_node have in common. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_SINGLE_VALUE_HPP
#define CORBEL_DETAIL_FLOW_SINGLE_VALUE_HPP

#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/kept_message.hpp>
#include <corbel/detail/flow/successors.hpp>
#include <corbel/flow/node_set.hpp>

namespace corbel {
namespace detail {

// Keeps one message, which gets do not remove, and passes it to all successors, future ones
// included.
template <typename T, bool kOverwrites>
class single_value_node : public flow::graph_node,
                          public flow::receiver<T>,
                          public flow::sender<T> {
 public:
  using input_type = T;
  using output_type = T;
  using predecessor_type = typename flow::receiver<T>::predecessor_type;
  using successor_type = typename flow::sender<T>::successor_type;

  // Stores the message, and passes it to the successors in this thread. Throws bad_alloc and what
  // copying the message throws; the node has not changed then. Throws what the successors throw.
  graph_task* try_put_task(const T& message) override {
    return try_put_task(message, flow::message_metainfo());
  }
  graph_task* try_put_task(const T& message, const flow::message_metainfo& info) override {
    if (!store(message, info)) return nullptr;
    graph_task* const next = successors_.put_to_all(*this, message, info);
    return next != nullptr ? next : successfully_enqueued();
  }

  // Copies the message, if there is one. Throws what the assignment throws.
  bool try_get(T& message) override {
    const flow_lock lock(lock_);
    if (message_ == nullptr) return false;
    message = message_->value;
    return true;
  }
  bool try_get(T& message, flow::message_metainfo& info) override {
    const flow_lock lock(lock_);
    if (message_ == nullptr) return false;
    message = message_->value;
    info = message_->metainfo;
    return true;
  }
  // The same, since a message that is reserved and consumed stays. Any number of successors may
  // reserve it at the same time.
  bool try_reserve(T& message) override { return try_get(message); }
  bool try_reserve(T& message, flow::message_metainfo& info) override {
    return try_get(message, info);
  }
  bool try_release() override { return true; }
  bool try_consume() override { return true; }

  // Returns whether there is a message.
  bool is_valid() {
    const flow_lock lock(lock_);
    return message_ != nullptr;
  }
  // Removes the message.
  void clear() { const message_owner<kept_message<T>> removed(exchange(nullptr)); }

  // Adds an edge, and passes the message to the successor, if there is one. If the successor
  // rejects it, a task makes the edge one that pulls: the successor may be calling from a pull
  // itself.
  bool register_successor(successor_type& to) override {
    for (std::size_t passed = 0;;) {
      const message_owner<kept_message<T>> copy(add_or_copy(to, passed));
      if (copy.get() == nullptr) return true;
      graph_task* const next = copy->metainfo.empty()
                                   ? to.try_put_task(copy->value)
                                   : to.try_put_task(copy->value, copy->metainfo);
      if (next == nullptr) {
        graph_task* const task = make_graph_task<edge_task>(*this, to);
        next_task kept;
        kept.add(task);
        successors_.add_aside(to);
        submit(*kept.take());
        return true;
      }
      if (is_task(next)) submit(*next);
    }
  }
  bool remove_successor(successor_type& to) override {
    return successors_.remove_successor(*this, to);
  }
  flow::graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  explicit single_value_node(flow::graph& g) : graph_node(g) {}
  ~single_value_node() override { clear(); }

  void reset_node(flow::reset_flags flags) override {
    clear();
    if ((flags & flow::rf_clear_edges) != 0) successors_.clear();
  }

 private:
  // Offers the edge to a successor that has rejected the message.
  class edge_task : public graph_task_of<edge_task> {
   public:
    edge_task(single_value_node& from, successor_type& to)
        : graph_task_of<edge_task>(from.graph_reference()), from_(from), to_(to) {}
    graph_task* execute(thread_data&) {
      bool has_ended = false;
      call_captured(*this->context, [&] {
        from_.successors_.end_aside(from_, to_);
        has_ended = true;
      });
      if (CORBEL_UNLIKELY(!has_ended)) from_.successors_.end_aside_as_push(to_);
      return nullptr;
    }
    graph_task* cancel(thread_data&) {
      from_.successors_.end_aside_as_push(to_);
      return nullptr;
    }

   private:
    single_value_node& from_;
    successor_type& to_;
  };

  // Returns false if the node keeps another message.
  bool store(const T& message, const flow::message_metainfo& info) {
    if (!kOverwrites && is_valid()) return false;
    message_owner<kept_message<T>> m(new_task<kept_message<T>>(current_thread(), message, info));
    if (kOverwrites) {
      const message_owner<kept_message<T>> replaced(exchange(m.take()));
      return true;
    }
    const flow_lock lock(lock_);
    if (message_ != nullptr) return false;
    message_ = m.take();
    ++stored_;
    return true;
  }

  kept_message<T>* exchange(kept_message<T>* m) {
    const flow_lock lock(lock_);
    kept_message<T>* const before = message_;
    message_ = m;
    if (m != nullptr) ++stored_;
    return before;
  }

  // Adds an edge and returns nullptr, if there is no message, or the successor has got message
  // number `passed` and that is the last one; otherwise returns a copy of the message for it. The
  // edge is there before the next message is stored, or the next message is seen here: none is
  // missed.
  kept_message<T>* add_or_copy(successor_type& to, std::size_t& passed) {
    const flow_lock lock(lock_);
    if (message_ == nullptr || passed == stored_ || !is_graph_active(graph_reference())) {
      successors_.register_successor(*this, to);
      return nullptr;
    }
    passed = stored_;
    return new_task<kept_message<T>>(current_thread(), message_->value, message_->metainfo);
  }

  kept_message<T>* message_ = nullptr;
  std::size_t stored_ = 0;  // the number of messages until now
  successor_cache<T> successors_;
  spinning_mutex lock_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_SINGLE_VALUE_HPP
