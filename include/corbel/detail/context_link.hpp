// SPDX-License-Identifier: Apache-2.0
// Links from contexts of the program to the nodes above them. Not for programs to include. The
// numbers (1) to (8) and (11) are those of src/sched/core/cancellation.hpp.
//
// A node on a stack has its link for its whole life, and the nodes above it live at least as long.
// A lasting_node is linked by the first call that uses it. That call gives it what the node above
// knows, and cuts the link before it ends; other calls may use the node meanwhile and later.
//
// Cutting a link. A walk upwards that reaches such a link first counts itself as a walker of the
// node (7), then reads the link again (8). The thread that cuts the link marks it (9), then waits
// until it has seen no walkers (10). Either (7) comes before (10), which then waits for the walk to
// come back, or it comes after (10), and then (8) sees the mark. While a walker is counted, the
// link stays, and so do the nodes above it up to the next such link; the node itself stays too,
// since the call that uses it has not ended.
//   Before it cuts the link, the thread makes sure that the node knows what those above it know. So
// a walk that finds the mark, or no link, reads the node's flag again afterwards (11).
//
// Making a link. Suppose that a walk below the node reads the number of a cancellation above (3),
// and then finds no link (5), (8). It stores the number although it has not seen the flag. Then the
// link (12) is made later, and the number that the linking thread reads after it (14), or by (3) of
// its own walk, is that one or a later one. So that thread finds the flag and cancels the node
// itself, which increments the number. This needs (2), (3), (5), (8), (12) and (14) in one total
// order.
//
// Sharing a link. Calls below the same node share the link, and the last of them cuts it. The
// number of sharers is counted under the node's lock. A flag in the link tells whether it is
// shared, so that a single user need not take the lock.
//
// The node is a parameter so that a model checker can run this very source
// (test/model/cancellation_model.cpp).
#ifndef CORBEL_DETAIL_CONTEXT_LINK_HPP
#define CORBEL_DETAIL_CONTEXT_LINK_HPP

#include <atomic>
#include <cstdint>

namespace corbel {
namespace detail {

// Puts a lasting node below another node. Returns false if it already has a link, which is stored
// in `*link`.
template <typename Node>
inline bool make_link(Node& node, Node& above, std::uintptr_t* link) {
  *link = 0;
  // (12) seq_cst: either a walk's (5) or (8) finds the link, or the walk's (3) comes before (14),
  // which then reads its number or a later one; see "Making a link". relaxed on failure: another
  // call's link, which is only compared.
  return node.link.compare_exchange_strong(*link, Node::link_to(above) | Node::kMayBeCut,
                                           std::memory_order_seq_cst, std::memory_order_relaxed);
}

// Called after make_link: returns whether `above` is known not to be cancelled, so that there is
// nothing to take over from it.
template <typename Node, typename Number>
inline bool is_current_now(const Node& above, const Number& cancellations) {
  // (14) seq_cst: after (12), and after (3) of a walk that did not find the link. relaxed: compared
  // with the number, like is_current.
  const std::uint64_t number = cancellations.load(std::memory_order_seq_cst);
  return above.state.load(std::memory_order_relaxed) == number;
}

// Marks the link to `above`, which the calling thread made, as cut. The node must know all that is
// known above by then. Returns false if the link is shared. Otherwise the caller waits until
// has_no_walkers() is true, then calls end_link().
template <typename Node>
inline bool mark_cut(Node& node, Node& above) {
  std::uintptr_t link = Node::link_to(above) | Node::kMayBeCut;
  // (9) seq_cst: before (10), so either (10) sees a walk's (7) or the walk's (8) sees the mark.
  // relaxed on failure: the link is shared, and nothing is read.
  return node.link.compare_exchange_strong(link, link | Node::kIsCut, std::memory_order_seq_cst,
                                           std::memory_order_relaxed);
}

// Returns whether no walk is above the node.
template <typename Node>
inline bool has_no_walkers(Node& node) {
  // (10) seq_cst: after (9), see there. acquire: the walks that were counted have ended.
  return walkers_of(node).load(std::memory_order_seq_cst) == 0;
}

// Removes the marked link.
template <typename Node>
inline void end_link(Node& node) {
  // (13) release: publishes what the node knows to (5) and (8)
  node.link.store(0, std::memory_order_release);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONTEXT_LINK_HPP
