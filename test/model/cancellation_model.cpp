// SPDX-License-Identifier: Apache-2.0
// Cancellation in a tree of contexts (src/sched/core/cancellation.hpp): no cancellation is lost,
// none reaches a node outside the cancelled subtree, and no thread reads a node that has been
// destroyed.
#include "sched/core/cancellation.hpp"

#include <memory>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

// A context whose memory may be released.
struct Node {
  enum : std::uint64_t { kCancelled = 1, kOneCancellation = 8 };
  enum : std::uintptr_t { kMayBeCut = 1, kIsCut = 2, kIsShared = 4, kStep = 8 };

  // Every access to the state is also an access to the node's memory.
  struct State {
    Var<int> memory;
    Atomic<std::uint64_t> word{kOneCancellation};

    std::uint64_t load(std::memory_order order) const { return look()->word.load(order); }
    std::uint64_t fetch_or(std::uint64_t bits, std::memory_order order) {
      return look()->word.fetch_or(bits, order);
    }
    bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t value,
                               std::memory_order success, std::memory_order failure) {
      return look()->word.compare_exchange_weak(expected, value, success, failure);
    }
    void store(std::uint64_t value, std::memory_order order) { look()->word.store(value, order); }

   private:
    const State* look() const {
      memory.get();
      return this;
    }
    State* look() {
      memory.get();
      return this;
    }
  };

  // Only the link of a long-lived node changes.
  struct Link {
    std::uintptr_t fixed = 0;
    std::unique_ptr<Atomic<std::uintptr_t>> word;

    std::uintptr_t load(std::memory_order order) const { return word ? word->load(order) : fixed; }
    void store(std::uintptr_t link, std::memory_order order) { word->store(link, order); }
    bool compare_exchange_strong(std::uintptr_t& expected, std::uintptr_t link,
                                 std::memory_order success, std::memory_order failure) {
      return word->compare_exchange_strong(expected, link, success, failure);
    }
  };

  State state;
  Link link;
  std::unique_ptr<Atomic<std::uint32_t>> walkers;

  // Nodes by number, so that all runs are alike.
  static inline Node* all[4];
  static inline int count;
  const int number;

  Node() : number(++count) { all[number % 4] = this; }
  static std::uintptr_t link_to(const Node& node) { return std::uintptr_t(node.number) * kStep; }
  static Node* at(std::uintptr_t link) { return link < kStep ? nullptr : all[link / kStep % 4]; }
  void last(std::uintptr_t first_link) {
    link.word = std::make_unique<Atomic<std::uintptr_t>>(first_link);
    walkers = std::make_unique<Atomic<std::uint32_t>>(0);
  }
};

Atomic<std::uint32_t>& walkers_of(Node& node) { return *node.walkers; }

constexpr int kNumber = 0;  // a location

struct Cancellations : Test {
  Atomic<std::uint64_t> cancellations{Node::kOneCancellation};

  Cancellations() { Node::count = 0; }

  void cancel(Node& node) {
    if (sched::set_cancelled(node)) sched::announce_cancellation<Node>(cancellations);
  }

  // Like thread_data::is_cancelled.
  bool is_cancelled(Node& node) {
    const bool is_current = node.state.load(relaxed) == cancellations.load(relaxed);
    return !is_current && sched::find_cancelled(node, cancellations);
  }
};

// A chain of three nodes, and one node apart.
struct Tree : Cancellations {
  Node root, middle, leaf, other;

  Tree() {
    middle.link.fixed = Node::link_to(root);
    leaf.link.fixed = Node::link_to(middle);
  }
};

// One thread cancels while the others check.
struct CancelAndCheck : Tree {
  explicit CancelAndCheck(bool cancels_other) : cancels_other(cancels_other) {}
  const bool cancels_other;

  void run(int thread) override {
    if (thread == 0) {
      cancel(root);
    } else if (thread == 1) {
      if (is_cancelled(leaf)) check(is_cancelled(leaf), "a cancellation is undone");
    } else if (cancels_other) {
      cancel(other);
    } else {
      is_cancelled(middle);
    }
  }

  void finish() override {
    check(is_cancelled(leaf), "a cancellation is missed");
    check(is_cancelled(middle), "a cancellation is missed");
    check(is_cancelled(other) == cancels_other, "the wrong node is cancelled");
  }
};

