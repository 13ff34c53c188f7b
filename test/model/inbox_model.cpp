// SPDX-License-Identifier: Apache-2.0
// The inbox (src/sync/inbox.hpp), as src/alloc/remote.cpp and src/alloc/thread.cpp use it: whatever
// the threads do, each element pushed is received once, by one who may touch it.
#include "sync/inbox.hpp"

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
using Inbox = sync::BasicInbox<Atomic>;

// The locations of the inbox: it is the first member of the tests.
constexpr int kChains = 0;
constexpr int kState = 1;

// What the sender has in its links besides the address.
constexpr std::uintptr_t kKept = 5 | std::uintptr_t(5) << 48;

struct alignas(8) Element {
  std::uintptr_t link = kKept;
  // Stands for the whole element, its link included: the sender writes it before the push, the
  // receiver reads it, and writes it again, as who frees a block does.
  Var<int> content;
};

struct InboxTest : Test {
  explicit InboxTest(Inbox::State state) : inbox(state) {}

  Inbox inbox;
  Mutex orphans_lock;
  Var<int> orphan_heap;  // written with the lock held
  std::array<Element, 4> elements;
  std::array<int, 4> sent{};
  std::array<int, 4> received{};

  static std::uintptr_t address(Element& e) { return reinterpret_cast<std::uintptr_t>(&e); }

  // send() of remote.cpp, with a chain of the elements first..last.
  void send(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) {
      elements[i].content.set(int(i) + 1);
      if (i < last) elements[i].link |= address(elements[i + 1]);
      ++sent[i];
    }
    if (!inbox.push(address(elements[first]), &elements[last].link)) return;
    MutexGuard guard(orphans_lock);
    receive_into(orphan_heap);
  }

  void receive_into(Var<int>& heap) {
    std::uintptr_t link = inbox.take_all();
    while ((link & Inbox::kAddressMask) != 0) {
      Element& e = *reinterpret_cast<Element*>(link & Inbox::kAddressMask);
      const int number = e.content.get();
      check(number == int(&e - elements.data()) + 1, "an element is received twice");
      check((e.link & ~Inbox::kAddressMask) == kKept,
            "what a link has besides the address is lost");
      e.content.set(0);
      heap.set(heap.get() + 1);
      ++received[std::size_t(number) - 1];
      link = e.link;
    }
  }

  // detach_heap() of thread.cpp; `kTakesTooEarly` and `kLooksFirst` are mutants.
  enum Leaving { kRight, kTakesTooEarly, kLooksFirst };
  void leave(Leaving how) {
    if (how == kTakesTooEarly) {
      {
        MutexGuard guard(orphans_lock);
        receive_into(orphan_heap);
      }
      inbox.set_state(Inbox::kIdle);
      return;
    }
    inbox.set_state(Inbox::kIdle);
    if (how == kLooksFirst && !inbox.has_any()) return;
    MutexGuard guard(orphans_lock);
    receive_into(orphan_heap);
  }

  void finish() override {
    check(inbox.take_all() == 0, "a chain is lost: nobody will look for it");
    for (std::size_t i = 0; i < elements.size(); ++i) {
      check(received[i] == sent[i], "an element is lost, or received twice");
    }
  }
};

// An owner at work, who then leaves, and two senders.
struct OwnerLeaves : InboxTest {
  explicit OwnerLeaves(Leaving how = kRight, bool again = false)
      : InboxTest(Inbox::kLive), how(how), again(again) {}
  const Leaving how;
  const bool again;  // whether one sender sends twice
  Var<int> heap;

  void run(int thread) override {
    if (thread == 0) {
      if (inbox.has_any()) receive_into(heap);
      leave(how);
    } else if (thread == 1) {
      send(0, 1);
      if (again) send(3, 3);
    } else {
      send(2, 2);
    }
  }
};

// The owner leaves its heap to the next one, who may leave it, too.
struct HeapChangesHands : InboxTest {
  explicit HeapChangesHands(bool leaves_too) : InboxTest(Inbox::kLive), leaves_too(leaves_too) {}
  const bool leaves_too;
  Mutex registry_lock;
  Var<bool> is_idle;
  Var<int> heap;

  bool take_idle() {
    MutexGuard guard(registry_lock);
    const bool found = is_idle.get();
    is_idle.set(false);
    return found;
  }

