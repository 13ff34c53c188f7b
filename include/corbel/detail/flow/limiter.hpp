// SPDX-License-Identifier: Apache-2.0
// What a limiter_node does. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_LIMITER_HPP
#define CORBEL_DETAIL_FLOW_LIMITER_HPP

#include <cstddef>
#include <utility>

#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/reserved_edges.hpp>
#include <corbel/detail/flow/successors.hpp>

namespace corbel {
namespace detail {

// A message counts from before it is passed on, so that a decrement which follows from it finds it
// counted. If no successor accepts the message, it counts no longer.
//
// No message is forgotten: the arguments are those of output_buffer. Everything that may allow a
// pull changes the state under the lock and then requests forwarding; the forwarding task ends
// under the lock, if there was no request since it looked.
template <typename T>
class limiter {
 public:
  limiter(flow::graph& g, flow::receiver<T>& input, flow::sender<T>& output, std::size_t threshold)
      : input_(input), output_(output), threshold_(threshold), forwarder_(g, *this) {}

  flow::graph& graph() const { return forwarder_.graph(); }
  std::size_t threshold() const { return threshold_; }

  // What try_put_task does.
  graph_task* put(const T& message, const flow::message_metainfo& info) {
    // Others may rely on this thread to pull for them, if its message counts no longer.
    outside_call call(current_thread(), graph());
    {
      const flow_lock lock(lock_);
      if (count_ >= threshold_) return nullptr;
      ++count_;
    }
    uncounter uncounts{this};
    graph_task* const task = successors_.put_to_all(output_, message, info);
    if (CORBEL_UNLIKELY(task == nullptr)) return nullptr;
    uncounts.from = nullptr;
    return is_task(task) ? call.pass(*task) : task;
  }

  // Lowers the count, or raises it. Returns what try_put_task of the decrementer returns.
  graph_task* change(std::size_t by, bool raises) {
    outside_call call(current_thread(), graph());
    bool starts;
    {
      const flow_lock lock(lock_);
      if (raises) {
        count_ = by < threshold_ - count_ ? count_ + by : threshold_;
      } else {
        count_ = by < count_ ? count_ - by : 0;
      }
      starts = requests_forwarding();
    }
    return starts ? call.pass(forwarder_.task()) : successfully_enqueued();
  }

  // Called under the lock of `from`. Without memory for the task that pulls, the edge stays one
  // that pushes.
  bool add_predecessor(flow::sender<T>& from) {
    const outside_call call(current_thread(), graph());
    if (!change_edges([&] { edges_.add(from); }) || try_submit(forwarder_.task())) return true;
    const flow_lock lock(lock_);
    forwarder_.stop();
    return !edges_.remove(from);
  }
  bool remove_predecessor(flow::sender<T>& from) { return edges_.remove(from); }
  bool add_successor(flow::receiver<T>& to) {
    successors_.register_successor(output_, to);
    change_and_start([] {});
    return true;
  }
  bool remove_successor(flow::receiver<T>& to) { return successors_.remove_successor(output_, to); }

  // While no task of the graph runs.
  void reset(flow::reset_flags flags) {
    count_ = 0;
    forwarder_.stop();
    edges_.reset(input_, flags);
    if ((flags & flow::rf_clear_edges) != 0) successors_.clear();
  }

  // ---- called by forwarder

  graph_task* forward(thread_data&) {
    flow::message_metainfo held;  // as in output_buffer
    pull_scope pull{this, false};
    next_task result;
    T message = T();
    while (begin_pull(pull)) {
      flow::message_metainfo info;
      if (!edges_.reserve(input_, message, info)) {
        if (end_pull(pull)) break;
        continue;
      }
      held.clear();
      graph_task* const task = successors_.put_to_all(output_, message, info);
      if (CORBEL_UNLIKELY(task == nullptr)) {
        edges_.release();
        if (end_pull(pull)) break;
        continue;
      }
      pull.is_counted = false;
      result.add(task);
      edges_.consume();
      held = std::move(info);
    }
    pull.from = nullptr;
    return result.take();
  }

  // Nothing requests the next turn for the edges that pull, so their senders push again.
  void stop_forwarding() noexcept {
    {
      const flow_lock lock(lock_);
      forwarder_.look();
    }
    edges_.make_all_push(input_);
    {
      const flow_lock lock(lock_);
      if (!forwarder_.must_look() || !can_pull()) {
        forwarder_.stop();
        return;
      }
    }
    submit(forwarder_.task());
  }

 private:
  // Ends the count of a message that has not been accepted. Another thread may have rejected one
  // because of it.
  struct uncounter {
    limiter* from;
    ~uncounter() {
      if (CORBEL_LIKELY(from == nullptr)) return;
      from->change_and_start([this] { from->uncount(); });
    }
  };

  // Ends the forwarding task if something has been thrown.
  struct pull_scope {
    limiter* from;
    bool is_counted;
    ~pull_scope() {
      if (CORBEL_LIKELY(from == nullptr)) return;
      from->edges_.release_after_failure();
      if (is_counted) {
        const flow_lock lock(from->lock_);
        from->uncount();
      }
      from->stop_forwarding();
    }
  };

  void uncount() {
    if (count_ != 0) --count_;
  }

  // Counts a message for a pull. Returns false if none is possible: then the task has ended.
  bool begin_pull(pull_scope& pull) {
    const flow_lock lock(lock_);
    forwarder_.look();
    if (!can_pull()) {
      forwarder_.stop();
      return false;
    }
    ++count_;
    return pull.is_counted = true;
  }

  // The pull has failed. Returns true if the task has ended.
  bool end_pull(pull_scope& pull) {
    const flow_lock lock(lock_);
    pull.is_counted = false;
    uncount();
    if (forwarder_.must_look()) return false;
    forwarder_.stop();
    return true;
  }

  bool can_pull() const {
    return count_ < threshold_ && !edges_.empty() && !successors_.empty() &&
           is_graph_active(graph());
  }

  // Returns whether the caller must start the task. Called under the lock.
  bool requests_forwarding() {
    return (forwarder_.is_busy() || can_pull()) && forwarder_.request();
  }

  // Calls change() under the lock. Returns whether the caller must start the task. Throws what
  // change() throws.
  template <typename Change>
  bool change_edges(const Change& change) {
    const flow_lock lock(lock_);
    change();
    return requests_forwarding();
  }
  template <typename Change>
  void change_and_start(const Change& change) {
    const outside_call call(current_thread(), graph());
    if (change_edges(change)) submit(forwarder_.task());
  }

  flow::receiver<T>& input_;
  flow::sender<T>& output_;
  const std::size_t threshold_;
  std::size_t count_ = 0;
  forwarder<limiter> forwarder_;
  reserved_edges<T> edges_;
  successor_cache<T> successors_;
  spinning_mutex lock_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_LIMITER_HPP
