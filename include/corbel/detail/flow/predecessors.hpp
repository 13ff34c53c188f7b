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
// without the lock, since senders call the node under their own (successors.hpp).
template <typename T>
class predecessor_cache {
 public:
  using sender_type = flow::sender<T>;
  using receiver_type = flow::receiver<T>;

  // Adds an edge. Throws bad_alloc.
  void add(sender_type& from) {
    const flow_lock lock(mutex_);
    senders_.push_back(&from);
    publish_size();
  }
  // Removes one edge; returns false if there is none.
  bool remove(sender_type& from) {
    const flow_lock lock(mutex_);
    const bool found = senders_.erase(&from);
    publish_size();
    return found;
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

  // Takes the edge that was not used for the longest time; nullptr if there is none.
  sender_type* take() {
    const flow_lock lock(mutex_);
    if (senders_.size() == 0) return nullptr;
    sender_type* const first = senders_.pop_front();
    publish_size();
    return first;
  }

  // Pulls a message for `self`, whose edges these are. Edges that have none become push edges.
  // Returns false if there is no message.
  bool get_item(receiver_type& self, T& message, flow::message_metainfo& info) {
    while (sender_type* const from = take()) {
      if (from->try_get(message, info)) {
        add(*from);
        return true;
      }
      from->register_successor(self);
    }
    return false;
  }

  // Makes all edges push edges again, or removes them.
  void reset(receiver_type& self) {
    while (sender_type* const from = take()) from->register_successor(self);
  }
  void clear() {
    while (take() != nullptr) continue;
  }

 private:
  // relaxed: see empty
  void publish_size() { count_.store(std::uint32_t(senders_.size()), std::memory_order_relaxed); }

  pointer_list<sender_type> senders_;
  std::atomic<std::uint32_t> count_{0};
  spinning_mutex mutex_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_PREDECESSORS_HPP