// The middle node is cancelled. That does not concern the node above.
struct CancelBelow : Tree {
  void run(int thread) override {
    if (thread == 0) {
      cancel(middle);
    } else {
      is_cancelled(leaf);
      is_cancelled(root);
    }
  }
  void finish() override {
    check(is_cancelled(leaf), "a cancellation is missed");
    check(!is_cancelled(root), "the wrong node is cancelled");
  }
};

// ---- links that may be cut

// A long-lived node with one node below it. It is linked to a node above for a while.
struct Lasting : Cancellations {
  Node above, lasting, below;

  static constexpr int kLink = 4;  // locations: the number, three states, then these two
  static constexpr int kWalkers = 5;

  explicit Lasting(bool linked) {
    lasting.last(linked ? Node::link_to(above) | Node::kMayBeCut : 0);
    below.link.fixed = Node::link_to(lasting);
  }
};

// The call that made the link ends while another thread checks.
struct CutAndCheck : Lasting {
  explicit CutAndCheck(bool cancels) : Lasting(true), cancels(cancels) {
    cancellations.fetch_add(Node::kOneCancellation, relaxed);  // a cancellation of another node
  }
  const bool cancels;

  void run(int thread) override {
    if (thread != 0) {
      sched::find_cancelled(below, cancellations);
      return;
    }
    if (cancels) cancel(above);
    cut();
    if (!has_no_walkers()) return;  // the real code would look again
    above.state.memory.set(1);
    detail::end_link(lasting);
  }
  virtual void cut() {
    sched::find_cancelled(lasting, cancellations);
    detail::mark_cut(lasting, above);
  }
  virtual bool has_no_walkers() { return detail::has_no_walkers(lasting); }

  void finish() override {
    check(is_cancelled(below) == cancels, cancels ? "a cancellation is missed" : "the wrong one");
  }
};

// The owner of a long-lived node cancels and then resets it while another thread checks.
struct ResetAndCheck : Lasting {
  explicit ResetAndCheck(bool linked) : Lasting(linked), linked(linked) {
    cancellations.fetch_add(Node::kOneCancellation, relaxed);  // a cancellation of another node
  }
  const bool linked;
  bool is_reset = false;

  void run(int thread) override {
    if (thread != 0) {
      sched::find_cancelled(lasting, cancellations);
      return;
    }
    cancel(lasting);
    if (linked) {
      detail::mark_cut(lasting, above);
      if (!detail::has_no_walkers(lasting)) return;  // the real code would look again
      detail::end_link(lasting);
    }
    lasting.state.store(cancellations.load(relaxed), relaxed);
    is_reset = true;
  }
  void finish() override {
    if (is_reset) check(!is_cancelled(lasting), "a cancellation comes back");
  }
};

// The link is made while the node above is cancelled and another thread checks below.
struct LinkAndCheck : Lasting {
  LinkAndCheck() : Lasting(false) {}

  void run(int thread) override {
    if (thread == 0) {
      cancel(above);
    } else if (thread == 1) {
      link();
    } else {
      sched::find_cancelled(below, cancellations);
    }
  }
  virtual void link() {
    std::uintptr_t link;
    detail::make_link(lasting, above, &link);
    if (!detail::is_current_now(above, cancellations)) {
      sched::inherit_from(lasting, above, cancellations);
    }
  }

  void finish() override {
    check(is_cancelled(lasting), "a cancellation is missed");
    check(is_cancelled(below), "a cancellation is missed");
  }
};

// Two nodes, each above the other.
struct Circle : Cancellations {
  Node one, other, apart;

  Circle() {
    one.last(Node::link_to(other) | Node::kMayBeCut);
    other.link.fixed = Node::link_to(one);
  }
  void run(int thread) override {
    if (thread == 0) {
      cancel(apart);
    } else {
      check(!sched::find_cancelled(other, cancellations), "the wrong node is cancelled");
    }
  }
  void finish() override {
    check(detail::has_no_walkers(one), "a walk has not ended");
    cancel(one);
    check(is_cancelled(other), "a cancellation is missed");
  }
};

