// SPDX-License-Identifier: Apache-2.0
// How a node of a flow graph keeps to its concurrency limit (corbel/detail/flow/gates.hpp) and
// counts its predecessors' messages (message_counter.hpp): every message is processed once, not
// more at a time than allowed, and sees what the messages before it did. Also the list of tasks
// from outside of the arena (outside_tasks.hpp).
#include <corbel/detail/flow/gates.hpp>
#include <corbel/detail/flow/message_counter.hpp>
#include <corbel/detail/flow/outside_tasks.hpp>

#include <array>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

constexpr std::size_t kMaxMessages = 4;

using Counts = std::array<int, 3>;

struct alignas(8) Message {
  Message* next = nullptr;
  Var<int> content;  // stands for the whole message
};

// Threads put messages, and process them while they have a slot.
template <typename Queue, int kLimit>
struct Puts : Test {
  template <typename... Arguments>
  explicit Puts(Counts counts, Arguments... arguments) : queue(arguments...), counts(counts) {}

  Queue queue;  // its word is location 0
  const Counts counts;
  std::array<Message, kMaxMessages> messages;
  std::array<int, kMaxMessages> processed{};
  Var<int> sections;
  int running = 0;

  void process(Message& m) {
    check(++running <= kLimit, "too many at a time");
    // With one slot, each message sees what the one before did.
    if (kLimit == 1) sections.set(sections.get() + 1);
    ++processed[std::size_t(m.content.get()) - 1];
    --running;
  }

  void run(int thread) override {
    std::size_t first = 0;
    for (int t = 0; t < thread; ++t) first += std::size_t(counts[std::size_t(t)]);
    for (int i = 0; i < counts[std::size_t(thread)]; ++i) {
      const std::size_t number = first + std::size_t(i);
      messages[number].content.set(int(number) + 1);
      if (!queue.enter(messages[number])) continue;
      for (Message* m = &messages[number]; m != nullptr; m = queue.leave()) process(*m);
    }
  }

  void finish() override {
    std::size_t all = 0;
    for (int count : counts) all += std::size_t(count);
    for (std::size_t i = 0; i < all; ++i) {
      check(processed[i] == 1, "a message is lost, or processed twice");
    }
    check(queue.try_enter(), "a slot is lost");
  }
};

using Serial = Puts<detail::serial_queue<Message, Atomic>, 1>;
template <int kLimit>
using Counted = Puts<detail::counted_queue<Message, Atomic, Mutex>, kLimit>;

// Predecessors that are rejected, and pulled from later.
template <int kLimit>
struct Pulls : Test {
  explicit Pulls(Counts counts) : counts(counts) {}

  detail::pulling_gate<Atomic> gate{kLimit};  // its word is location 0
  const Counts counts;                        // the messages of each thread
  Mutex lock;
  Var<int> offered;  // messages of predecessors that are known to the node
  Var<int> sections;
  int put = 0, processed = 0, running = 0;

  void process() {
    check(++running <= kLimit, "too many at a time");
    if (kLimit == 1) sections.set(sections.get() + 1);
    ++processed;
    --running;
  }

  // Returns the number of messages that there were.
  int pull() {
    MutexGuard guard(lock);
    const int number = offered.get();
    if (number != 0) offered.set(number - 1);
    return number;
  }

  // leave_or_pull of function_input.hpp; `slots` are those that the thread has.
  void leave(int slots) {
    while (slots > 0) {
      if (gate.try_leave()) {
        --slots;
        continue;
      }
      const int found = pull();
      if (found == 0) continue;
      if (found > 1 && gate.announce()) ++slots;
      process();
    }
  }

  void run(int thread) override {
    int slots = 0;
    for (int i = 0; i < counts[std::size_t(thread)]; ++i) {
      ++put;
      if (gate.try_enter()) {
        process();
        ++slots;
      } else {
        {
          MutexGuard guard(lock);
          offered.set(offered.get() + 1);
        }
        if (gate.announce()) ++slots;
      }
      if (kLimit > 1 && i + 1 < counts[std::size_t(thread)]) continue;  // keeps its slots
      leave(slots);
      slots = 0;
    }
  }

  void finish() override {
    check(processed == put, "a message is lost, or processed twice");
    check(gate.try_enter(), "a slot is lost");
  }
};

