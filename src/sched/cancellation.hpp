// SPDX-License-Identifier: Apache-2.0
// Cancelling a node, and finding out whether one is cancelled; see context_node.hpp.
//
// A cancellation sets the flag of its node (1) and then counts the number up (2). A walk reads the
// number (3), goes upwards, and writes down the number where it finds no flag. Either (3) reads
// what (2) wrote, or something later, and the walk sees the flag; or the number that is written
// down is older than the cancellation, and the next check walks again. A late walk that writes an
// older number down than there was only makes the next check walk.
//
// A walk does not stay on a stack, where nodes last: context_link.hpp says how links of others are
// made and cut, and why none of that makes a walk miss something.
// Links may lead in a circle: a task of a group for which nobody waits yet calls an algorithm, in
// whose body somebody waits for the group. A walk stops when it has been round (R. Brent, "An
// Improved Monte Carlo Factorization Algorithm", 1980).
//
// The node and the number are parameters so that a model checker can run this very source
// (test/model/cancellation_model.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include <corbel/detail/context_link.hpp>

namespace corbel::sched {

// Sets the flag; false if it was set already.
template <typename Node>
bool set_cancelled(Node& node) {
  // (1) acq_rel: what the canceller did before is seen by who finds the flag; relaxed would do for
  // the flag alone
  return (node.state.fetch_or(Node::kCancelled, std::memory_order_acq_rel) & Node::kCancelled) == 0;
}

// Behind set_cancelled.
template <typename Node, typename Number>
void announce_cancellation(Number& cancellations) {
  // (2) seq_cst: who sees the new number, with (3), sees the flag set before; see context_link.hpp,
  // too
  cancellations.fetch_add(Node::kOneCancellation, std::memory_order_seq_cst);
}

// Writes down that no cancellation up to `number` concerns the node, unless it has been cancelled
// meanwhile.
template <typename Node>
void write_down(Node& node, std::uint64_t number) {
  std::uint64_t state = node.state.load(std::memory_order_relaxed);  // relaxed: compared below
  while ((state & Node::kCancelled) == 0) {
    const std::uint64_t flags = state & (Node::kOneCancellation - 1);
    // relaxed: says no more than the flags that were seen
    if (node.state.compare_exchange_weak(state, number | flags, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
      return;
    }
  }
}

// The walk goes down from the node above.
template <typename Node>
void come_back(Node& node) {
  // release: what the walk did above, with (10)
  walkers_of(node).fetch_sub(1, std::memory_order_release);
}

// The node above, nullptr if there is none. If the link may be cut it stays until come_back.
template <typename Node>
Node* go_up(Node& node) {
  // (5) seq_cst: with (13), and see context_link.hpp
  std::uintptr_t link = node.link.load(std::memory_order_seq_cst);
  if ((link & Node::kMayBeCut) == 0) return Node::at(link);
  walkers_of(node).fetch_add(1, std::memory_order_seq_cst);  // (7) seq_cst: see there
  link = node.link.load(std::memory_order_seq_cst);          // (8) seq_cst: see there
  if ((link & Node::kMayBeCut) != 0 && (link & Node::kIsCut) == 0) return Node::at(link);
  come_back(node);
  return nullptr;
}

// A walk upwards to the first node that is cancelled, or knows that it is not, or has none above.
template <typename Node>
class Walk {
 public:
  Walk(Node& node, std::uint64_t number) : node_(node), number_(number) {
    Node* n = &node;
    Node* passed = n;  // some time ago
    std::uint64_t steps_to_next = 1;
    for (;;) {
      if (knows(*n)) return;
      Node* const above = go_up(*n);
      if (above == nullptr) {
        // (11) acquire: as (1), behind (5) or (8)
        is_cancelled_ = (n->state.load(std::memory_order_acquire) & Node::kCancelled) != 0;
        if (is_cancelled_) return;  // a flag that is set stays, or who uses the node takes it back
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

  // Writes down what was found, on the same way. A link is needed until the walk has come to the
  // next one of its kind, whose node stays by itself.
  void remember() {
    Node* n = &node_;
    Node* counted = nullptr;
    for (std::uint64_t i = 1; i <= length_; ++i) {
      if (is_cancelled_) {
        set_cancelled(*n);
      } else {
        write_down(*n, number_);
      }
      if (i == length_ && ends_at_root_) break;
      // relaxed: it stays, but for the mark
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
    const std::uint64_t state = n.state.load(std::memory_order_acquire);  // acquire: with (1)
    is_cancelled_ = (state & Node::kCancelled) != 0;
    return is_cancelled_ || (state & ~std::uint64_t{Node::kOneCancellation - 1}) == number_;
  }

  Node& node_;
  const std::uint64_t number_;
  std::uint64_t length_ = 0;   // so many nodes learn something
  bool ends_at_root_ = false;  // the last of them has none above
  bool is_cancelled_ = false;
};

// Whether the node or one above it is cancelled; remembered in all nodes up to that one.
template <typename Node, typename Number>
bool find_cancelled(Node& node, const Number& cancellations) {
  // (3) seq_cst: with (2), and see context_link.hpp
  Walk<Node> walk(node, cancellations.load(std::memory_order_seq_cst));
  walk.remember();
  return walk.is_cancelled();
}

// Behind detail::make_link: what the node above knows holds below it, too, from now on. Nodes there
// may have the current number already.
template <typename Node, typename Number>
void take_over(Node& node, Node& above, Number& cancellations) {
  if (find_cancelled(above, cancellations) && set_cancelled(node)) {
    announce_cancellation<Node>(cancellations);
  }
}

}  // namespace corbel::sched
