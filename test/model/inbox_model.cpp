// SPDX-License-Identifier: Apache-2.0
// The inbox (src/sync/inbox.hpp) as src/alloc/heap/remote.cpp and src/alloc/heap/thread.cpp use it:
// in any interleaving, each pushed element is received once, by a thread that may touch it.
#include "sync/inbox.hpp"

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
using Inbox = sync::BasicInbox<Atomic>;

// The memory locations of the inbox. It is the first member of the tests.
constexpr int kChains = 0;
constexpr int kState = 1;

// The bits of the sender's links that are not address bits.
constexpr std::uintptr_t kKept = 5 | std::uintptr_t(5) << 48;

struct alignas(8) Element {
  std::uintptr_t link = kKept;
  // Stands for the whole element, its link included. The sender writes it before the push. The
  // receiver reads it and writes it again, like a thread that frees a block.
  Var<int> content;
};

struct InboxTest : Test {
  explicit InboxTest(Inbox::State state) : inbox(state) {}

  Inbox inbox;
  Mutex orphans_lock;
  Var<int> orphan_heap;  // written while the lock is held
  std::array<Element, 4> elements;
  std::array<int, 4> sent{};
  std::array<int, 4> received{};

  static std::uintptr_t address(Element& e) { return reinterpret_cast<std::uintptr_t>(&e); }

  // send() of remote.cpp, for the chain of the elements first..last.
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
      check((e.link & ~Inbox::kAddressMask) == kKept, "the other bits of a link are lost");
      e.content.set(0);
      heap.set(heap.get() + 1);
      ++received[std::size_t(number) - 1];
      link = e.link;
    }
  }

  // detach_heap() of thread.cpp. `kTakesTooEarly` and `kLooksFirst` are mutants.
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
    check(inbox.take_all() == 0, "a chain is lost: no thread will look for it");
    for (std::size_t i = 0; i < elements.size(); ++i) {
      check(received[i] == sent[i], "an element is lost, or received twice");
    }
  }
};

// An owner receives, then leaves. Two threads send.
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

// The owner leaves its heap to another thread, which may leave it, too.
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
    // A live owner will look again.
    if (inbox.state() == Inbox::kLive) receive_into(heap);
    InboxTest::finish();
  }
};

// The inbox of the orphans: its owner is the thread that holds the lock.
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

// The memory orders of the source, each of which a mutant weakens.
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
TEST(Inbox, OwnerLeavesSenderSendsAgain) {
  EXPECT_SOUND((explore<OwnerLeaves>(3, nullptr, InboxTest::kRight, true)));
}
TEST(Inbox, HeapChangesHands) { EXPECT_SOUND((explore<HeapChangesHands>(3, nullptr, false))); }
TEST(Inbox, HeapChangesHandsTwice) { EXPECT_SOUND((explore<HeapChangesHands>(3, nullptr, true))); }
TEST(Inbox, SharedInbox) { EXPECT_SOUND((explore<SharedInbox>(3, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(InboxMutant, PushDoesNotRelease) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.push = acquire}))), "data race");
  EXPECT_BROKEN((explore<SharedInbox>(3, with({.push = relaxed}))), "data race");
}

TEST(InboxMutant, TakeDoesNotAcquire) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.take = release}))), "data race");
  EXPECT_BROKEN((explore<SharedInbox>(3, with({.take = relaxed}))), "data race");
}

TEST(InboxMutant, PushDoesNotSeeTheTakeBeforeIt) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.push = release}))), "a chain is lost");
}

TEST(InboxMutant, TakeDoesNotReleaseTheState) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, with({.take = acquire}))), "a chain is lost");
}

// The protocol as plain message passing: every store releases, every load acquires.
TEST(InboxMutant, StateReadBeforeThePushIsSeen) {
  const Mutation weak = with({release, acquire, acquire, release});
  EXPECT_BROKEN((explore<OwnerLeaves>(3, weak)), "a chain is lost");
  EXPECT_BROKEN((explore<HeapChangesHands>(3, weak, true)), "a chain is lost");
}

TEST(InboxMutant, OwnerTakesBeforeItAnnouncesThatItLeaves) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, nullptr, InboxTest::kTakesTooEarly)), "a chain is lost");
}

// has_any() is relaxed: it may overlook a chain that only the owner can still find.
TEST(InboxMutant, OwnerOnlyChecksBeforeItLeaves) {
  EXPECT_BROKEN((explore<OwnerLeaves>(3, nullptr, InboxTest::kLooksFirst)), "a chain is lost");
}

// The owner leaves without changing the state.
TEST(InboxMutant, StateStaysLive) {
  const Mutation stays = [](Step& step) {
    if (step.location == kState && step.op == Op::kStore) step.operand = Inbox::kLive;
  };
  EXPECT_BROKEN((explore<OwnerLeaves>(3, stays)), "a chain is lost");
}

}  // namespace
}  // namespace corbel::model
