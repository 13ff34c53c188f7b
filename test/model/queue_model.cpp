// SPDX-License-Identifier: Apache-2.0
// The unbounded queue (include/corbel/detail/queue_segments.hpp): each element is popped once, by a
// thread that sees what its producer made, in the order of the pushes; a segment is reused only
// when no thread uses it.
#include "queue_model.hpp"

#include <climits>

namespace corbel::model {
namespace {

using enum std::memory_order;

// '+' pushes, the values 1, 2 ... (of the second thread: 4, 5 ...); '-' pops; '0' asks whether the
// queue is empty.
struct Script {
  int pushes_before;
  int pops_before;
  std::array<const char*, 3> acts;
  bool has_enough = false;  // elements before, so that every pop gets one
};

struct Queueing : QueueTest {
  explicit Queueing(const Script& s) : script(s) { set_up(s.pushes_before, s.pops_before); }
  const Script script;

  void run(int thread) override {
    int next = 3 * thread;
    std::array<int, 3> last{};
    for (const char* act = script.acts[std::size_t(thread)]; *act != 0; ++act) {
      if (*act == '+') {
        push(++next);
      } else if (*act == '0') {
        queue.empty();
      } else if (const int value = pop(); value == 0) {
        check(!script.has_enough, "a queue with elements is found empty");
      } else if (value != 7) {
        int& before = last[std::size_t(value - 1) / 3];
        check(value > before, "a producer's elements are popped in another order");
        before = value;
      }
    }
  }
};

Result run(Script script, const Mutation& mutation = nullptr) {
  return explore<Queueing>(script.acts[2] != nullptr ? 3 : 2, mutation, script);
}

TEST(Queue, OneElement) { EXPECT_SOUND(run({1, 1, {"+", "-"}})); }
TEST(Queue, FirstSegment) { EXPECT_SOUND(run({0, 0, {"+", "-"}})); }
TEST(Queue, EndOfASegment) { EXPECT_SOUND(run({1, 1, {"++", "--"}})); }
TEST(Queue, ProducersAtTheEnd) { EXPECT_SOUND(run({4, 3, {"+", "+"}})); }
TEST(Queue, ConsumersAtTheEnd) { EXPECT_SOUND(run({3, 1, {"-", "-"}})); }
TEST(Queue, ConsumersAtTheEndFindElements) { EXPECT_SOUND(run({4, 2, {"-", "-"}, true})); }
TEST(Queue, ConsumersOfOneElement) { EXPECT_SOUND(run({1, 0, {"-", "-"}})); }
TEST(Queue, SegmentIsReused) { EXPECT_SOUND(run({4, 2, {"-", "+"}})); }
TEST(Queue, SegmentIsReusedByAProducer) { EXPECT_SOUND(run({4, 1, {"--", "+"}})); }
TEST(Queue, EmptyOrNot) { EXPECT_SOUND(run({2, 1, {"-+", "0"}})); }

// ---- mutants: each must fail -----------------------------------------------------------------

constexpr int kStates = kQueueLocations + 1;  // the first of the states' locations

Mutation weaken(int first, int last, Op op, std::memory_order from,
                std::uint64_t operand = UINT64_MAX) {
  return [=](Step& step) {
    if (step.location < first || step.location > last || step.op != op || step.order != from)
      return;
    if (operand == UINT64_MAX || step.operand == operand) step.order = relaxed;
  };
}

TEST(QueueMutant, ElementIsNotReleased) {
  const Mutation weak = weaken(kStates, INT_MAX, Op::kStore, release, detail::kSlotFull);
  EXPECT_BROKEN(run({1, 1, {"+", "-"}}, weak), "data race");
}
TEST(QueueMutant, ElementIsNotAcquired) {
  const Mutation weak = weaken(kStates, INT_MAX, Op::kLoad, acquire);
  EXPECT_BROKEN(run({1, 1, {"+", "-"}}, weak), "data race");
}
TEST(QueueMutant, TakenSlotIsNotReleased) {
  const Mutation weak = weaken(kStates, INT_MAX, Op::kStore, release, detail::kSlotTaken);
  EXPECT_BROKEN(run({4, 1, {"-", "-++"}}, weak), "data race");
}
TEST(QueueMutant, SegmentIsNotAcquired) {
  const Mutation weak = weaken(kHead, kTail, Op::kLoad, acquire);
  EXPECT_BROKEN(run({0, 0, {"+", "-"}}, weak), "known to be constructed");
}
TEST(QueueMutant, SegmentIsNotReleased) {
  const Mutation weak = weaken(kTail, kTail, Op::kExchange, acq_rel);
  EXPECT_BROKEN(run({0, 0, {"+", "+"}}, weak), "known to be constructed");
}
}  // namespace
}  // namespace corbel::model
