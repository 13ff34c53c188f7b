// SPDX-License-Identifier: Apache-2.0
// The edges over which a node of a flow graph sends its messages
// (include/corbel/detail/flow/successors.hpp), while edges are added, removed, and taken over by
// successors that reject a message: each message goes to every successor that stays, never twice,
// and what is reached was published.
#include <corbel/detail/flow/successors.hpp>

#include <array>

#include "blocks.hpp"
#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

struct alignas(8) Successor {
  Var<int> content;  // set before the edge is added
};

using List = detail::edge_list<Successor, Atomic, Mutex>;
using Names = std::string;  // successors a, b, ...

// The list is the first member of the tests.
constexpr int kFirst = 0;
constexpr int kSecond = 1;  // or the table
constexpr int kLock = 2;
constexpr int kTold = 3;

// What one thread does: adds (+) or removes (-) the edge to a successor, whose name follows; takes
// an edge over, as a successor that rejects a message (!), gives it back (?), or removes it before
// that (x); sends a message (*); tells the other threads (t), or sends a message if it was told
// (k).
struct Threads {
  Names before = {};  // the edges that are there from the beginning
  std::array<const char*, 3> acts{};
  Names always = {};   // those that no thread removes or takes over
  Names removed = {};  // those that are gone once a thread was told
};

struct Edges : Test {
  explicit Edges(const Threads& t) : threads(t) {
    forget_blocks();
    for (char name : threads.before) add(name);
  }

  List list;
  Atomic<int> told{0};
  const Threads threads;
  std::array<Successor, 9> successors;
  std::array<int, 9> edges{};  // how many there are of each: added, and not removed

  static std::size_t index(char name) { return std::size_t(name - 'a'); }

  void add(char name) {
    Successor& s = successors[index(name)];
    s.content.set(int(name));
    list.add(s);
    ++edges[index(name)];
  }

  // Passes a message on as successor_cache::put_to_all does; returns how often each got it.
  std::array<int, 9> pass() {
    std::array<int, 9> got{};
    const auto give = [&](Successor& s) {
      const std::size_t i = std::size_t(&s - successors.data());
      check(s.content.get() == int(i) + 'a', "what an edge leads to is not known");
      ++got[i];
      return false;
    };
    if (Successor* const only = list.get_only()) {
      check((reinterpret_cast<std::uintptr_t>(only) & 1) == 0, "a mark is taken for an edge");
      give(*only);
    } else {
      list.find_one(give);
    }
    return got;
  }
  void send(const Names& present, const Names& absent = "") {
    const std::array<int, 9> got = pass();
    for (int n : got) check(n <= 1, "a successor gets a message twice");
    for (char name : present) check(got[index(name)] == 1, "a successor misses a message");
    for (char name : absent) check(got[index(name)] == 0, "a message goes over a removed edge");
  }

  void run(int thread) override {
    Names own = threads.always;
    for (const char* act = threads.acts[std::size_t(thread)]; *act != 0; ++act) {
      switch (*act) {
        case '+':
          add(*++act);
          own += *act;
          break;
        case '-':
          check(list.remove(successors[index(*++act)]), "an edge is lost");
          --edges[index(*act)];
          break;
        case '!':
          list.set_aside_if(successors[index(*++act)], [] { return true; });
          break;
        case '?':
          list.add(successors[index(*++act)]);
          break;
        case 'x':
          check(!list.remove(successors[index(*++act)]), "an edge is removed that is not there");
          --edges[index(*act)];
          break;
        case '*':
          send(own);
          break;
        case 't':
          told.fetch_add(1, release);
          break;
        case 'k':
          if (told.load(acquire) != 0) send(own, threads.removed);
          break;
        default:
          check(false, "no such act");
      }
    }
  }

  void finish() override {
    const std::array<int, 9> got = pass();
    for (std::size_t i = 0; i < 9; ++i) {
      check(got[i] >= edges[i], "an edge is lost");
      check(got[i] <= edges[i], "there are two edges instead of one");
    }
    bool none = true;
    for (int n : edges) none = none && n == 0;
    check(list.empty() == none, "the list is empty or not, and says the opposite");
    list.clear();
    check(list.empty(), "an edge remains");
  }
};

Result run(const Threads& threads, const Mutation& mutation = nullptr) {
  return explore<Edges>(threads.acts[2] == nullptr ? 2 : 3, mutation, threads);
}

// A rejecting successor takes the edge over while a message of another thread may make it free. The
// edge is either in the list or known to the successor, and the list never has it twice.
struct TakesOver : Test {
  explicit TakesOver(bool registers_first = false) : registers_first(registers_first) {
    forget_blocks();
    list.add(successor);
    list.add(other);
  }

  List list;
  const bool registers_first;  // a mutant
  Successor successor, other;
  Mutex lock;
  Var<int> predecessors;  // that the successor knows

  bool register_predecessor() {
    MutexGuard guard(lock);
    predecessors.set(predecessors.get() + 1);
    return true;
  }
  int count_edges() {
    int edges = 0;
    list.find_one([&](Successor& s) {
      edges += &s == &successor ? 1 : 0;
      return false;
    });
    return edges;
  }

