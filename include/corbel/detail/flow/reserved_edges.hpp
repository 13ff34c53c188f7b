// SPDX-License-Identifier: Apache-2.0
// The senders from which a node reserves messages. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_RESERVED_EDGES_HPP
#define CORBEL_DETAIL_FLOW_RESERVED_EDGES_HPP

#include <corbel/detail/flow/predecessors.hpp>
#include <corbel/detail/succeeds.hpp>

namespace corbel {
namespace detail {

// The edges of a predecessor_cache, one of which may be reserved: it stays in the cache then. Of
// the threads that use the object, one at a time may reserve.
template <typename T>
class reserved_edges {
 public:
  using sender_type = flow::sender<T>;
  using receiver_type = flow::receiver<T>;

  // As in predecessor_cache.
  void add(sender_type& from) { edges_.add(from); }
  bool remove(sender_type& from) { return edges_.remove(from); }
  bool empty() const { return edges_.empty(); }

  // Reserves a message for `self`, whose edges these are. Edges that have none become push edges.
  // Returns false if there is no message. Throws what the assignment throws; the edge stays then.
  bool reserve(receiver_type& self, T& message, flow::message_metainfo& info) {
    while (sender_type* const from = edges_.first_to_end()) {
      if (from->try_reserve(message, info)) {
        reserved_ = from;
        return true;
      }
      // Taken before the sender is told: it may find that it has a message at once.
      if (edges_.take(*from)) edges_.make_push(*from, self);
    }
    return false;
  }

  // End the reservation, if there is one: the message is taken, or given back.
  void consume() { end(true); }
  void release() { end(false); }
  // Gives it back after an exception, which goes on: what the sender throws is dropped.
  void release_after_failure() noexcept {
    succeeds([this] { release(); });
  }

  // Makes all edges push edges, as far as there is memory. The senders may call the node at once.
  void make_all_push(receiver_type& self) noexcept {
    succeeds([&] { edges_.reset(self); });
  }
  // While no task of the graph runs: makes all edges push edges, or removes them.
  void reset(receiver_type& self, flow::reset_flags flags) {
    if ((flags & flow::rf_clear_edges) != 0) {
      edges_.clear();
    } else {
      edges_.reset(self);
    }
  }

 private:
  void end(bool consumes) {
    sender_type* const from = reserved_;
    if (from == nullptr) return;
    reserved_ = nullptr;
    if (consumes) {
      from->try_consume();
    } else {
      from->try_release();
    }
  }

  predecessor_cache<T> edges_;
  sender_type* reserved_ = nullptr;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_RESERVED_EDGES_HPP
