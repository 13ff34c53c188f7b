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

using List = detail::basic_split_list<Node, Atomic>;
using Link = List::link;

struct Probe {
  std::size_t hash;
  std::size_t hash_of(const Node& node) const { return std::size_t(node.content.get()); }
  bool matches(const Node& node) const { return std::size_t(node.content.get()) == hash; }
};

// The list's memory locations. It is the first member of the tests: the mask, then the segments.
constexpr int kMask = 0;
constexpr int kSegment1 = 2;

// What one thread does: walks over the list (*), grows the table (g), or adds (+) or looks for (?)
// the key whose number follows. The keys are hash values: multiples of 8, which begin in bucket 0.
// If the table has grown to 16 buckets, 8 and 24, keys 1 and 3, belong to bucket 8.
struct Threads {
  std::array<const char*, 3> acts;
  int before = -1;    // a key that is there from the beginning
  bool many = false;  // whether several elements may have one key
};

int key_of(char digit) { return (digit - '0') * 8; }

struct Adding : Test {
  explicit Adding(const Threads& t) : list(*new(storage) List), threads(t) {
    static_cast<void>(list.publish_first(segment(0)));
    next_segment = segment(1);
    if (threads.before >= 0) check(add(threads.before), "nothing is there yet");
  }

  // Never destroyed: an abandoned execution may leave it in any state.
  alignas(List) std::byte storage[sizeof(List)];
  List& list;
  const Threads threads;
  static inline std::vector<std::unique_ptr<std::byte[]>> blocks;
  Link* next_segment;
  std::array<int, 4> added{};  // how often each key was added

  static Link* segment(int k) {
    const std::size_t bytes = List::segment_size(k) * sizeof(Link);
    return List::make_segment(blocks.emplace_back(new std::byte[bytes]).get(), k);
  }

  bool add(int key) {
    Node* const node = new (blocks.emplace_back(new std::byte[sizeof(Node)]).get()) Node;
    node->content.set(key);
    const Probe wanted{std::size_t(key)};
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
    ++added[std::size_t(key / 8)];
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
      seen[hash / 8] = true;
    }
    for (std::size_t i = 0; i < 4; ++i) check(seen[i] || !known[i], "a walk misses an element");
  }

  void run(int thread) override {
    std::array<bool, 4> known{};
    if (threads.before >= 0) known[std::size_t(threads.before / 8)] = true;
    for (const char* act = threads.acts[std::size_t(thread)]; *act != 0; ++act) {
      if (*act == 'g') {
        list.publish_next(next_segment);
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
        check(found != nullptr || !known[std::size_t(key / 8)], "an element is not found");
        if (found != nullptr) check(found->content.get() == key, "another element is found");
        if (found == nullptr) continue;
      }
      known[std::size_t(key / 8)] = true;
    }
  }

  void finish() override {
    walk_over({});
    std::array<int, 4> seen{};
    for (Node* node = list.first(); node != nullptr; node = List::element_after(node)) {
      ++seen[std::size_t(node->content.get()) / 8];
    }
    for (std::size_t i = 0; i < 4; ++i) {
      check(seen[i] == added[i], "an element is lost");
      check(threads.many || seen[i] <= 1, "two elements have one key");
      check(seen[i] == 0 || list.find(Probe{i * 8}) != nullptr, "a bucket has lost an element");
    }
    blocks.clear();
  }
};

Result run(const char* a, const char* b, const char* c = nullptr, int before = -1,
           bool many = false, const Mutation& mutation = nullptr) {
  Adding::blocks.clear();
  return explore<Adding>(c == nullptr ? 2 : 3, mutation, Threads{{a, b, c}, before, many});
}

TEST(SplitList, OneKey) { EXPECT_SOUND(run("+1", "+1")); }
TEST(SplitList, OneKeyOfThreeThreads) { EXPECT_SOUND(run("+1", "+1", "+1")); }
TEST(SplitList, OneKeyManyTimes) { EXPECT_SOUND(run("+1", "+1", "+1", 8, true)); }
TEST(SplitList, TwoKeysOfOneBucket) { EXPECT_SOUND(run("+1?1", "+0?0")); }
TEST(SplitList, FindsWhatIsAdded) { EXPECT_SOUND(run("+1", "?1?1", nullptr, 0)); }
TEST(SplitList, GrowsWhileItAdds) { EXPECT_SOUND(run("g+1", "+1?1")); }
TEST(SplitList, GrowsWhileItFinds) { EXPECT_SOUND(run("g?1", "?1?1", nullptr, 8)); }
TEST(SplitList, TwoThreadsAddOneSlot) { EXPECT_SOUND(run("g+1", "?1", "+3", 0)); }
TEST(SplitList, WalksOverANewSlot) { EXPECT_SOUND(run("g+1", "***", nullptr, 8)); }
TEST(SplitList, FindsOverANewSlot) { EXPECT_SOUND(run("g?1", "?1+3", "?1", 8)); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(Op op, std::memory_order from, std::memory_order to, int location = -1) {
  return [=](Step& step) {
    if (step.op != op || step.order != from) return;
    if (location < 0 || step.location == location) step.order = to;
  };
}

TEST(SplitListMutant, NodeIsNotReleased) {
  const Mutation weak = weaken(Op::kCompareExchange, release, relaxed);
  EXPECT_BROKEN(run("+1", "?1", nullptr, -1, false, weak), "data race");
}

TEST(SplitListMutant, LinksAreNotAcquired) {
  const Mutation weak = weaken(Op::kLoad, acquire, relaxed);
  EXPECT_BROKEN(run("+1", "?1", nullptr, -1, false, weak), "data race");
}

TEST(SplitListMutant, SegmentIsNotReleased) {
  const Mutation weak = weaken(Op::kStore, release, relaxed, kMask);
  EXPECT_BROKEN(run("g", "?1", nullptr, 0, false, weak), "");
}

TEST(SplitListMutant, MaskIsNotAcquired) {
  const Mutation weak = weaken(Op::kLoad, acquire, relaxed, kMask);
  EXPECT_BROKEN(run("g", "?1", nullptr, 0, false, weak), "");
}

}  // namespace
}  // namespace corbel::model