// What messages hold, as a set.
struct Info {
  int held = 0;
  void merge(const Info& other) { held |= other.held; }
  void clear() { held = 0; }
  Info() = default;
  explicit Info(int h) : held(h) {}
  Info(Info&& other) : held(other.held) { other.held = 0; }
  Info& operator=(Info&& other) {
    held = other.held;
    other.held = 0;
    return *this;
  }
};

// Each thread counts messages up to two.
struct Counting : Test {
  explicit Counting(Counts infos) : infos(infos) {}

  detail::message_counter<Atomic, Info, Mutex> counter{2};  // its word is location 0
  const Counts infos;                                       // what the message of each thread holds
  std::array<Var<int>, 3> before;
  int counted = 0, completed = 0, released = 0;

  void run(int thread) override {
    before[std::size_t(thread)].set(1);
    const int info = infos[std::size_t(thread)];
    Info all;
    const bool completes =
        info == 0 ? counter.count_message(all) : counter.count_message(Info(info), all);
    ++counted;
    if (!completes) return;
    ++completed;
    released |= all.held;
    if (see_all) {
      int seen = 0;
      for (std::size_t t = 0; t < 2; ++t) seen += before[t].get();
      check(seen == 2, "a count is complete too early");
    }
  }
  bool see_all = false;

  void finish() override { check(completed == counted / 2, "a message is not counted"); }
};

// Two messages: the one that completes the count sees what the other thread did.
struct TwoMessages : Counting {
  explicit TwoMessages(Counts i) : Counting(i) { see_all = true; }
  void finish() override {
    Counting::finish();
    check(released == (infos[0] | infos[1]), "what a message holds is lost");
  }
};

TEST(SerialQueue, TwoThreads) { EXPECT_SOUND((explore<Serial>(2, nullptr, Counts{2, 2, 0}))); }
TEST(SerialQueue, ThreeThreads) { EXPECT_SOUND((explore<Serial>(3, nullptr, Counts{1, 1, 1}))); }
TEST(CountedQueue, OneSlot) {
  EXPECT_SOUND((explore<Counted<1>>(3, nullptr, Counts{1, 1, 1}, 1u)));
}
TEST(CountedQueue, TwoSlots) {
  EXPECT_SOUND((explore<Counted<2>>(3, nullptr, Counts{1, 1, 1}, 2u)));
}
TEST(PullingGate, OneSlot) { EXPECT_SOUND((explore<Pulls<1>>(2, nullptr, Counts{2, 1, 0}))); }
TEST(PullingGate, TwoSlots) { EXPECT_SOUND((explore<Pulls<2>>(2, nullptr, Counts{2, 1, 0}))); }
TEST(MessageCounter, TwoMessages) {
  for (const Counts& infos : {Counts{0, 0, 0}, Counts{1, 0, 0}, Counts{1, 2, 0}}) {
    EXPECT_SOUND((explore<TwoMessages>(2, nullptr, infos)));
  }
}
TEST(MessageCounter, ThreeMessages) {
  EXPECT_SOUND((explore<Counting>(3, nullptr, Counts{0, 0, 0})));
  EXPECT_SOUND((explore<Counting>(3, nullptr, Counts{0, 1, 2})));
}

// ---- mutants: each must fail -----------------------------------------------------------------

// Weakens the steps on the word of the protocol.
Mutation weaken(Op op, std::memory_order from, std::memory_order to) {
  return [=](Step& step) {
    if (step.location == 0 && step.op == op && step.order == from) step.order = to;
  };
}

TEST(SerialQueueMutant, EnterDoesNotAcquire) {
  EXPECT_BROKEN(
      (explore<Serial>(2, weaken(Op::kCompareExchange, acquire, relaxed), Counts{1, 1, 0})),
      "data race");
}
TEST(SerialQueueMutant, EnterAndLeaveDoNotRelease) {
  EXPECT_BROKEN(
      (explore<Serial>(2, weaken(Op::kCompareExchange, release, relaxed), Counts{1, 1, 0})),
      "data race");
}
TEST(SerialQueueMutant, LeaveDoesNotAcquireTheTasks) {
  EXPECT_BROKEN((explore<Serial>(2, weaken(Op::kExchange, acquire, relaxed), Counts{1, 1, 0})),
                "data race");
}

