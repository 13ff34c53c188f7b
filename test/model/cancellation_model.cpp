// SPDX-License-Identifier: Apache-2.0
// Cancellation of a tree of contexts (src/sched/cancellation.hpp): none is missed for good, none
// comes to a node that it does not concern, and nobody looks at a node that has gone.
#include "sched/cancellation.hpp"

#include <memory>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

// A node in memory that may go.
struct Node {
  enum : std::uint64_t { kCancelled = 1, kOneCancellation = 8 };
  enum : std::uintptr_t { kMayBeCut = 1, kIsCut = 2, kIsShared = 4, kStep = 8 };

  // Every use of the state is one of the node's memory.
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

  // Only that of a lasting node changes.
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

  // By their numbers, so that all runs are alike.
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

  // As worker::is_cancelled.
  bool is_cancelled(Node& node) {
    const bool is_current = node.state.load(relaxed) == cancellations.load(relaxed);
    return !is_current && sched::find_cancelled(node, cancellations);
  }
};

// A node with two below it, and one that stands apart.
struct Tree : Cancellations {
  Node root, middle, leaf, other;

  Tree() {
    middle.link.fixed = Node::link_to(root);
    leaf.link.fixed = Node::link_to(middle);
  }
};

// One thread cancels while others ask.
struct CancelAndAsk : Tree {
  explicit CancelAndAsk(bool cancels_other) : cancels_other(cancels_other) {}
  const bool cancels_other;

