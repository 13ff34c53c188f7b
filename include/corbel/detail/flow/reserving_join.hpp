// SPDX-License-Identifier: Apache-2.0
// What reserving join nodes do. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_RESERVING_JOIN_HPP
#define CORBEL_DETAIL_FLOW_RESERVING_JOIN_HPP

#include <cstddef>
#include <tuple>
#include <utility>

#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/join_ports.hpp>
#include <corbel/detail/flow/reserved_edges.hpp>
#include <corbel/detail/flow/successors.hpp>

namespace corbel {
namespace detail {

// Each port rejects all messages, and so has edges that pull. While every port has one, a task
// reserves a message at each. Senders are called without the lock, since they call the ports under
// theirs. That no message is forgotten is argued as in limiter.
template <typename Tuple>
class reserving_join;
template <typename... Ts>
class reserving_join<std::tuple<Ts...>> {
 public:
  using tuple = std::tuple<Ts...>;
  using ports_type = input_ports<reserving_join, Ts...>;

  reserving_join(flow::graph& g, flow::sender<tuple>& output)
      : output_(output), forwarder_(g, *this) {}

  flow::graph& graph() const { return forwarder_.graph(); }
  // The ports at which messages are reserved. Called before any other function.
  void set_ports(ports_type& ports) { ports_ = &ports; }

  template <std::size_t I, typename T>
  graph_task* put(const T&, const flow::message_metainfo&) {
    return nullptr;
  }
  // As in limiter.
  template <std::size_t I, typename Sender>
  bool add_predecessor(Sender& from) {
    const outside_call call(current_thread(), graph());
    if (!change_edges([&] { std::get<I>(edges_).add(from); }) || try_submit(forwarder_.task())) {
      return true;
    }
    const flow_lock lock(lock_);
    forwarder_.stop();
    return !std::get<I>(edges_).remove(from);
  }
  template <std::size_t I, typename Sender>
  bool remove_predecessor(Sender& from) {
    return std::get<I>(edges_).remove(from);
  }
  bool add_successor(flow::receiver<tuple>& to) {
    const outside_call call(current_thread(), graph());
    successors_.register_successor(output_, to);
    if (change_edges([] {})) submit(forwarder_.task());
    return true;
  }
  bool remove_successor(flow::receiver<tuple>& to) {
    return successors_.remove_successor(output_, to);
  }

  // Reserves and consumes a message at each port. Returns false if that is not possible now, or the
  // task does it at this moment.
  bool get(tuple& v, flow::message_metainfo* info) {
    flow::message_metainfo merged;  // held until the turn has ended
    const outside_call call(current_thread(), graph());
    {
      const flow_lock lock(lock_);
      if (!can_reserve() || !forwarder_.request()) return false;
      forwarder_.look();
    }
    // What came meanwhile has relied on this turn, also if it throws.
    struct turn_end {
      reserving_join& join;
      ~turn_end() {
        join.end_reservations(kFailed);
        if (join.must_start_at_end()) submit(join.forwarder_.task());
      }
    } const turn{*this};
    if (!reserve_all(v, merged)) return false;
    end_reservations(kConsumed);
    if (info != nullptr) *info = std::move(merged);
    return true;
  }

  // While no task of the graph runs.
  template <typename Ports>
  void reset(Ports&, flow::reset_flags flags) {
    forwarder_.stop();
    resetter resets{*this, flags};
    each_index<0, sizeof...(Ts)>::all(resets);
    if ((flags & flow::rf_clear_edges) != 0) successors_.clear();
  }

  // ---- called by forwarder

  graph_task* forward(thread_data& thread) {
    flow::message_metainfo held;  // as in output_buffer
    turn_scope turn{this};
    next_task result;
    tuple v;
    for (int pushed = 0; begin_turn(); ++pushed) {
      if (pushed >= forwarder<reserving_join>::kMaxMessages && result.is_some() && held.empty()) {
        turn.join = nullptr;
        if (forwarder_.run_again(thread)) return result.take();
        turn.join = this;
      }
      flow::message_metainfo info;
      const bool found = reserve_all(v, info);
      if (found) held.clear();
      graph_task* const task = found ? successors_.put_to_all(output_, v, info) : nullptr;
      if (CORBEL_LIKELY(task != nullptr)) {
        result.add(task);
        end_reservations(kConsumed);
        held = std::move(info);
        continue;
      }
      if (found) end_reservations(kReleased);
      if (end_turn()) break;
    }
    turn.join = nullptr;
    return result.take();
  }

