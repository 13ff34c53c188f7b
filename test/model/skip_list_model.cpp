// SPDX-License-Identifier: Apache-2.0
// The skip list of the ordered containers (include/corbel/detail/skip_list.hpp): in any
// interleaving of insertions and searches, each key is inserted once, what is found was stored
// before, and all levels end up in order.
#include <corbel/detail/skip_list.hpp>

#include <array>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
using List = detail::basic_skip_list<Atomic, true, 2>;
using Link = List::link;

// The list is the first member of the tests; its words are numbered from the highest level on.
constexpr int kFirstWord = 3;
constexpr int kWords = List::words_of(List::kMaxHeight);
constexpr int kLevel0 = kFirstWord + kWords - 1;
constexpr int kLevel1 = kLevel0 - 1;
constexpr int kHint1 = kLevel0 - 2;

struct Element {
  std::array<Link, 3> words;
  Var<int> key;  // stored before the insertion
  int height = 0;

  Link* tower() { return words.data() + List::words_of(height); }
};

struct SkipListTest : Test {
  List list;
  std::array<Element, 3> elements;
  int inserted = 0;
  bool ignores_equal_keys = false;  // a mutant

  Element& element_of(const Link* tower) {
    for (Element& e : elements) {
      if (e.height != 0 && e.tower() == tower) return e;
    }
    Explorer::get().fail("a link leads to no tower");
    return elements[0];
  }
  int key_of(const Link* tower) { return element_of(tower).key.get(); }

  // As ordered_core does it. Returns whether the key was not there.
  bool insert(int i, int key, int height) {
    Element& e = elements[std::size_t(i)];
    e.key.set(key);
    e.height = height;
    const auto is_before = [&](const Link* t) { return key_of(t) < key; };
    const detail::skip_target<decltype(is_before)> target{is_before, std::uintptr_t(key), true,
                                                          nullptr, nullptr};
    const auto refuses = [&](const Link* t) {
      return !ignores_equal_keys && t != nullptr && key_of(t) == key;
    };
    List::path p;
    if (refuses(list.find_path(height, p, target))) return false;
    const bool done = list.insert(e.tower(), height, p, target, refuses, [&](const Link* t) {
      return std::uintptr_t(key_of(t));
    }) == nullptr;
    return done;
  }
  // Returns the first key that is not less; 99 if there is none.
  int lower_bound(int key, bool hinted = true) {
    const auto is_before = [&](const Link* t) { return key_of(t) < key; };
    const detail::skip_target<decltype(is_before)> target{
        is_before, hinted ? std::uintptr_t(key) : 0, hinted, nullptr, nullptr};
    const Link* const found = list.find(target);
    return found == nullptr ? 99 : key_of(found);
  }

  void check_levels(int count) {
    int found = 0;
    for (int level = 0; level < 2; ++level) {
      int last = 0;
      for (const Link* t = List::next(list.head(), level); t != nullptr; t = List::next(t, level)) {
        check(key_of(t) > last, "the keys of a level are not in order");
        check(element_of(t).height > level, "a tower is linked above its height");
        last = key_of(t);
        if (level == 0) ++found;
      }
    }
    check(found == count, "an element is lost");
    check(int(list.size()) == count, "the size is wrong");
    for (Element& e : elements) {
      if (e.height == 2 && e.key.get() != 0 && lower_bound(e.key.get()) != e.key.get())
        Explorer::get().fail("an element is not found");
    }
  }
};

// Two threads insert neighbours, both higher than level 0, in front of a third tower.
struct Neighbours : SkipListTest {
  Neighbours() { insert(2, 30, 2); }
  void run(int thread) override {
    const int key = thread == 0 ? 10 : 20;
    check(insert(thread, key, 2), "a key is refused that is not there");
    check(lower_bound(key) == key, "a thread does not find what it has inserted");
  }
  void finish() override { check_levels(3); }
};

