// SPDX-License-Identifier: Apache-2.0
// The split-ordered list (include/corbel/detail/split_list.hpp): threads that add elements while
// the table grows lose none, add no key twice, keep the order, and find what is there.
#include <corbel/detail/split_list.hpp>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct Node : detail::split_link<Atomic> {
  Node() : detail::split_link<Atomic>(0) {}
  Var<int> content;  // a plain field: published with the node
};

using List = detail::basic_split_list<Node, Atomic, 1, 2>;  // at first two buckets, then four
using Link = List::link;

struct Probe {
  std::size_t hash;
  std::size_t hash_of(const Node& node) const { return std::size_t(node.content.get()); }
  bool matches(const Node& node) const { return std::size_t(node.content.get()) == hash; }
};

// The list's memory locations. It is the first member of the tests: the mask, then the segments.
constexpr int kSegment0 = 1;

// What one thread does: walks over the list (*), grows the table (g), or adds (+) or looks for (?)
// the key whose number follows. The keys are hash values, the even numbers, which begin in bucket
// 0. If the table has grown, 2 and 6, keys 1 and 3, belong to bucket 2.
struct Threads {
  std::array<const char*, 3> acts{};
  int before = -1;     // a key that is there from the beginning
  bool many = false;   // whether several elements may have one key
  bool grown = false;  // whether the table has grown already, and nothing has used the new bucket
};

int key_of(char digit) { return (digit - '0') * 2; }

struct Adding : Test {
  explicit Adding(const Threads& t) : list(*new(storage) List), threads(t) {
    if (threads.before >= 0) check(add(threads.before), "nothing is there yet");
    if (threads.grown) list.publish_next(segment(1));
  }

  // Never destroyed: an abandoned execution may leave it in any state.
  alignas(List) std::byte storage[sizeof(List)];
  List& list;
  const Threads threads;
  static inline std::vector<std::unique_ptr<std::byte[]>> blocks;
  std::array<int, 4> added{};  // how often each key was added

  static Link* segment(int k) {
    const std::size_t bytes = List::segment_size(k) * sizeof(Link);
    return List::make_segment(blocks.emplace_back(new std::byte[bytes]).get(), k);
  }

  bool add(int key) {
    Node* const node = new (blocks.emplace_back(new std::byte[sizeof(Node)]).get()) Node;
    node->content.set(key);
    const Probe wanted{std::size_t(key)};
    if (!list.has_slots()) static_cast<void>(list.publish_first(segment(0)));
    List::place at;
    Node* found = list.find_place(wanted, at);
    for (;;) {
      if (found != nullptr) {
        if (!threads.many) return false;
        at.before = found;
        List::reload(at);
      }
      if (list.add(node, at)) break;
      found = list.walk(wanted, at);
    }
    ++added[std::size_t(key / 2)];
    return true;
  }

  // Whatever other threads do, the elements come in order, among them those that are known.
  void walk_over(const std::array<bool, 4>& known) {
    std::array<bool, 4> seen{};
    const Node* last = nullptr;
    for (Node* node = list.first(); node != nullptr; node = List::element_after(node)) {
      const std::size_t hash = std::size_t(node->content.get());
      check(last == nullptr || !detail::precedes(hash, std::size_t(last->content.get())),
            "the order is wrong");
      last = node;
      seen[hash / 2] = true;
    }
    for (std::size_t i = 0; i < 4; ++i) check(seen[i] || !known[i], "a walk misses an element");
  }

  void run(int thread) override {
    std::array<bool, 4> known{};
    if (threads.before >= 0) known[std::size_t(threads.before / 2)] = true;
    for (const char* act = threads.acts[std::size_t(thread)]; *act != 0; ++act) {
      if (*act == 'g') {
        list.publish_next(segment(1));
        continue;
      }
      if (*act == '*') {
        walk_over(known);
        continue;
      }
      const char what = *act++;
      const int key = key_of(*act);
      if (what == '+') {
        add(key);
      } else {
        Node* const found = list.find(Probe{std::size_t(key)});
        check(found != nullptr || !known[std::size_t(key / 2)], "an element is not found");
        if (found != nullptr) check(found->content.get() == key, "another element is found");
        if (found == nullptr) continue;
      }
      known[std::size_t(key / 2)] = true;
    }
  }

  void finish() override {
    walk_over({});
    std::array<int, 4> seen{};
    for (Node* node = list.first(); node != nullptr; node = List::element_after(node)) {
      ++seen[std::size_t(node->content.get()) / 2];
    }
    for (std::size_t i = 0; i < 4; ++i) {
      check(seen[i] == added[i], "an element is lost");
      check(threads.many || seen[i] <= 1, "two elements have one key");
      check(seen[i] == 0 || list.find(Probe{i * 2}) != nullptr, "a bucket has lost an element");
    }
    blocks.clear();
  }
};