  void run(int thread) override {
    if (thread == 0) {
      if (registers_first) register_predecessor();
      list.set_aside_if(successor, [&] { return registers_first || register_predecessor(); });
      return;
    }
    {
      MutexGuard guard(lock);
      if (predecessors.get() == 0) return;
      predecessors.set(predecessors.get() - 1);
    }
    list.add(successor);
    check(count_edges() <= 1, "there are two edges instead of one");
  }

  void finish() override {
    check(count_edges() + predecessors.get() == 1, "an edge is lost, or there are two");
  }
};

// An edge that was set aside from the beginning is offered to the successor while another thread
// removes it: it is in neither place then.
struct OffersEdge : Test {
  enum How { kTaken, kRefused, kLooksFirst };  // the last one is a mutant

  explicit OffersEdge(How h) : how(h) {
    forget_blocks();
    list.add_aside(successor);
    list.add(other);
  }

  List list;
  const How how;
  Successor successor, other;
  Mutex lock;
  Var<int> predecessors;  // that the successor knows

  bool add_predecessor() {
    MutexGuard guard(lock);
    predecessors.set(predecessors.get() + 1);
    return true;
  }
  void remove_predecessor() {
    MutexGuard guard(lock);
    if (predecessors.get() != 0) predecessors.set(predecessors.get() - 1);
  }

  void run(int thread) override {
    if (thread == 1) {
      list.remove(successor, [&] { remove_predecessor(); });
    } else if (how == kLooksFirst) {
      bool is_aside = false;
      list.add_back_unless(successor, [&] { return is_aside = true; });
      if (is_aside) add_predecessor();
    } else {
      list.add_back_unless(successor, [&] { return how == kTaken && add_predecessor(); });
    }
  }

  void finish() override {
    check(predecessors.get() == 0, "the successor keeps an edge that was removed");
    list.remove(other);
    check(list.empty(), "a removed edge comes back");
  }
};

const Threads kTwoAdd{.acts = {"+a*", "+b*"}};
const Threads kThreeAdd{.acts = {"+a", "+b", "+c"}};
const Threads kAddsWhileItSends{.before = "a", .acts = {"+b*", "**"}, .always = "a"};
const Threads kMakesTheTable{.before = "ab", .acts = {"+c*", "**"}, .always = "ab"};
const Threads kTableWhileTakenOver{.before = "ab", .acts = {"!b+c?b", "!a?a", "*"}};
const Threads kTwoOfTwoComeBack{.before = "ab", .acts = {"!a!b?b?a", "**"}};
const Threads kFirstIsLeftAlone{.before = "ab", .acts = {"!a-b?a", "**"}};
// The table has six places, and one more edge lies in the list itself.
const Threads kGrows{.before = "abcdefg", .acts = {"+h", "*"}, .always = "abcdefg"};
const Threads kRemoves{.before = "abc", .acts = {"-a-bt", "*k"}, .always = "c", .removed = "ab"};
const Threads kRemovesWhileItGrows{
    .before = "abcdefg", .acts = {"-ct", "+h", "k"}, .always = "abdefg", .removed = "c"};
const Threads kOnlyIsTakenOver{.before = "a", .acts = {"!a?a", "**"}};
const Threads kTakenOverWhileItAdds{.before = "a", .acts = {"+b!a?a", "**"}};
const Threads kTwoComeBack{.before = "abc", .acts = {"!a!c?c?a", "**"}, .always = "b"};
const Threads kTwoThreadsTakeOver{.before = "abc", .acts = {"!a?a", "!c?c", "*"}, .always = "b"};
const Threads kRemovedWhileTakenOver{.before = "ab", .acts = {"!axa", "+c*", "*"}, .always = "b"};

TEST(EdgeList, TwoThreadsAdd) { EXPECT_SOUND(run(kTwoAdd)); }
TEST(EdgeList, ThreeThreadsAdd) { EXPECT_SOUND(run(kThreeAdd)); }
TEST(EdgeList, AddsWhileItSends) { EXPECT_SOUND(run(kAddsWhileItSends)); }
TEST(EdgeList, MakesTheTable) { EXPECT_SOUND(run(kMakesTheTable)); }
TEST(EdgeList, MakesTheTableWhileTakenOver) { EXPECT_SOUND(run(kTableWhileTakenOver)); }
TEST(EdgeList, BothComeBack) { EXPECT_SOUND(run(kTwoOfTwoComeBack)); }
TEST(EdgeList, FirstIsLeftAlone) { EXPECT_SOUND(run(kFirstIsLeftAlone)); }
TEST(EdgeList, Grows) { EXPECT_SOUND(run(kGrows)); }
TEST(EdgeList, Removes) { EXPECT_SOUND(run(kRemoves)); }
TEST(EdgeList, RemovesWhileItGrows) { EXPECT_SOUND(run(kRemovesWhileItGrows)); }
TEST(EdgeList, OnlyEdgeIsTakenOver) { EXPECT_SOUND(run(kOnlyIsTakenOver)); }
TEST(EdgeList, TakenOverWhileItAdds) { EXPECT_SOUND(run(kTakenOverWhileItAdds)); }
TEST(EdgeList, TwoEdgesComeBack) { EXPECT_SOUND(run(kTwoComeBack)); }
TEST(EdgeList, TwoThreadsTakeOver) { EXPECT_SOUND(run(kTwoThreadsTakeOver)); }
TEST(EdgeList, RemovedWhileTakenOver) { EXPECT_SOUND(run(kRemovedWhileTakenOver)); }
TEST(EdgeList, TakesOver) { EXPECT_SOUND((explore<TakesOver>(2, nullptr))); }
TEST(EdgeList, OffersAnEdgeThatIsRemoved) {
  EXPECT_SOUND((explore<OffersEdge>(2, nullptr, OffersEdge::kTaken)));
  EXPECT_SOUND((explore<OffersEdge>(2, nullptr, OffersEdge::kRefused)));
}