  // Nothing requests the next turn for the edges that pull, so their senders push again.
  void stop_forwarding() noexcept {
    {
      const flow_lock lock(lock_);
      forwarder_.look();
    }
    pusher pushes{*this};
    each_index<0, sizeof...(Ts)>::all(pushes);
    if (must_start_at_end()) submit(forwarder_.task());
  }

 private:
  using all_edges = std::tuple<reserved_edges<Ts>...>;
  // How reservations end. kFailed: with an exception, which goes on.
  enum ending { kConsumed, kReleased, kFailed };

  struct turn_scope {
    reserving_join* join;
    ~turn_scope() {
      if (CORBEL_LIKELY(join == nullptr)) return;
      join->end_reservations(kFailed);
      join->stop_forwarding();
    }
  };

  struct has_edges {
    const all_edges& edges;
    template <std::size_t I>
    bool call() const {
      return !std::get<I>(edges).empty();
    }
  };
  struct reserver {
    reserving_join& join;
    tuple& v;
    flow::message_metainfo& merged;
    template <std::size_t I>
    bool call() {
      flow::message_metainfo info;
      if (!std::get<I>(join.edges_).reserve(std::get<I>(*join.ports_), std::get<I>(v), info))
        return false;
      merged.merge(info);
      return true;
    }
  };
  struct ender {
    all_edges& edges;
    ending how;
    template <std::size_t I>
    bool call() {
      if (how == kConsumed) {
        std::get<I>(edges).consume();
      } else if (how == kReleased) {
        std::get<I>(edges).release();
      } else {
        std::get<I>(edges).release_after_failure();
      }
      return true;
    }
  };
  struct pusher {
    reserving_join& join;
    template <std::size_t I>
    bool call() {
      std::get<I>(join.edges_).make_all_push(std::get<I>(*join.ports_));
      return true;
    }
  };
  struct resetter {
    reserving_join& join;
    flow::reset_flags flags;
    template <std::size_t I>
    bool call() {
      std::get<I>(join.edges_).reset(std::get<I>(*join.ports_), flags);
      return true;
    }
  };

  // Reserves a message at each port, or at none.
  bool reserve_all(tuple& v, flow::message_metainfo& info) {
    reserver reserves{*this, v, info};
    if (each_index<0, sizeof...(Ts)>::all(reserves)) return true;
    end_reservations(kReleased);
    return false;
  }
  void end_reservations(ending how) {
    ender ends{edges_, how};
    each_index<0, sizeof...(Ts)>::all(ends);
  }

  bool can_reserve() const {
    const has_edges each{edges_};
    return each_index<0, sizeof...(Ts)>::all(each) && is_graph_active(graph());
  }
  bool can_forward() const { return can_reserve() && !successors_.empty(); }

  // Returns false if the task can do nothing: it has ended then.
  bool begin_turn() {
    const flow_lock lock(lock_);
    forwarder_.look();
    if (can_forward()) return true;
    forwarder_.stop();
    return false;
  }
  // Ends a turn of which others rely on a look at the end. Returns whether the caller must start
  // the task.
  bool must_start_at_end() {
    const flow_lock lock(lock_);
    if (forwarder_.must_look() && can_forward()) return true;
    forwarder_.stop();
    return false;
  }
  // The turn has failed. Returns true if the task has ended.
  bool end_turn() {
    const flow_lock lock(lock_);
    if (forwarder_.must_look()) return false;
    forwarder_.stop();
    return true;
  }

  // Calls change() under the lock. Returns whether the caller must start the task.
  template <typename Change>
  bool change_edges(const Change& change) {
    const flow_lock lock(lock_);
    change();
    return (forwarder_.is_busy() || can_forward()) && forwarder_.request();
  }

  flow::sender<tuple>& output_;
  ports_type* ports_ = nullptr;
  all_edges edges_;
  forwarder<reserving_join> forwarder_;
  successor_cache<tuple> successors_;
  spinning_mutex lock_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_RESERVING_JOIN_HPP
