// SPDX-License-Identifier: Apache-2.0
// The capacity of concurrent_bounded_queue and waiting in it (include/corbel/detail/
// bounded_core.hpp, queue_waiters.hpp): no thread sleeps forever, the capacity holds, no push is
// refused while there is room, and abort ends the waits that began before it.
#include <corbel/detail/bounded_core.hpp>

#include <algorithm>
#include <cstdlib>

#include "queue_model.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
using Core = detail::bounded_core<Segments, Atomic, QueueSystem>;

// '+' pushes, '-' pops, both may wait; 'p' and 'q' try to; 'P' tries to push, which must succeed;
// '0' expects no element; '1' sets the capacity to 1. 'A' and 'B' abort if a pop, or a push, is
// counted as waiting; otherwise they push, or pop, which ends the wait. An aborted thread ends.
struct Script {
  int capacity;
  int pushes_before;
  int pops_before;
  std::array<const char*, 3> acts;
  int failed_pushes_before = 0;
};

struct Waiting : QueueTest {
  explicit Waiting(const Script& s) : script(s), core(*new(core_storage) Core) {
    set_up(s.pushes_before, s.pops_before);
    core.set_capacity(queue, s.capacity);
    for (int i = 0; i < s.failed_pushes_before; ++i) queue.give_up(queue.claim());
  }
  const Script script;
  alignas(Core) std::byte core_storage[sizeof(Core)];
  Core& core;

  void complete(Segments::slot claimed) {
    Core::push_end at_end(core, queue, claimed);
    ++pushed[1];
    queue.complete(claimed, 1);
    QueueSystem::pushed();
    at_end.is_made = true;
  }
  void remove(Segments::slot claimed) {
    Popped result;
    queue.remove(claimed, result);
    ++popped[std::size_t(result.value)];
  }

  void act(char what) {
    Segments::slot claimed;
    switch (what) {
      case '+':
        return complete(core.claim(queue));
      case '-':
        return remove(core.claim_element(queue));
      case 'p':
        if (core.try_claim(queue, claimed)) complete(claimed);
        return;
      case 'P':
        if (core.try_claim(queue, claimed)) return complete(claimed);
        return check(false, "a push was refused though there was room");
      case 'q':
        if (core.try_claim_element(queue, claimed)) remove(claimed);
        return;
      case '0':
        return check(queue.empty(), "the queue is not empty");
      case 'A':
        return core.size(queue) < 0 ? core.abort() : act('+');
      case 'B':
        return core.size(queue) > script.capacity ? core.abort() : act('-');
      case '1':
        return core.set_capacity(queue, 1);
      default:
        check(false, "no such act");
    }
  }

  void run(int thread) override {
    try {
      for (const char* c = script.acts[std::size_t(thread)]; *c != 0; ++c) act(*c);
    } catch (const user_abort&) {
    }
  }

  void finish() override {
    check(core.size(queue) == std::ptrdiff_t(queue.size()), "a thread is still counted");
    check(script.capacity < 0 || std::ptrdiff_t(queue.size()) <= std::max(script.capacity, 1),
          "the capacity is exceeded");
    check(queue.tail_position() - queue.head_position() == queue.size(),
          "a refused push has claimed a slot");
    QueueTest::finish();
  }
};

Result run(Script script, const Mutation& mutation = nullptr) {
  return explore<Waiting>(script.acts[2] != nullptr ? 3 : 2, mutation, script);
}

TEST(BoundedQueue, PopWaits) { EXPECT_SOUND(run({-1, 1, 1, {"+", "-"}})); }
TEST(BoundedQueue, PushWaits) { EXPECT_SOUND(run({1, 1, 0, {"+", "-"}})); }
TEST(BoundedQueue, Abort) { EXPECT_SOUND(run({-1, 1, 1, {"A", "-"}})); }
TEST(BoundedQueue, PushIsAborted) { EXPECT_SOUND(run({1, 1, 0, {"B", "+"}})); }
TEST(BoundedQueue, LargerCapacity) { EXPECT_SOUND(run({0, 1, 1, {"1", "+"}})); }
TEST(BoundedQueue, HandsOver) { EXPECT_SOUND(run({0, 1, 1, {"+", "-"}})); }
TEST(BoundedQueue, TryPushAtTheLimit) { EXPECT_SOUND(run({1, 1, 1, {"p", "p"}})); }
// With ./dev test --full: a minute and a half. The mutants below fail at once.
TEST(BoundedQueue, TryPushBesideAWaitingPop) {
  if (std::getenv("CORBEL_FULL_TESTS") == nullptr) GTEST_SKIP() << "only with --full";
  EXPECT_SOUND(run({1, 1, 1, {"-", "ppp"}}));
}
TEST(BoundedQueue, TryPushAtTheEndOfASegment) { EXPECT_SOUND(run({1, 2, 2, {"p", "p"}})); }
// The slot of a push that has failed is no element, not even while a pop skips it.
TEST(BoundedQueue, TryPushBesideASkippedSlot) { EXPECT_SOUND(run({1, 1, 1, {"P", "q"}, 1})); }
// Two of them: beside one, the push finds room before it waits.
TEST(BoundedQueue, PushBesideSkippedSlots) { EXPECT_SOUND(run({1, 0, 0, {"+", "q"}, 2})); }
TEST(BoundedQueue, EmptyBesideASkippedSlot) { EXPECT_SOUND(run({1, 1, 1, {"0", "q"}, 1})); }
// At each moment there is room: one element of two, none, none of one.
TEST(BoundedQueue, TryPushBesideASmallerCapacity) { EXPECT_SOUND(run({2, 1, 0, {"P", "q1"}})); }
TEST(BoundedQueue, TryPushBesideASmallerCapacityAtTheEnd) {
  EXPECT_SOUND(run({2, 2, 1, {"P", "q1"}}));
}

