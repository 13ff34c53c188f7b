// SPDX-License-Identifier: Apache-2.0
// The messages that a node has for its successors. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_OUTPUT_BUFFER_HPP
#define CORBEL_DETAIL_FLOW_OUTPUT_BUFFER_HPP

#include <utility>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/kept_message.hpp>
#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/flow/pointer_list.hpp>
#include <corbel/detail/flow/successors.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

// One message at a time is held: it is either reserved by a successor, or being pushed to the
// successors by the forwarding task. No other message leaves meanwhile, so that the order is kept
// if the held one comes back. Nothing is called under the lock but the order's functions.
//
// No message is forgotten. A put, the registration of a successor, and the end of a reservation
// take the lock and then request forwarding. The forwarding task ends under the lock, when there is
// no message or no successor, or when the successors have rejected the message and there was no
// request since it looked.
template <typename T, typename Order, bool kBroadcasts>
class output_buffer {
 public:
  using message = typename Order::message;

  // `owner` is the node.
  template <typename... Arguments>
  output_buffer(flow::graph& g, flow::sender<T>& owner, Arguments&&... order)
      : owner_(owner), forwarder_(g, *this), order_(std::forward<Arguments>(order)...) {}
  ~output_buffer() {
    if (held_ != nullptr) end(held_);
  }
  output_buffer(const output_buffer&) = delete;
  output_buffer& operator=(const output_buffer&) = delete;

  flow::graph& graph() const { return forwarder_.graph(); }

  // Calls push(order) under the lock, which returns false to reject a message, and may throw.
  // Returns what try_put_task returns.
  template <typename Push>
  graph_task* put(const Push& push) {
    outside_call call(current_thread(), graph());
    bool starts;
    {
      const flow_lock lock(lock_);
      if (!push(order_)) return nullptr;
      starts = requests_forwarding();
    }
    return starts ? call.pass(forwarder_.task()) : successfully_enqueued();
  }

  // Removes the next message; returns false if there is none or one is held. If the assignment
  // throws, the message stays. Assigns under the lock, so that it need not come back between
  // others.
  bool get(T& v, flow::message_metainfo* info) {
    struct returner {
      Order& order;
      message* kept;
      ~returner() {
        if (kept != nullptr) order.put_back(kept);
      }
    };
    message* m;
    {
      const flow_lock lock(lock_);
      if (held_ != nullptr || (m = order_.pop()) == nullptr) return false;
      returner returns{order_, m};
      v = std::move(m->value);
      returns.kept = nullptr;
      if (info != nullptr) *info = std::move(m->metainfo);
      end(m);
    }
    return true;
  }

  // Holds the next message until consume() or release(); returns false if there is none or one is
  // held. If the assignment throws, no message is held.
  bool reserve(T& v, flow::message_metainfo* info) {
    struct releaser {
      output_buffer* buffer;
      ~releaser() {
        if (CORBEL_UNLIKELY(buffer != nullptr)) buffer->release();
      }
    } releases{nullptr};
    {
      const flow_lock lock(lock_);
      if (held_ != nullptr || (held_ = order_.pop()) == nullptr) return false;
      is_reserved_ = true;
    }
    releases.buffer = this;
    v = held_->value;
    if (info != nullptr) *info = held_->metainfo;
    releases.buffer = nullptr;
    return true;
  }

  // Removes the message that is reserved; returns false if none is.
  bool consume() { return end_reservation(true); }
  // Returns the message that is reserved to its place; returns false if none is.
  bool release() { return end_reservation(false); }

  // Adds or removes an edge to a successor.
  bool add_successor(flow::receiver<T>& to) {
    const outside_call call(current_thread(), graph());
    successors_.register_successor(owner_, to);
    bool starts;
    {
      const flow_lock lock(lock_);
      starts = requests_forwarding();
    }
    if (starts) submit(forwarder_.task());
    return true;
  }
  bool remove_successor(flow::receiver<T>& to) { return successors_.remove_successor(owner_, to); }

  // While no task of the graph runs.
  void reset(flow::reset_flags flags) {
    clear();
    if ((flags & flow::rf_clear_edges) != 0) successors_.clear();
  }

  // ---- called by forwarder

