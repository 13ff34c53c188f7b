// SPDX-License-Identifier: Apache-2.0
// The index of the ordered containers' skip list (include/corbel/detail/skip_index.hpp and its use
// in skip_list.hpp): while it is made, and replaced by a larger one, insertions and searches find
// what they find without it, and no index is lost.
#include <corbel/detail/skip_list.hpp>

#include <array>
#include <optional>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;
using List = detail::basic_skip_list<Atomic, true, 2, 2>;  // makes an index of two elements or more
using Link = List::link;
using Index = List::index;

// The list is the first member of the tests.
constexpr int kIsIndexing = 1;
constexpr int kIndex = 2;
// The hint of the first element that the set-up makes.
constexpr int kFirstHint = 7;

struct Element {
  explicit Element(int k) : key(k) {}
  std::array<Link, 3> words;
  const Var<int> key;  // stored before the insertion

  const Link* tower() const { return words.data() + List::words_of(2); }
  Link* tower() { return words.data() + List::words_of(2); }
};

// What one thread does: makes an index (i), inserts (+) or searches for (?) the key that follows,
// and what is not less.
struct Threads {
  const char* before = "";  // keys that are there from the beginning
  std::array<const char*, 3> acts{};
  bool are_texts = false;  // all keys have the same hint in the list, and another one in an index
};

struct Indexing : Test {
  explicit Indexing(const Threads& t) : list(), threads(t) {
    current = this;
    for (const char* key = threads.before; *key != 0; ++key) insert(*key - '0');
  }

  List list;
  const Threads threads;
  std::array<std::optional<Element>, 12> elements;  // one for each key and thread
  std::array<int, 4> inserted_by{};
  std::array<int, 4> indexes_by{};
  std::array<int, 4> looks{};  // of each thread at the newest index, for a mutant
  static inline Indexing* current = nullptr;
  std::array<int, 10> inserted{};  // how often each key was
  std::vector<std::unique_ptr<std::byte[]>> memory = std::vector<std::unique_ptr<std::byte[]>>(8);

  static int self() { return Explorer::get().now().thread; }  // 0 in the set-up

  int key_of(const Link* tower) {
    for (const std::optional<Element>& e : elements) {
      if (e && e->tower() == tower) return e->key.get();
    }
    Explorer::get().fail("a link leads to no tower");
    return 0;
  }

  std::uintptr_t hint_of(int key) const { return threads.are_texts ? 1 : std::uintptr_t(key); }
  static std::uintptr_t hint_after(const void* key, const char*, std::size_t) {
    return std::uintptr_t(*static_cast<const int*>(key));
  }

  template <typename Use>
  auto with_target(int key, const Use& use) {
    const auto is_before = [this, key](const Link* t) { return key_of(t) < key; };
    return use(
        detail::skip_target<decltype(is_before)>{is_before, hint_of(key), true, &key, &hint_after});
  }

  // As ordered_core does it. Returns whether the key was not there.
  bool insert(int key) {
    const int n = inserted_by[std::size_t(self())]++;
    std::optional<Element>& e = elements[std::size_t(self() * 3 + n)];
    e.emplace(key);
    const auto refuses = [&](const Link* t) { return t != nullptr && key_of(t) == key; };
    const bool done = with_target(key, [&](const auto& target) {
      List::path p;
      if (refuses(list.find_path(2, p, target))) return false;
      return list.insert(e->tower(), 2, p, target, refuses,
                         [&](const Link* t) { return hint_of(key_of(t)); }) == nullptr;
    });
    if (done) ++inserted[std::size_t(key)];
    return done;
  }
  // Returns the first key that is not less; 0 if there is none.
  int lower_bound(int key) {
    return with_target(key, [&](const auto& target) {
      const Link* const found = list.find(target);
      return found == nullptr ? 0 : key_of(found);
    });
  }

  // As ordered_core does it.
  void make_index() {
    if (!list.begin_index()) return;
    std::size_t count = 0;
    for (Link* t = list.head(); (t = List::next(t, 1)) != nullptr;) ++count;
    const std::size_t me = std::size_t(self());
    std::unique_ptr<std::byte[]>& block = memory[me * 2 + std::size_t(indexes_by[me]++)];
    block.reset(new std::byte[Index::bytes_of(count)]);
    Index* const made = ::new (block.get()) Index(count, list.size(), list.newest_index());
    if (threads.are_texts) made->set_prefix("a", 1);
    for (Link* t = list.head(); (t = List::next(t, 1)) != nullptr;) {
      const int key = key_of(t);
      if (!made->add(made->hint_of(hint_of(key), &key, &hint_after), t)) break;
    }
    list.end_index(made);
  }

  void run(int thread) override {
    std::array<bool, 10> known{};
    const auto note = [&](int key) { known[std::size_t(key)] = true; };
    for (const char* key = threads.before; *key != 0; ++key) note(*key - '0');
    for (const char* act = threads.acts[std::size_t(thread)]; *act != 0; ++act) {
      if (*act == 'i') {
        make_index();
        continue;
      }
      const char what = *act;
      const int key = *++act - '0';
      if (what == '+') {
        const bool done = insert(key);
        check(!done || !known[std::size_t(key)], "a key is inserted twice");
        note(key);
        continue;
      }
      const int found = lower_bound(key);
      check(found == 0 || found >= key, "a search stops before its position");
      const int least = found == 0 ? 10 : found;
      for (int k = key; k < least; ++k) check(!known[std::size_t(k)], "a search misses an element");
      if (found != 0) note(found);
    }
  }

