// SPDX-License-Identifier: Apache-2.0
// Cancelling a node, and finding out whether one is cancelled; see context_node.hpp.
//
// A cancellation sets its node's flag (1), then increments the number (2). A walk reads the number
// (3), goes up, and records the number in each node where it finds no flag. Either (3) reads what
// (2) or a later cancellation wrote, and the walk sees the flag; or the recorded number is older
// than the cancellation, and the next check walks again. A late walk may replace a number by an
// older one; that only makes the next check walk again.
//
// The nodes on a stack outlast every walk through them. A walk may also reach nodes of contexts of
// the program: context_link.hpp says how the links of those nodes are made and cut, and why no walk
// misses a cancellation because of that. Links can form a cycle: a task of a group that no thread
// waits for yet calls an algorithm, whose body waits for the group. A walk stops after one round
// (R. Brent, "An Improved Monte Carlo Factorization Algorithm", 1980).
//
// The node and the number are parameters, so that a model checker can run this very source
// (test/model/cancellation_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include <corbel/detail/context_link.hpp>

namespace corbel {

namespace detail {

// The number: how many cancellations there have been; see context_node.
extern std::atomic<std::uint64_t> cancellations;

}  // namespace detail

namespace sched {

// Sets the flag. Returns false if it was set already.
template <typename Node>
bool set_cancelled(Node& node) {
  // (1) acq_rel: a walk that finds the flag, with (4) or (11), sees what the canceller did before;
  // relaxed would do for the flag alone
  return (node.state.fetch_or(Node::kCancelled, std::memory_order_acq_rel) & Node::kCancelled) == 0;
}

// After set_cancelled.
template <typename Node, typename Number>
void announce_cancellation(Number& cancellations) {
  // (2) seq_cst: a walk that reads the new number in (3) sees the flag of (1). Either (3) is after
  // it in the total order, or the walk records an older number. context_link.hpp needs the order
  // with (5), (8), (12) and (14).
  cancellations.fetch_add(Node::kOneCancellation, std::memory_order_seq_cst);
}

// Records that no cancellation up to `number` concerns the node, unless it has been cancelled
// meanwhile.
template <typename Node>
void record_number(Node& node, std::uint64_t number) {
  std::uint64_t state = node.state.load(std::memory_order_relaxed);  // relaxed: compared below
  while ((state & Node::kCancelled) == 0) {
    const std::uint64_t flags = state & (Node::kOneCancellation - 1);
    // relaxed: the number tells no more than the flags that the walk has seen
    if (node.state.compare_exchange_weak(state, number | flags, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
      return;
    }
  }
}

// Called when a walk comes back down from the node above.
template <typename Node>
void come_back(Node& node) {
  // (6) release: what the walk did above is before (10), which lets the link be cut
  walkers_of(node).fetch_sub(1, std::memory_order_release);
}

// The node above; nullptr if there is none. A link that may be cut stays until come_back.
template <typename Node>
Node* go_up(Node& node) {
  // (5) seq_cst: sees what the node knew at (13). Either the link (12) is before it and is
  // followed, or it is after it, and its maker reads the number that this walk read in (3), or a
  // later one: in (14), or in (3) of its own walk.
  std::uintptr_t link = node.link.load(std::memory_order_seq_cst);
  if ((link & Node::kMayBeCut) == 0) return Node::at(link);
  // (7) seq_cst: either it is before (10), and the thread that cuts waits for come_back; or (8)
  // sees the mark that (9) set
  walkers_of(node).fetch_add(1, std::memory_order_seq_cst);
  // (8) seq_cst: pairs with (9), see (7), and with (12), see (5)
  link = node.link.load(std::memory_order_seq_cst);
  if ((link & Node::kMayBeCut) != 0 && (link & Node::kIsCut) == 0) return Node::at(link);
  come_back(node);
  return nullptr;
}

// A walk up to the first node that is cancelled, or knows that it is not, or has none above it.
template <typename Node>
class Walk {
 public:
  Walk(Node& node, std::uint64_t number) : node_(node), number_(number) {
    Node* n = &node;
    Node* passed = n;  // some steps ago
    std::uint64_t steps_to_next = 1;
    for (;;) {
      if (knows(*n)) return;
      Node* const above = go_up(*n);
      if (above == nullptr) {
        // (11) acquire: sees what was done before (1). After (5) or (8), so that it sees a flag
        // that was set before the link was cut.
        is_cancelled_ = (n->state.load(std::memory_order_acquire) & Node::kCancelled) != 0;
        if (is_cancelled_) return;  // a set flag stays until the node's user resets it
        ++length_;
        ends_at_root_ = true;
        return;
      }
      ++length_;
      n = above;
      if (n == passed) return;
      if (length_ == steps_to_next) {
        passed = n;
        steps_to_next *= 2;
      }
    }
  }

  bool is_cancelled() const { return is_cancelled_; }

  // Records the result in the nodes that the walk passed. The walk stays counted at a link that may
  // be cut until it has reached the next such link, whose node does not depend on the first one.
  void remember() {
    Node* n = &node_;
    Node* counted = nullptr;
    for (std::uint64_t i = 1; i <= length_; ++i) {
      if (is_cancelled_) {
        set_cancelled(*n);
      } else {
        record_number(*n, number_);
      }
      if (i == length_ && ends_at_root_) break;
      // relaxed: nothing but the mark can change
      const std::uintptr_t link = n->link.load(std::memory_order_relaxed);
      if ((link & Node::kMayBeCut) != 0) {
        if (counted != nullptr) come_back(*counted);
        counted = n;
      }
      n = Node::at(link);
    }
    if (counted != nullptr) come_back(*counted);
  }

 private:
  bool knows(const Node& n) {
    // (4) acquire: sees what was done before (1)
    const std::uint64_t state = n.state.load(std::memory_order_acquire);
    is_cancelled_ = (state & Node::kCancelled) != 0;
    return is_cancelled_ || (state & ~std::uint64_t{Node::kOneCancellation - 1}) == number_;
  }

  Node& node_;
  const std::uint64_t number_;
  std::uint64_t length_ = 0;   // the number of nodes that the result is recorded in
  bool ends_at_root_ = false;  // the last of them has none above
  bool is_cancelled_ = false;
};

// Returns whether the node or one above it is cancelled, and records that in all nodes up to that
// one.
template <typename Node, typename Number>
bool find_cancelled(Node& node, const Number& cancellations) {
  // (3) seq_cst: pairs with (2), see there; in one total order with (5), (8), (12) and (14) for
  // context_link.hpp
  Walk<Node> walk(node, cancellations.load(std::memory_order_seq_cst));
  walk.remember();
  return walk.is_cancelled();
}

// Called after detail::make_link: from now on a cancellation of the node above concerns this one
// too. Nodes below it may have recorded the current number already.
template <typename Node, typename Number>
void inherit_from(Node& node, Node& above, Number& cancellations) {
  if (find_cancelled(above, cancellations) && set_cancelled(node)) {
    announce_cancellation<Node>(cancellations);
  }
}

}  // namespace sched
}  // namespace corbel