  graph_task* forward(thread_data& thread) {
    // What the last message held, until there is another one or the task is done with the node: the
    // program may destroy the node then.
    flow::message_metainfo held;
    push_scope push{*this, false, false};
    next_task result;
    message* m = hold_next(kFirst);
    for (int pushed = 1; m != nullptr; ++pushed) {
      push.is_accepted = false;
      graph_task* const task = kBroadcasts ? successors_.put_to_all(owner_, m->value, m->metainfo)
                                           : successors_.put_to_one(owner_, m->value, m->metainfo);
      if (CORBEL_UNLIKELY(task == nullptr)) {
        m = hold_next(kRejected);
        continue;
      }
      push.is_accepted = true;
      held = std::move(m->metainfo);
      order_.destroy(m);
      result.add(task);
      if (pushed >= forwarder<output_buffer>::kMaxMessages && result.is_some() && held.empty()) {
        end_held();
        push.is_over = true;
        if (forwarder_.run_again(thread)) return result.take();
        push.is_over = false;
        m = hold_next(kFirst);
      } else {
        m = hold_next(kAccepted);
      }
      if (CORBEL_LIKELY(m != nullptr)) held.clear();
    }
    push.is_over = true;
    return result.take();
  }

  void stop_forwarding() {
    const flow_lock lock(lock_);
    forwarder_.stop();
  }

 private:
  // What has become of the message that the forwarding task held.
  enum outcome { kFirst, kAccepted, kRejected };

  // Ends the forwarding task if a successor, or the order, has thrown.
  struct push_scope {
    output_buffer& buffer;
    bool is_accepted, is_over;

    ~push_scope() {
      if (CORBEL_LIKELY(is_over)) return;
      const flow_lock lock(buffer.lock_);
      if (!buffer.is_reserved_ && buffer.held_ != nullptr) {
        if (is_accepted) {
          buffer.order_.recycle();
        } else {
          buffer.order_.put_back(buffer.held_);
        }
        buffer.held_ = nullptr;
      }
      buffer.forwarder_.stop();
    }
  };

  // Lets go of the message that the task has held, and holds the next one for it. Returns nullptr
  // if there is nothing to push: then the task has ended.
  message* hold_next(outcome last) {
    const flow_lock lock(lock_);
    if (last == kFirst ? is_reserved_ : last == kRejected && return_rejected()) {
      forwarder_.stop();
      return nullptr;
    }
    forwarder_.look();
    held_ = nullptr;
    if (last == kAccepted) order_.recycle();
    if (!successors_.empty() && is_graph_active(graph())) held_ = order_.pop();
    if (held_ == nullptr) forwarder_.stop();
    return held_;
  }

  // Lets go of a message that has been accepted.
  void end_held() {
    const flow_lock lock(lock_);
    held_ = nullptr;
    order_.recycle();
  }

  // Returns whether there was no request since the task looked.
  bool return_rejected() {
    order_.put_back(held_);
    held_ = nullptr;
    return !forwarder_.must_look();
  }

  // Returns whether the caller must start the task. Called under the lock.
  bool requests_forwarding() {
    if (!forwarder_.is_busy() &&
        (is_reserved_ || !order_.has_next() || successors_.empty() || !is_graph_active(graph())))
      return false;
    return forwarder_.request();
  }

  bool end_reservation(bool consumes) {
    const outside_call call(current_thread(), graph());
    bool starts;
    {
      const flow_lock lock(lock_);
      if (!is_reserved_) return false;
      if (consumes) {
        end(held_);
      } else {
        order_.put_back(held_);
      }
      held_ = nullptr;
      is_reserved_ = false;
      starts = requests_forwarding();
    }
    if (starts) submit(forwarder_.task());
    return true;
  }

  // Ends the message of the last pop.
  void end(message* m) {
    order_.destroy(m);
    order_.recycle();
  }

  void clear() {
    if (held_ != nullptr) end(held_);
    order_.clear();
    held_ = nullptr;
    is_reserved_ = false;
    forwarder_.stop();
  }

  flow::sender<T>& owner_;
  forwarder<output_buffer> forwarder_;
  successor_cache<T> successors_;
  Order order_;
  message* held_ = nullptr;
  bool is_reserved_ = false;  // by a successor
  spinning_mutex lock_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_OUTPUT_BUFFER_HPP