// No table is lost or freed twice, whichever was the last.
TEST(EdgeList, FreesItsTables) {
  EXPECT_SOUND(run(kGrows));
  EXPECT_EQ(count_blocks(), 0U);
}

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(Op op, std::memory_order from, int location = -1) {
  return [=](Step& step) {
    if (step.op != op || step.order != from || step.location == kTold) return;
    if (location < 0 || step.location == location) step.order = relaxed;
  };
}

TEST(EdgeListMutant, FirstEdgeIsNotReleased) {
  EXPECT_BROKEN(run({.acts = {"+a", "*"}}, weaken(Op::kStore, release, kFirst)), "data race");
}
TEST(EdgeListMutant, FirstEdgeIsNotAcquired) {
  EXPECT_BROKEN(run({.acts = {"+a", "*"}}, weaken(Op::kLoad, acquire, kFirst)), "data race");
}
TEST(EdgeListMutant, TableIsNotReleased) {
  EXPECT_BROKEN(run(kMakesTheTable, weaken(Op::kStore, release, kSecond)), "be constructed");
}
TEST(EdgeListMutant, TableIsNotAcquired) {
  EXPECT_BROKEN(run(kMakesTheTable, weaken(Op::kLoad, acquire, kSecond)), "be constructed");
}
// The edges in a table that is there already.
TEST(EdgeListMutant, EdgeInTheTableIsNotReleased) {
  const Threads threads{.before = "abc", .acts = {"+d", "*"}, .always = "abc"};
  EXPECT_BROKEN(run(threads, weaken(Op::kStore, release)), "data race");
}
TEST(EdgeListMutant, EdgeInTheTableIsNotAcquired) {
  const Threads threads{.before = "abc", .acts = {"+d", "*"}, .always = "abc"};
  EXPECT_BROKEN(run(threads, weaken(Op::kLoad, acquire)), "data race");
}
TEST(EdgeListMutant, PlaceIsNotKept) {
  const Mutation forgets = [](Step& step) {
    if (step.op == Op::kStore && (step.operand & 1) != 0) step.operand = 0;
  };
  EXPECT_BROKEN(run(kTwoComeBack, forgets), "twice");
  EXPECT_BROKEN(run(kTwoThreadsTakeOver, forgets), "twice");
  EXPECT_BROKEN(run(kTwoOfTwoComeBack, forgets), "twice");
}
TEST(EdgeListMutant, EdgesAreAddedWithoutTheLock) {
  const Mutation unlocked = [](Step& step) {
    if (step.location == kLock) step.op = Op::kNothing;
  };
  EXPECT_BROKEN(run({.before = "abc", .acts = {"+d", "+e"}}, unlocked), "an edge is lost");
}
TEST(EdgeListMutant, SuccessorTakesOverWithoutTheLock) {
  EXPECT_BROKEN((explore<TakesOver>(2, nullptr, true)), "two edges");
}
TEST(EdgeListMutant, OffersAnEdgeAfterALook) {
  EXPECT_BROKEN((explore<OffersEdge>(2, nullptr, OffersEdge::kLooksFirst)), "keeps an edge");
}
// The table that has been replaced is freed, and its memory used again.
TEST(EdgeListMutant, ReplacedTableIsFreed) {
  struct Table {
    Table* older;
    std::uint32_t capacity;
  };
  Table* newest = nullptr;
  const Mutation frees = [&](Step& step) {
    if (step.location == kSecond && step.op == Op::kStore)
      newest = reinterpret_cast<Table*>(step.operand & ~std::uint64_t{2});
    if (step.location != kLock || step.op != Op::kUnlock || newest == nullptr) return;
    Table* const freed = newest->older;
    newest = nullptr;
    if (freed == nullptr) return;
    auto* const place = reinterpret_cast<Atomic<std::uintptr_t>*>(freed + 1);
    for (std::uint32_t i = 0; i < freed->capacity; ++i) new (place + i) Atomic<std::uintptr_t>(0);
  };
  EXPECT_BROKEN(run(kGrows, frees), "be constructed");
}

}  // namespace
}  // namespace corbel::model
