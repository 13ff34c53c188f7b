// SPDX-License-Identifier: Apache-2.0
// The senders that a node pulls messages from: edges whose message it has rejected. Not for
// programs to include.
#ifndef CORBEL_DETAIL_FLOW_PREDECESSORS_HPP
#define CORBEL_DETAIL_FLOW_PREDECESSORS_HPP

#include <atomic>

#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/flow/pointer_list.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

// Any thread may call any member at any time, except the destructor. Calls of senders are made
// without the lock, since senders call the node under their own (successors.hpp). Meanwhile the
// edge is neither lost nor used by others: it is in the list of those that are taken, where
// remove() finds it as well.
template <typename T>
class predecessor_cache {
 public:
  using sender_type = flow::sender<T>;
  using receiver_type = flow::receiver<T>;

  // Adds an edge. Throws bad_alloc. There is always room for those that are taken.
  void add(sender_type& from) {
    const flow_lock lock(mutex_);
    senders_.reserve(senders_.size() + taken_.size() + 1);
    senders_.push_back(&from);
    publish_size();
  }
  // Removes one edge; returns false if there is none.
  bool remove(sender_type& from) {
    const flow_lock lock(mutex_);
    const bool found = senders_.erase(&from);
    publish_size();
    return found || taken_.erase(&from);
  }
  // A hint, exact for the thread that knows of no concurrent calls.
  bool empty() const {
    // relaxed: callers that decide by it hold a lock of their own, under which edges are added
    return count_.load(std::memory_order_relaxed) == 0;
  }

  // Makes the edge that was not used for the longest time the last one; returns its sender, or
  // nullptr if there is none.
  sender_type* first_to_end() {
    const flow_lock lock(mutex_);
    if (senders_.size() == 0) return nullptr;
    if (senders_.size() > 1) senders_.push_back_first();
    return senders_[senders_.size() - 1];
  }

  // Takes the edge that was not used for the longest time, until put_back or make_push; nullptr if
  // there is none. Throws bad_alloc; nothing has changed then.
  sender_type* take() {
    const flow_lock lock(mutex_);
    if (senders_.size() == 0) return nullptr;
    taken_.push_back(senders_[0]);
    sender_type* const first = senders_.pop_front();
    publish_size();
    return first;
  }
  // Takes this edge. Returns false if there is none.
  bool take(sender_type& from) {
    const flow_lock lock(mutex_);
    taken_.push_back(&from);
    if (!senders_.erase(&from)) {
      taken_.pop_back();
      return false;
    }
    publish_size();
    return true;
  }
  void put_back(sender_type& from) noexcept {
    const flow_lock lock(mutex_);
    if (!taken_.erase(&from)) return;  // has been removed
    senders_.push_back(&from);
    publish_size();
  }
  // Makes an edge that was taken a push edge. Throws bad_alloc; it has been put back then.
  void make_push(sender_type& from, receiver_type& self) {
    edge_scope edge{*this, &from};
    from.register_successor(self);
    edge.kept = nullptr;
    if (!end_taken(from)) from.remove_successor(self);
  }

  // Pulls a message for `self`, whose edges these are. Edges that have none become push edges.
  // Returns false if there is no message. Throws what the assignment throws, and bad_alloc; the
  // edge stays then.
  bool get_item(receiver_type& self, T& message, flow::message_metainfo& info) {
    while (sender_type* const from = take()) {
      edge_scope edge{*this, from};
      if (from->try_get(message, info)) return true;
      edge.kept = nullptr;
      make_push(*from, self);
    }
    return false;
  }

  // Makes all edges push edges again, but for those that come back meanwhile: a sender that is
  // rejected at once may offer its edge again.
  void reset(receiver_type& self) {
    // relaxed: as in empty()
    for (std::uint32_t left = count_.load(std::memory_order_relaxed); left != 0; --left) {
      sender_type* const from = take();
      if (from == nullptr) return;
      make_push(*from, self);
    }
  }
  // Removes all edges.
  void clear() {
    const flow_lock lock(mutex_);
    senders_.clear();
    publish_size();
  }

  // Puts an edge that was taken back at the end of the scope.
  struct edge_scope {
    predecessor_cache& edges;
    sender_type* kept;
    ~edge_scope() {
      if (kept != nullptr) edges.put_back(*kept);
    }
  };

 private:
  // Returns false if the edge has been removed meanwhile.
  bool end_taken(sender_type& from) {
    const flow_lock lock(mutex_);
    return taken_.erase(&from);
  }

  // relaxed: see empty
  void publish_size() { count_.store(std::uint32_t(senders_.size()), std::memory_order_relaxed); }

  pointer_list<sender_type> senders_, taken_;
  std::atomic<std::uint32_t> count_{0};
  spinning_mutex mutex_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_PREDECESSORS_HPP