  void run(int thread) override {
    if (thread == 0) {
      cancel(root);
    } else if (thread == 1) {
      if (is_cancelled(leaf)) check(is_cancelled(leaf), "a cancellation is taken back");
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

// The node in the middle is cancelled: the one above is not concerned.
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

// A lasting node with one below it, which is linked to one above for a while.
struct Lasting : Cancellations {
  Node above, lasting, below;

  static constexpr int kLink = 4;  // locations: the number, three states, and these
  static constexpr int kWalkers = 5;

  explicit Lasting(bool linked) {
    lasting.last(linked ? Node::link_to(above) | Node::kMayBeCut : 0);
    below.link.fixed = Node::link_to(lasting);
  }
};

// The call that has made the link ends while somebody else asks.
struct CutAndAsk : Lasting {
  explicit CutAndAsk(bool cancels) : Lasting(true), cancels(cancels) {
    cancellations.fetch_add(Node::kOneCancellation, relaxed);  // of another node
  }
  const bool cancels;

  void run(int thread) override {
    if (thread != 0) {
      sched::find_cancelled(below, cancellations);
      return;
    }
    if (cancels) cancel(above);
    cut();
    if (!is_deserted()) return;  // it would look again
    above.state.memory.set(1);
    detail::end_link(lasting);
  }
  virtual void cut() {
    sched::find_cancelled(lasting, cancellations);
    detail::mark_cut(lasting, above);
  }
  virtual bool is_deserted() { return detail::is_deserted(lasting); }

  void finish() override {
    check(is_cancelled(below) == cancels, cancels ? "a cancellation is missed" : "the wrong one");
  }
};

// Whoever uses a lasting node cancels it and makes it as new, while somebody else asks.
struct RenewAndAsk : Lasting {
  explicit RenewAndAsk(bool linked) : Lasting(linked), linked(linked) {
    cancellations.fetch_add(Node::kOneCancellation, relaxed);  // of another node
  }
  const bool linked;
  bool is_renewed = false;

  void run(int thread) override {
    if (thread != 0) {
      sched::find_cancelled(lasting, cancellations);
      return;
    }
    cancel(lasting);
    if (linked) {
      detail::mark_cut(lasting, above);
      if (!detail::is_deserted(lasting)) return;  // it would look again
      detail::end_link(lasting);
    }
    lasting.state.store(cancellations.load(relaxed), relaxed);
    is_renewed = true;
  }
  void finish() override {
    if (is_renewed) check(!is_cancelled(lasting), "a cancellation comes back");
  }
};

// The link is made while the node above is cancelled and somebody asks below.
struct LinkAndAsk : Lasting {
  LinkAndAsk() : Lasting(false) {}

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
      sched::take_over(lasting, above, cancellations);
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
    check(detail::is_deserted(one), "a walk has not come back");
    cancel(one);
    check(is_cancelled(other), "a cancellation is missed");
  }
};

TEST(Cancellation, LinkIsCut) { EXPECT_SOUND((explore<CutAndAsk>(2, nullptr, false))); }
TEST(Cancellation, BeforeTheLinkIsCut) { EXPECT_SOUND((explore<CutAndAsk>(2, nullptr, true))); }
TEST(Cancellation, NodeIsRenewed) { EXPECT_SOUND((explore<RenewAndAsk>(2, nullptr, false))); }
TEST(Cancellation, NodeIsCutAndRenewed) { EXPECT_SOUND((explore<RenewAndAsk>(2, nullptr, true))); }
TEST(Cancellation, LinkIsMade) { EXPECT_SOUND((explore<LinkAndAsk>(3, nullptr))); }
TEST(Cancellation, LinksInACircle) { EXPECT_SOUND((explore<Circle>(2, nullptr))); }

TEST(Cancellation, OneAsks) { EXPECT_SOUND((explore<CancelAndAsk>(2, nullptr, false))); }
TEST(Cancellation, TwoAsk) { EXPECT_SOUND((explore<CancelAndAsk>(3, nullptr, false))); }
TEST(Cancellation, TwoCancellations) { EXPECT_SOUND((explore<CancelAndAsk>(3, nullptr, true))); }
TEST(Cancellation, BelowTheRoot) { EXPECT_SOUND((explore<CancelBelow>(2, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(CancellationMutant, NumberThatPublishesNothing) {
  const Mutation weak = [](Step& step) {
    if (step.location == kNumber && step.op == Op::kFetch) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<CancelAndAsk>(2, weak, false)), "a cancellation is missed");
}

TEST(CancellationMutant, NumberThatIsNotAcquired) {
  const Mutation weak = [](Step& step) {
    if (step.location == kNumber && step.op == Op::kLoad) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<CancelAndAsk>(2, weak, false)), "a cancellation is missed");
}

// The number is counted up before the flag is set.
struct CountsFirst : CancelAndAsk {
  CountsFirst() : CancelAndAsk(false) {}
  void run(int thread) override {
    if (thread != 0) return CancelAndAsk::run(thread);
    sched::announce_cancellation<Node>(cancellations);
    sched::set_cancelled(root);
  }
};

struct CutsWithoutWaiting : CutAndAsk {
  CutsWithoutWaiting() : CutAndAsk(false) {}
  bool is_deserted() override { return true; }
};

TEST(CancellationMutant, CutThatDoesNotWaitForWalkers) {
  EXPECT_BROKEN((explore<CutsWithoutWaiting>(2, nullptr)), "data race");
}

struct CutsWithoutLooking : CutAndAsk {
  CutsWithoutLooking() : CutAndAsk(true) {}
  void cut() override { detail::mark_cut(lasting, above); }
};

TEST(CancellationMutant, CutThatDoesNotLook) {
  EXPECT_BROKEN((explore<CutsWithoutLooking>(2, nullptr)), "a cancellation is missed");
}

TEST(CancellationMutant, WalkerThatIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kWalkers && step.op == Op::kFetch) step.order = relaxed;
    if (step.location == Lasting::kLink && step.op == Op::kLoad) step.order = acquire;
  };
  EXPECT_BROKEN((explore<CutAndAsk>(2, weak, false)), "data race");
}

TEST(CancellationMutant, CutThatIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kLink && step.op == Op::kCompareExchange) step.order = release;
  };
  EXPECT_BROKEN((explore<CutAndAsk>(2, weak, false)), "data race");
}

// Whoever is below has the current number already.
struct LinksInSilence : LinkAndAsk {
  void link() override {
    std::uintptr_t link;
    detail::make_link(lasting, above, &link);
    if (sched::find_cancelled(above, cancellations)) sched::set_cancelled(lasting);
  }
};

TEST(CancellationMutant, LinkIsMadeInSilence) {
  EXPECT_BROKEN((explore<LinksInSilence>(3, nullptr)), "a cancellation is missed");
}

TEST(CancellationMutant, LinkThatIsNotOrdered) {
  const Mutation weak = [](Step& step) {
    if (step.location == Lasting::kLink && step.op == Op::kCompareExchange) step.order = release;
  };
  EXPECT_BROKEN((explore<LinkAndAsk>(3, weak)), "a cancellation is missed");
}

TEST(CancellationMutant, NumberComesFirst) {
  EXPECT_BROKEN((explore<CountsFirst>(2, nullptr)), "a cancellation is missed");
}

}  // namespace
}  // namespace corbel::model