  void finish() override {
    int last = 0;
    std::array<int, 10> seen{};
    for (const Link* t = List::next(list.head()); t != nullptr; t = List::next(t)) {
      check(key_of(t) > last, "the keys are not in order");
      last = key_of(t);
      ++seen[std::size_t(last)];
    }
    check(seen == inserted, "an element is lost");
    for (int key = 1; key < 10; ++key) {
      if (seen[std::size_t(key)] != 0) check(lower_bound(key) == key, "an element is not found");
    }
    int indexes = 0;
    for (int n : indexes_by) indexes += n;
    const Index* const newest = list.newest_index();
    for (const Index* i = newest; i != nullptr; i = i->older()) --indexes;
    check(indexes == 0, "an index is lost");
    for (const Index* i = newest; i != nullptr; i = i->older()) {
      const std::size_t older = i->older() == nullptr ? 1 : i->older()->elements();
      check(i->elements() >= 2 * older, "an index is made too early");
    }
  }
};

Result run(const Threads& threads, const Mutation& mutation = nullptr) {
  return explore<Indexing>(threads.acts[2] == nullptr ? 2 : 3, mutation, threads);
}

const Threads kSearches{.before = "48", .acts = {"+2i", "?3?5"}};
const Threads kInserts{.before = "268", .acts = {"i?5", "+4?4?5"}};
const Threads kInsertsOneKey{.before = "268", .acts = {"i+4", "+4?4"}};
const Threads kInsertsNeighbours{.before = "268", .acts = {"i+4?4", "+5?5"}};
const Threads kSearchesAfterATower{.before = "268", .acts = {"+4", "i?5"}};
const Threads kTwoMakeOne{.before = "28", .acts = {"i?4", "i?4"}};
const Threads kThreeMakeOne{.before = "28", .acts = {"i", "i", "i?4"}};
const Threads kGrows{.before = "28", .acts = {"i?5", "+4+6i"}};
const Threads kTwoGrow{.before = "28", .acts = {"i+4i", "+6i"}};

TEST(SkipIndex, Searches) { EXPECT_SOUND(run(kSearches)); }
TEST(SkipIndex, Inserts) { EXPECT_SOUND(run(kInserts)); }
TEST(SkipIndex, InsertsOneKey) { EXPECT_SOUND(run(kInsertsOneKey)); }
TEST(SkipIndex, InsertsNeighbours) { EXPECT_SOUND(run(kInsertsNeighbours)); }
TEST(SkipIndex, SearchesAfterATower) { EXPECT_SOUND(run(kSearchesAfterATower)); }
TEST(SkipIndex, TwoThreadsMakeOne) { EXPECT_SOUND(run(kTwoMakeOne)); }
TEST(SkipIndex, ThreeThreadsMakeOne) { EXPECT_SOUND(run(kThreeMakeOne)); }
TEST(SkipIndex, Grows) { EXPECT_SOUND(run(kGrows)); }
TEST(SkipIndex, TwoThreadsGrowIt) { EXPECT_SOUND(run(kTwoGrow)); }

Threads texts(Threads threads) {
  threads.are_texts = true;
  return threads;
}
TEST(SkipIndex, SearchesForTexts) {
  EXPECT_SOUND(run(texts(kSearches)));
  EXPECT_SOUND(run(texts(kSearchesAfterATower)));
}
TEST(SkipIndex, InsertsTexts) {
  EXPECT_SOUND(run(texts(kInserts)));
  EXPECT_SOUND(run(texts(kInsertsOneKey)));
  EXPECT_SOUND(run(texts(kInsertsNeighbours)));
}
TEST(SkipIndex, GrowsForTexts) { EXPECT_SOUND(run(texts(kGrows))); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(Op op, std::memory_order from, int location) {
  return [=](Step& step) {
    if (step.op == op && step.order == from && step.location == location) step.order = relaxed;
  };
}

TEST(SkipIndexMutant, IndexIsNotReleased) {
  EXPECT_BROKEN(run(kSearches, weaken(Op::kStore, release, kIndex)), "be constructed");
}
TEST(SkipIndexMutant, IndexIsNotAcquired) {
  EXPECT_BROKEN(run(kSearches, weaken(Op::kLoad, acquire, kIndex)), "be constructed");
}
// A thread that does not see the index of the one before makes one too early, and may lose it.
TEST(SkipIndexMutant, TurnIsNotReleased) {
  EXPECT_BROKEN(run(kTwoMakeOne, weaken(Op::kStore, release, kIsIndexing)), "an index is");
}
TEST(SkipIndexMutant, TurnIsNotAcquired) {
  EXPECT_BROKEN(run(kTwoMakeOne, weaken(Op::kExchange, acquire, kIsIndexing)), "an index is");
}
// Two threads make an index at the same time.
TEST(SkipIndexMutant, NoTurns) {
  const Mutation none = [](Step& step) {
    if (step.location == kIsIndexing) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(run(kTwoMakeOne, none), "an index is");
}
// A thread that waited for its turn does not look whether an index was made meanwhile: its second
// load finds what its first one found.
TEST(SkipIndexMutant, NoSecondLook) {
  const Mutation blind = [](Step& step) {
    if (step.location != kIndex || step.op != Op::kLoad) return;
    // The first load finds nullptr.
    if (++Indexing::current->looks[std::size_t(Indexing::self())] == 2) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(run({.before = "28", .acts = {"i", "i"}}, blind), "too early");
}
// A search goes on from the tower of the index by the hint, and finds an older link.
TEST(SkipIndexMutant, HintIsNotReleased) {
  EXPECT_BROKEN(run(kSearchesAfterATower, weaken(Op::kStore, release, kFirstHint)), "misses");
}
TEST(SkipIndexMutant, HintIsNotAcquired) {
  EXPECT_BROKEN(run(kSearchesAfterATower, weaken(Op::kLoad, acquire, kFirstHint)), "misses");
}

}  // namespace
}  // namespace corbel::model