TEST(CountedQueueMutant, EnterDoesNotAcquire) {
  EXPECT_BROKEN((explore<Counted<1>>(2, weaken(Op::kFetch, acquire, relaxed), Counts{1, 1, 0}, 1u)),
                "data race");
}
TEST(CountedQueueMutant, LeaveDoesNotRelease) {
  EXPECT_BROKEN((explore<Counted<1>>(2, weaken(Op::kFetch, release, relaxed), Counts{1, 1, 0}, 1u)),
                "data race");
}

TEST(PullingGateMutant, LeaveOnlyAcquires) {
  EXPECT_BROKEN(
      (explore<Pulls<1>>(2, weaken(Op::kCompareExchange, acq_rel, acquire), Counts{1, 1, 0})),
      "data race");
}
TEST(PullingGateMutant, EnterDoesNotAcquire) {
  EXPECT_BROKEN(
      (explore<Pulls<1>>(2, weaken(Op::kCompareExchange, acquire, relaxed), Counts{1, 1, 0})),
      "data race");
}
// The announcement does not take a free slot, as if the word were two.
TEST(PullingGateMutant, AnnouncementIsForgotten) {
  const Mutation forgetful = [](Step& step) {
    if (step.location == 0 && step.op == Op::kCompareExchange) step.operand &= ~std::uint64_t{1};
  };
  EXPECT_BROKEN((explore<Pulls<1>>(2, forgetful, Counts{1, 1, 0})), "a message is lost");
}

TEST(MessageCounterMutant, CountDoesNotRelease) {
  EXPECT_BROKEN(
      (explore<TwoMessages>(2, weaken(Op::kCompareExchange, acq_rel, acquire), Counts{0, 0, 0})),
      "data race");
}
TEST(MessageCounterMutant, CountDoesNotAcquire) {
  const Mutation weak = [](Step& step) {
    if (step.location != 0) return;
    if (step.op == Op::kCompareExchange) step.order = release;
    if (step.op == Op::kLoad) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<TwoMessages>(2, weak, Counts{0, 0, 0})), "data race");
}

// ---- tasks from outside -------------------------------------------------------------------------

// Each thread adds tasks. The one that finds the list empty takes it, as the collecting task does.
struct Outside : Test {
  explicit Outside(Counts counts) : counts(counts) {}

  detail::outside_list<Message, Atomic> list;  // its word is location 0
  const Counts counts;
  std::array<Message, kMaxMessages> messages;
  std::array<int, kMaxMessages> processed{};

  void run(int thread) override {
    std::size_t first = 0;
    for (int t = 0; t < thread; ++t) first += std::size_t(counts[std::size_t(t)]);
    for (int i = 0; i < counts[std::size_t(thread)]; ++i) {
      const std::size_t number = first + std::size_t(i);
      messages[number].content.set(int(number) + 1);
      if (!list.add(messages[number])) continue;
      Message* m = list.take();
      check(m != nullptr, "a list is taken twice");
      for (; m != nullptr; m = m->next) ++processed[std::size_t(m->content.get()) - 1];
    }
  }

  void finish() override {
    std::size_t all = 0;
    for (int count : counts) all += std::size_t(count);
    for (std::size_t i = 0; i < all; ++i) {
      check(processed[i] == 1, "a task is lost, or runs twice");
    }
  }
};

TEST(OutsideList, TwoThreads) { EXPECT_SOUND((explore<Outside>(2, nullptr, Counts{2, 2, 0}))); }
TEST(OutsideList, ThreeThreads) { EXPECT_SOUND((explore<Outside>(3, nullptr, Counts{1, 2, 1}))); }
TEST(OutsideListMutant, AddDoesNotRelease) {
  EXPECT_BROKEN(
      (explore<Outside>(2, weaken(Op::kCompareExchange, release, relaxed), Counts{1, 1, 0})),
      "data race");
}
TEST(OutsideListMutant, TakeDoesNotAcquire) {
  EXPECT_BROKEN((explore<Outside>(2, weaken(Op::kExchange, acquire, relaxed), Counts{1, 1, 0})),
                "data race");
}

}  // namespace
}  // namespace corbel::model
