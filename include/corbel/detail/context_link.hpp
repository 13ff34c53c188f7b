// SPDX-License-Identifier: Apache-2.0
// Links from contexts of the program to those above them. Not for programs to include.
//
// A node on a stack has its link from its beginning to its end, and the nodes above it last as
// long. A lasting_node is linked by the call that uses it first, which makes it know what the node
// above knows, and cuts the link before it ends; others may use the node meanwhile and later.
//
// Cutting a link. A walk upwards (src/sched/cancellation.hpp) that comes to such a link counts
// itself among the node's walkers first (7) and then reads the link again (8). Who cuts it marks it
// (9), and then waits until it has seen no walkers (10). Either (7) comes before (10), which waits
// for the walk to come back, or after, and then (8) sees the mark. As long as a walker is counted
// the link stays, so does what is above it up to the next such link, and so does the node itself,
// whose user is still in its call.
//   Whoever cuts the link has made sure before that the node knows what those above it know. So a
// walk that finds the mark, or no link, looks at the node's flag again behind that (11).
//
// Making a link. Let a walk below the node read the number of a cancellation above (3), and then no
// link (5), (8). It writes the number down although it has not seen the flag. Then the link (12)
// comes later, and the number that its maker reads behind it (14), or (3) of its own walk, is that
// one or a later one: so it finds the flag and cancels the node for itself, which counts the number
// up. This needs (2), (3), (5), (8), (12) and (14) in one order.
//
// Sharing a link. Calls below the same node share the link, and the last of them cuts it. How many
// they are is counted under the node's lock; that there is more than one is seen in the link, so
// that one alone need not take the lock.
//
// The node is a parameter so that a model checker can run this very source
// (test/model/cancellation_model.cpp).
#ifndef CORBEL_DETAIL_CONTEXT_LINK_HPP
#define CORBEL_DETAIL_CONTEXT_LINK_HPP

#include <atomic>
#include <cstdint>

namespace corbel {
namespace detail {

// Puts a lasting node below another one. False if it has a link, which is left in `link`.
template <typename Node>
inline bool make_link(Node& node, Node& above, std::uintptr_t* link) {
  *link = 0;
  // (12) seq_cst: see above; relaxed: the link is another call's, and compared only
  return node.link.compare_exchange_strong(*link, Node::link_to(above) | Node::kMayBeCut,
                                           std::memory_order_seq_cst, std::memory_order_relaxed);
}

// Behind make_link: whether there is nothing to be taken over from above.
template <typename Node, typename Number>
inline bool is_current_now(const Node& above, const Number& cancellations) {
  // (14) seq_cst: see above; relaxed: as is_current
  const std::uint64_t number = cancellations.load(std::memory_order_seq_cst);
  return above.state.load(std::memory_order_relaxed) == number;
}

// By one that has the link to `above`, when the node knows all that is known there. False if it is
// shared. Then come is_deserted() and, once that holds, end_link().
template <typename Node>
inline bool mark_cut(Node& node, Node& above) {
  std::uintptr_t link = Node::link_to(above) | Node::kMayBeCut;
  // (9) seq_cst: see above; relaxed: it is shared
  return node.link.compare_exchange_strong(link, link | Node::kIsCut, std::memory_order_seq_cst,
                                           std::memory_order_relaxed);
}

template <typename Node>
inline bool is_deserted(Node& node) {
  // (10) seq_cst: see above; what the walks did is over
  return walkers_of(node).load(std::memory_order_seq_cst) == 0;
}

template <typename Node>
inline void end_link(Node& node) {
  node.link.store(0, std::memory_order_release);  // (13) release: what the node knows, with (5)
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONTEXT_LINK_HPP