// ---- mutants: each must fail -----------------------------------------------------------------

// The locations of the core: it follows the queue and the word of the model's pushes.
enum CoreLocation {
  kCapacity = kQueueLocations + 1,
  kConsumersWord,
  kConsumersCount,
  kProducersWord,
  kProducersCount
};

Mutation leave_out(int location, Op op, std::uint64_t operand) {
  return [=](Step& step) {
    if (step.location == location && step.op == op && step.operand == operand) {
      step.op = Op::kNothing;
    }
  };
}

Mutation make_relaxed(int location, Op op, std::memory_order from) {
  return [=](Step& step) {
    if (step.location == location && step.op == op && step.order == from) step.order = relaxed;
  };
}

TEST(BoundedQueueMutant, ConsumerSetsNoMark) {
  const Mutation quiet = leave_out(kTail, Op::kFetch, 1);
  EXPECT_BROKEN(run({-1, 1, 1, {"+", "-"}}, quiet), "deadlock");
}
TEST(BoundedQueueMutant, ProducerSetsNoMark) {
  const Mutation quiet = leave_out(kHead, Op::kFetch, std::uint64_t(1) << 63);
  EXPECT_BROKEN(run({1, 1, 0, {"+", "-"}}, quiet), "deadlock");
}
TEST(BoundedQueueMutant, SignalIsNotGiven) {
  const Mutation quiet = leave_out(kConsumersWord, Op::kFetch, 1);
  EXPECT_BROKEN(run({-1, 1, 1, {"+", "-"}}, quiet), "deadlock");
}
TEST(BoundedQueueMutant, AbortChangesNothing) {
  const Mutation quiet = leave_out(kConsumersWord, Op::kFetch, 2);
  EXPECT_BROKEN(run({-1, 1, 1, {"A", "-"}}, quiet), "deadlock");
}
TEST(BoundedQueueMutant, HeadIsThoughtToBeAhead) {
  const Mutation ahead = [](Step& step) {
    if (step.location == kKnownHead && step.op == Op::kStore) ++step.operand;
  };
  EXPECT_BROKEN(run({2, 1, 1, {"p", "pp"}}, ahead), "the capacity is exceeded");
}
// What a pop that skips a slot changes is seen before the head.
TEST(BoundedQueueMutant, SkippedSlotIsNotReleased) {
  const Mutation weak = make_relaxed(kBroken, Op::kFetch, release);
  EXPECT_BROKEN(run({1, 1, 1, {"P", "q"}, 1}, weak), "a push was refused");
}
TEST(BoundedQueueMutant, SkippedSlotIsNotAcquired) {
  const Mutation weak = make_relaxed(kBroken, Op::kLoad, acquire);
  EXPECT_BROKEN(run({1, 1, 1, {"P", "q"}, 1}, weak), "a push was refused");
}
TEST(BoundedQueueMutant, CapacityIsNotReleased) {
  const Mutation weak = make_relaxed(kCapacity, Op::kStore, release);
  EXPECT_BROKEN(run({2, 1, 0, {"P", "q1"}}, weak), "a push was refused");
}
TEST(BoundedQueueMutant, CapacityIsNotAcquired) {
  const Mutation weak = make_relaxed(kCapacity, Op::kLoad, acquire);
  EXPECT_BROKEN(run({2, 1, 0, {"P", "q1"}}, weak), "a push was refused");
}
// A producer sees that the head has moved, and still the consumer that moved it as one that waits.
TEST(BoundedQueueMutant, LeavingIsNotReleased) {
  const Mutation weak = make_relaxed(kHead, Op::kCompareExchange, release);
  EXPECT_BROKEN(run({1, 1, 1, {"-", "ppp"}}, weak), "the capacity is exceeded");
}

}  // namespace
}  // namespace corbel::model