TEST(Cancellation, LinkIsCut) { EXPECT_SOUND((explore<CutAndCheck>(2, nullptr, false))); }
TEST(Cancellation, BeforeTheLinkIsCut) { EXPECT_SOUND((explore<CutAndCheck>(2, nullptr, true))); }
TEST(Cancellation, NodeIsReset) { EXPECT_SOUND((explore<ResetAndCheck>(2, nullptr, false))); }
TEST(Cancellation, NodeIsCutAndReset) { EXPECT_SOUND((explore<ResetAndCheck>(2, nullptr, true))); }
TEST(Cancellation, LinkIsMade) { EXPECT_SOUND((explore<LinkAndCheck>(3, nullptr))); }
TEST(Cancellation, LinksInACircle) { EXPECT_SOUND((explore<Circle>(2, nullptr))); }

TEST(Cancellation, OneChecks) { EXPECT_SOUND((explore<CancelAndCheck>(2, nullptr, false))); }
TEST(Cancellation, TwoCheck) { EXPECT_SOUND((explore<CancelAndCheck>(3, nullptr, false))); }
TEST(Cancellation, TwoCancellations) { EXPECT_SOUND((explore<CancelAndCheck>(3, nullptr, true))); }
TEST(Cancellation, BelowTheRoot) { EXPECT_SOUND((explore<CancelBelow>(2, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(CancellationMutant, NumberIsNotReleased) {
  const Mutation weak = [](Step& step) {
    if (step.location == kNumber && step.op == Op::kFetch) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<CancelAndCheck>(2, weak, false)), "a cancellation is missed");
}

TEST(CancellationMutant, NumberIsNotAcquired) {
  const Mutation weak = [](Step& step) {
    if (step.location == kNumber && step.op == Op::kLoad) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<CancelAndCheck>(2, weak, false)), "a cancellation is missed");
}

// Increments the number before it sets the flag.
struct CountsFirst : CancelAndCheck {
  CountsFirst() : CancelAndCheck(false) {}
  void run(int thread) override {
    if (thread != 0) return CancelAndCheck::run(thread);
    sched::announce_cancellation<Node>(cancellations);
    sched::set_cancelled(root);
  }
};

struct CutsWithoutWaiting : CutAndCheck {
  CutsWithoutWaiting() : CutAndCheck(false) {}
  bool has_no_walkers() override { return true; }
};

TEST(CancellationMutant, CutDoesNotWaitForWalkers) {
  EXPECT_BROKEN((explore<CutsWithoutWaiting>(2, nullptr)), "data race");
}

struct CutsWithoutLooking : CutAndCheck {
  CutsWithoutLooking() : CutAndCheck(true) {}
  void cut() override { detail::mark_cut(lasting, above); }
};

TEST(CancellationMutant, CutDoesNotLook) {
  EXPECT_BROKEN((explore<CutsWithoutLooking>(2, nullptr)), "a cancellation is missed");
}

TEST(CancellationMutant, WalkerIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kWalkers && step.op == Op::kFetch) step.order = relaxed;
    if (step.location == Lasting::kLink && step.op == Op::kLoad) step.order = acquire;
  };
  EXPECT_BROKEN((explore<CutAndCheck>(2, weak, false)), "data race");
}

TEST(CancellationMutant, CutIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kLink && step.op == Op::kCompareExchange) step.order = release;
  };
  EXPECT_BROKEN((explore<CutAndCheck>(2, weak, false)), "data race");
}

// Does not announce the cancellation that it finds: a node below may already have recorded the
// current number, and then does not look again.
struct LinksWithoutAnnouncing : LinkAndCheck {
  void link() override {
    std::uintptr_t link;
    detail::make_link(lasting, above, &link);
    if (sched::find_cancelled(above, cancellations)) sched::set_cancelled(lasting);
  }
};

TEST(CancellationMutant, LinkIsMadeWithoutAnnouncing) {
  EXPECT_BROKEN((explore<LinksWithoutAnnouncing>(3, nullptr)), "a cancellation is missed");
}

TEST(CancellationMutant, LinkIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kLink && step.op == Op::kCompareExchange) step.order = release;
  };
  EXPECT_BROKEN((explore<LinkAndCheck>(3, weak)), "a cancellation is missed");
}

TEST(CancellationMutant, NumberChangesFirst) {
  EXPECT_BROKEN((explore<CountsFirst>(2, nullptr)), "a cancellation is missed");
}

}  // namespace
}  // namespace corbel::model