// Two threads insert the same key.
struct SameKey : SkipListTest {
  explicit SameKey(bool mutant = false) { ignores_equal_keys = mutant; }
  int wins[2] = {};
  void run(int thread) override { wins[thread] = int(insert(thread, 10, 1 + thread)); }
  void finish() override {
    check(wins[0] + wins[1] == 1, "a key is inserted twice, or not at all");
    int count = 0;
    for (const Link* t = List::next(list.head()); t != nullptr; t = List::next(t)) ++count;
    check(count == 1, "a key is in the list twice");
  }
};

// A thread searches while another inserts in front of what it searches.
struct Searching : SkipListTest {
  Searching() { insert(2, 30, 2); }
  void run(int thread) override {
    if (thread == 0) {
      insert(0, 10, 2);
    } else {
      check(lower_bound(20) == 30, "a search runs past its position, or stops before it");
      const int found = lower_bound(5);
      check(found == 10 || found == 30, "a search misses an element");
    }
  }
  void finish() override { check_levels(2); }
};

// A thread searches after a tower that another one inserts: the hint of the head is 30 first, then
// 10, and says that the tower to which the link leads comes before 20. Without a hint it compares.
struct HintedSearch : SkipListTest {
  explicit HintedSearch(bool hinted = true) : hinted(hinted) { insert(2, 30, 2); }
  const bool hinted;
  void run(int thread) override {
    if (thread == 0) {
      insert(0, 10, 2);
    } else {
      check(lower_bound(20, hinted) == 30, "a search runs past its position");
    }
  }
};

Mutation order_at(Op op, int location, std::memory_order order) {
  return [=](Step& step) {
    if (step.op == op && step.location == location) step.order = step.failure_order = order;
  };
}

TEST(SkipList, Neighbours) { EXPECT_SOUND((explore<Neighbours>(2, nullptr))); }
TEST(SkipList, SameKey) { EXPECT_SOUND((explore<SameKey>(2, nullptr))); }
TEST(SkipList, HintedSearch) { EXPECT_SOUND((explore<HintedSearch>(2, nullptr))); }
TEST(SkipList, SearchWithoutHints) { EXPECT_SOUND((explore<HintedSearch>(2, nullptr, false))); }
TEST(SkipList, Searching) { EXPECT_SOUND((explore<Searching>(2, nullptr))); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(SkipListMutant, InsertionDoesNotRelease) {
  EXPECT_BROKEN((explore<Searching>(2, order_at(Op::kCompareExchange, kLevel0, relaxed))),
                "data race");
}
TEST(SkipListMutant, HigherLevelDoesNotRelease) {
  const Mutation weak = [](Step& step) {
    if (step.location == kLevel1 && step.op != Op::kLoad) step.order = relaxed;
  };
  EXPECT_BROKEN((explore<HintedSearch>(2, weak, false)), "data race");
  EXPECT_BROKEN((explore<HintedSearch>(2, order_at(Op::kLoad, kLevel1, relaxed), false)),
                "data race");
}
TEST(SkipListMutant, SearchDoesNotAcquire) {
  EXPECT_BROKEN((explore<Searching>(2, order_at(Op::kLoad, kLevel0, relaxed))), "data race");
}
TEST(SkipListMutant, EqualKeysAreNotRefused) {
  EXPECT_BROKEN((explore<SameKey>(2, nullptr, true)), "twice");
}
// The tower is linked although another one has come between.
TEST(SkipListMutant, LinkIsOverwritten) {
  const Mutation overwrites = [](Step& step) {
    if (step.op == Op::kCompareExchange && step.location == kLevel0) step.op = Op::kExchange;
  };
  EXPECT_BROKEN((explore<Neighbours>(2, overwrites)), "not in order");
}
// The hint says nothing of the link that is read after it.
TEST(SkipListMutant, HintIsNotPublished) {
  const Mutation weak = [](Step& step) {
    if (step.location != kHint1) return;
    step.order = relaxed;
  };
  EXPECT_BROKEN((explore<HintedSearch>(2, weak)), "runs past");
}

}  // namespace
}  // namespace corbel::model