  void run(int thread) override {
    if (thread == 0) {
      heap.set(heap.get() + 1);
      leave(kRight);
      MutexGuard guard(registry_lock);
      is_idle.set(true);
    } else if (thread == 1) {
      if (!take_idle()) return;
      inbox.set_state(Inbox::kLive);
      receive_into(heap);
      if (leaves_too) leave(kRight);
    } else {
      send(0, 0);
      send(1, 2);
    }
  }

  void finish() override {
    // An owner that is still there looks again.
    if (inbox.state() == Inbox::kLive) receive_into(heap);
    InboxTest::finish();
  }
};

// The inbox of the orphans has no owner but the lock.
struct SharedInbox : InboxTest {
  SharedInbox() : InboxTest(Inbox::kShared) {}

  void run(int thread) override {
    if (thread == 0) {
      MutexGuard guard(orphans_lock);
      receive_into(orphan_heap);
    } else {
      send(std::size_t(thread) - 1, std::size_t(thread) - 1);
    }
  }
};

// The orders of the source, to be weakened one by one.
struct Orders {
  std::memory_order push = acq_rel;        // (1)
  std::memory_order take = acq_rel;        // (2)
  std::memory_order read_state = relaxed;  // (3)
  std::memory_order set_state = relaxed;   // (4)
};

Mutation with(const Orders& orders) {
  return [orders](Step& step) {
    if (step.location == kChains && step.op == Op::kCompareExchange) step.order = orders.push;
    if (step.location == kChains && step.op == Op::kExchange) step.order = orders.take;
    if (step.location == kState && step.op == Op::kLoad) step.order = orders.read_state;
    if (step.location == kState && step.op == Op::kStore) step.order = orders.set_state;
  };
}

TEST(Inbox, OwnerLeaves) { EXPECT_SOUND((explore<OwnerLeaves>(3, nullptr))); }
TEST(Inbox, OwnerLeavesSenderGoesOn) {
  EXPECT_SOUND((explore<OwnerLeaves>(3, nullptr, InboxTest::kRight, true)));
}
TEST(Inbox, HeapChangesHands) { EXPECT_SOUND((explore<HeapChangesHands>(3, nullptr, false))); }
TEST(Inbox, HeapChangesHandsTwice) { EXPECT_SOUND((explore<HeapChangesHands>(3, nullptr, true))); }
TEST(Inbox, SharedInbox) { EXPECT_SOUND((explore<SharedInbox>(3, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(InboxMutant, PushThatPublishesNothing) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.push = acquire}))), "data race");
  EXPECT_BROKEN((explore<SharedInbox>(3, with({.push = relaxed}))), "data race");
}

TEST(InboxMutant, TakeThatAcquiresNothing) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.take = release}))), "data race");
  EXPECT_BROKEN((explore<SharedInbox>(3, with({.take = relaxed}))), "data race");
}

TEST(InboxMutant, PushThatDoesNotSeeTheTakeBefore) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.push = release}))), "a chain is lost");
}

TEST(InboxMutant, TakeThatDoesNotPublishTheState) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.take = acquire}))), "a chain is lost");
}

// A message-passing reading of the protocol: every store releases, every load acquires.
TEST(InboxMutant, StateReadBeforeThePushIsSeen) {
  const Mutation weak = with({release, acquire, acquire, release});
  EXPECT_BROKEN((explore<OwnerLeaves>(3, weak)), "a chain is lost");
  EXPECT_BROKEN((explore<HeapChangesHands>(3, weak, true)), "a chain is lost");
}

TEST(InboxMutant, OwnerTakesBeforeItSaysThatItLeaves) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, nullptr, InboxTest::kTakesTooEarly)), "a chain is lost");
}

// has_any() is relaxed: it may overlook the chain that only the owner can still find.
TEST(InboxMutant, OwnerOnlyLooksBeforeItLeaves) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, nullptr, InboxTest::kLooksFirst)), "a chain is lost");
}

// The owner that leaves does not say so.
TEST(InboxMutant, StateStaysLive) {
  const Mutation stays = [](Step& step) {
    if (step.location == kState && step.op == Op::kStore) step.operand = Inbox::kLive;
  };
  EXPECT_BROKEN((explore<OwnerLeaves>(3, stays)), "a chain is lost");
}

}  // namespace
}  // namespace corbel::model