Result run(Threads threads, const Mutation& mutation = nullptr) {
  Adding::blocks.clear();
  return explore<Adding>(threads.acts[2] == nullptr ? 2 : 3, mutation, threads);
}

TEST(SplitList, OneKey) { EXPECT_SOUND(run({{"+1", "+1"}})); }
TEST(SplitList, OneKeyOfThreeThreads) { EXPECT_SOUND(run({{"+1", "+1", "+1"}})); }
TEST(SplitList, OneKeyManyTimes) {
  EXPECT_SOUND(run({.acts = {"+1", "+1", "+1"}, .before = 2, .many = true}));
}
TEST(SplitList, TwoKeysOfOneBucket) { EXPECT_SOUND(run({{"+1?1", "+0?0"}})); }
TEST(SplitList, FindsWhatIsAdded) { EXPECT_SOUND(run({.acts = {"+1", "?1?1"}, .before = 0})); }
TEST(SplitList, GrowsWhileItAdds) { EXPECT_SOUND(run({.acts = {"g+1", "+1"}, .before = 0})); }
TEST(SplitList, GrowsWhileItFinds) { EXPECT_SOUND(run({.acts = {"g?1", "?1?1"}, .before = 2})); }
TEST(SplitList, TwoThreadsAddOneSlot) {
  EXPECT_SOUND(run({.acts = {"+1", "+3"}, .before = 0, .grown = true}));
}
TEST(SplitList, AddsOverANewSlot) {
  EXPECT_SOUND(run({.acts = {"?1", "+2+3"}, .before = 2, .grown = true}));
}
TEST(SplitList, FindsOverANewSlot) {
  EXPECT_SOUND(run({.acts = {"?1?1", "?1"}, .before = 2, .grown = true}));
}
TEST(SplitList, WalksOverANewSlot) { EXPECT_SOUND(run({.acts = {"g+1", "***"}, .before = 2})); }

// ---- mutants: each must fail -----------------------------------------------------------------
//
// Not among them: the store and the loads of the mask. A thread that knows of a bucket but not of
// its segment uses a null pointer.

Mutation weaken(Op op, std::memory_order from, std::memory_order to, int location = -1) {
  return [=](Step& step) {
    if (step.op != op || step.order != from) return;
    if (location < 0 || step.location == location) step.order = to;
  };
}

TEST(SplitListMutant, NodeIsNotReleased) {
  const Mutation weak = weaken(Op::kCompareExchange, release, relaxed);
  EXPECT_BROKEN(run({{"+1", "?1"}}, weak), "data race");
}

TEST(SplitListMutant, LinksAreNotAcquired) {
  const Mutation weak = weaken(Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run({{"+1", "?1"}}, weak), "data race");
}

TEST(SplitListMutant, FirstSegmentIsNotReleased) {
  const Mutation weak = weaken(Op::kCompareExchange, release, relaxed, kSegment0);
  EXPECT_BROKEN(run({{"+1", "?1"}}, weak), "known to be constructed");
}

TEST(SplitListMutant, FirstSegmentIsNotAcquired) {
  const Mutation weak = weaken(Op::kLoad, acquire, relaxed, kSegment0);
  EXPECT_BROKEN(run({{"+1", "?1"}}, weak), "known to be constructed");
}

// The slot becomes ready without a release. A thread that starts there does not see the element
// that a second one put there before the slot was.
TEST(SplitListMutant, ReadySlotIsNotReleased) {
  const Mutation weak = weaken(Op::kFetch, release, relaxed);
  EXPECT_BROKEN(run({.acts = {"g?1", "+3", "?1"}, .before = 0}, weak), "data race");
}

// The slot is made ready by writing its target once more, over what another thread has added.
TEST(SplitListMutant, ReadySlotForgetsWhatWasAdded) {
  std::uint64_t target = 0;
  const Mutation wrong = [&](Step& step) {
    constexpr std::uint64_t kUnready = 2;
    if (step.op == Op::kStore && (step.operand & kUnready) != 0) target = step.operand & ~kUnready;
    if (step.op != Op::kFetch) return;
    step.op = Op::kExchange;
    step.operand = target;
    step.update = [](std::uint64_t, std::uint64_t n) { return n; };
  };
  EXPECT_BROKEN(run({.acts = {"+1", "+3"}, .before = 0, .grown = true}, wrong), "lost");
}

}  // namespace
}  // namespace corbel::model
