// SPDX-License-Identifier: Apache-2.0
// The protocols of concurrent_hash_map. The lock of an element (detail/element_lock.hpp): accessors
// exclude each other, and one thread destroys an erased element when no thread reads it. The
// buckets (detail/hash_buckets.hpp): a look-up finds what is there, while a thread links, unlinks
// and splits.
#include <corbel/detail/element_lock.hpp>
#include <corbel/detail/hash_buckets.hpp>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

Mutation weaken(int location, Op op, std::memory_order from, std::memory_order to) {
  return [=](Step& step) {
    if (step.location == location && step.op == op && step.order == from) step.order = to;
  };
}

// ---- the lock of an element ------------------------------------------------------------------

using Lock = detail::basic_element_lock<Atomic>;

// What each thread does: 'r' reads, 'w' writes, 'p' compares the key under a pin, 'c' under the
// lock of the bucket; 'e' erases; 'h' gets the element for writing and erases it. A capital: the
// thread is in no reading section when it leaves or kills.
struct Element : Test {
  explicit Element(const std::string& all) : acts(all), lock(0), bucket(), content(1), key(1) {}

  const std::string acts;
  Lock lock;  // the first location
  Mutex bucket;
  Var<int> content;
  Var<int> key;
  int inside = 0;  // writers count as 100
  int erased = 0;
  int destroyed = 0;
  int unprotected = 0;  // threads that leave or kill and are in no reading section

  void destroy() {
    check(++destroyed == 1, "the element is destroyed twice");
    check(inside == 0, "the element is destroyed while a thread is inside");
    check(unprotected == 0, "the lock is freed while a thread uses it");
    content.set(0);
    key.set(0);
  }

  template <std::uint32_t kHolder>
  bool enter() {
    const Lock::outcome outcome = lock.try_enter<kHolder>();
    if (outcome == Lock::outcome::kLast) destroy();
    return outcome == Lock::outcome::kHeld;
  }
  // Runs the last step of a thread. Returns what it returns.
  template <typename Step>
  bool last(int thread, const Step& step) {
    const int here = std::isupper(acts[std::size_t(thread)]) != 0 ? 1 : 0;
    unprotected += here;
    const bool result = step();
    unprotected -= here;
    return result;
  }
  void leave(int thread, std::uint32_t holder) {
    if (last(thread, [&] { return lock.leave(holder); })) destroy();
  }

  void run(int thread) override {
    switch (std::tolower(acts[std::size_t(thread)])) {
      case 'r':
        if (!enter<Lock::kReader>()) return;
        check(++inside < 100, "a reader is inside with a writer");
        check(content.get() == 1 || content.get() == 2, "the content is that of no write");
        --inside;
        return leave(thread, Lock::kReader);
      case 'w':
        if (!enter<Lock::kWriter>()) return;
        write();
        return leave(thread, Lock::kWriter);
      case 'p':
        if (!enter<Lock::kPin>()) return;
        check(key.get() == 1, "the key is destroyed");
        return leave(thread, Lock::kPin);
      case 'c': {
        const MutexGuard guard(bucket);
        if (!lock.is_dead()) check(key.get() == 1, "the key is destroyed");
        return;
      }
      case 'e':
        return erase(thread, [this] { return lock.kill(); }, [] {});
      default:
        if (!enter<Lock::kWriter>()) return;
        write();
        erase(
            thread, [this] { return lock.kill_and_leave(Lock::kWriter); },
            [&] { leave(thread, Lock::kWriter); });
    }
  }

  void write() {
    check((inside += 100) == 100, "a writer is not alone");
    content.set(2);
    inside -= 100;
  }

  template <typename Kill, typename Otherwise>
  void erase(int thread, const Kill& kill, const Otherwise& otherwise) {
    bool is_last = false;
    {
      const MutexGuard guard(bucket);
      if (lock.is_dead()) {
        otherwise();
        return;
      }
      ++erased;
      is_last = last(thread, kill);
    }
    if (is_last) destroy();
  }

  void finish() override {
    const bool erases = acts.find('e') != std::string::npos;
    check(!erases || erased == 1, "the element is erased by several threads");
    check(destroyed == erased, "an erased element is not destroyed");
    if (erased == 0) check(enter<Lock::kWriter>(), "the lock is not free at the end");
  }
};

Result run(const std::string& acts, const Mutation& mutation = nullptr) {
  return explore<Element>(int(acts.size()), mutation, acts);
}

TEST(ElementLock, ReadersAndWriters) {
  EXPECT_SOUND(run("rw"));
  EXPECT_SOUND(run("ww"));
  EXPECT_SOUND(run("rww"));
  EXPECT_SOUND(run("rrw"));
}
TEST(ElementLock, Erasing) {
  EXPECT_SOUND(run("re"));
  EXPECT_SOUND(run("we"));
  EXPECT_SOUND(run("rre"));
  EXPECT_SOUND(run("rwe"));
  EXPECT_SOUND(run("ee"));
  EXPECT_SOUND(run("pwe"));
}
TEST(ElementLock, ErasingWhatIsHeld) {
  EXPECT_SOUND(run("rh"));
  EXPECT_SOUND(run("hh"));
  EXPECT_SOUND(run("he"));
  EXPECT_SOUND(run("rhe"));
  EXPECT_SOUND(run("phe"));
}
TEST(ElementLock, ComparingUnderTheLockOfTheBucket) {
  EXPECT_SOUND(run("cwe"));
  EXPECT_SOUND(run("ch"));
}

constexpr int kWord = 0;

// A thread that has left, or killed, looks at the word again.
TEST(ElementLockMutant, LeavingOutsideAReadingSection) {
  EXPECT_BROKEN(run("Rep"), "the lock is freed while a thread uses it");
  EXPECT_BROKEN(run("Wep"), "the lock is freed while a thread uses it");
}
TEST(ElementLockMutant, KillingOutsideAReadingSection) {
  EXPECT_BROKEN(run("rEp"), "the lock is freed while a thread uses it");
  EXPECT_BROKEN(run("Hp"), "the lock is freed while a thread uses it");
}

TEST(ElementLockMutant, LeavingIsNotReleased) {
  EXPECT_BROKEN(run("ww", weaken(kWord, Op::kFetch, release, relaxed)), "data race");
  EXPECT_BROKEN(run("re", weaken(kWord, Op::kFetch, release, relaxed)), "data race");
}
TEST(ElementLockMutant, EnteringIsNotAcquired) {
  EXPECT_BROKEN(run("rw", weaken(kWord, Op::kFetch, acquire, relaxed)), "data race");
  EXPECT_BROKEN(run("ww", weaken(kWord, Op::kCompareExchange, acquire, relaxed)), "data race");
}
TEST(ElementLockMutant, DestroyingIsNotAcquired) {
  EXPECT_BROKEN(run("re", weaken(kWord, Op::kCompareExchange, acquire, relaxed)), "data race");
}
// The thread that compared is known to the one that erases, not to the one that destroys.
TEST(ElementLockMutant, KillingIsNotReleased) {
  const Mutation weak = [](Step& step) {
    const bool kills = step.location == kWord && step.op == Op::kFetch && step.operand == 4;
    if (kills) step.order = relaxed;
  };
  EXPECT_BROKEN(run("cwe", weak), "data race");
}

// ---- the buckets -----------------------------------------------------------------------------

struct Sizes {
  static constexpr unsigned kFirstBits = 1;
  static constexpr std::size_t kSegments = 2;
  static constexpr std::size_t kBatch = 64;
};

using Buckets = detail::basic_hash_buckets<Atomic, Sizes>;
using Base = detail::hashed_node;

struct Node : Base {
  Var<int> content;

  void prepare(std::uint32_t node_hash) {
    hash = node_hash;
    content.set(1);
  }
};

// Memory that outlives the readers: retired blocks must stay as they are.
struct Source {
  Buckets::bucket* allocate_buckets(std::size_t n) const {
    const auto& block = blocks().emplace_back(new std::byte[(n + 1) * sizeof(Buckets::bucket)]);
    return reinterpret_cast<Buckets::bucket*>(block.get());
  }
  void free_buckets(Buckets::bucket*, std::size_t) const {}
  void retire_block(Buckets::bucket*) const {}

  static std::vector<std::unique_ptr<std::byte[]>>& blocks() {
    static std::vector<std::unique_ptr<std::byte[]>> all;
    return all;
  }
};

// The nodes are a, b, c ... in bucket 1. Those from a on stay in it when bucket 3 is split off,
// those from k on go there. b and l have equal tags, as have c and m.
constexpr int kNodes = 20;
constexpr int kFirstMoving = 10;

std::uint32_t hash_of(int number) {
  static const std::vector<std::uint32_t> all = [] {
    std::vector<std::uint32_t> made(kNodes);
    std::vector<std::uint64_t> used;
    const auto find = [&](std::uint32_t from, std::uint64_t tag) {
      for (std::uint32_t hash = from;; hash += 4) {
        const std::uint64_t own = detail::hash_tags::of(hash);
        bool fits = tag == 0 || own == tag;
        for (const std::uint64_t other : used) fits = fits && (tag != 0 || other != own);
        for (const std::uint32_t other : made) fits = fits && other != hash;
        if (!fits) continue;
        used.push_back(own);
        return hash;
      }
    };
    for (int i = 0; i < kFirstMoving; ++i) made[std::size_t(i)] = find(1, 0);
    for (int i = kFirstMoving; i < kNodes; ++i) {
      const bool is_equal = i == kFirstMoving + 1 || i == kFirstMoving + 2;
      made[std::size_t(i)] =
          find(3, is_equal ? detail::hash_tags::of(made[std::size_t(i - kFirstMoving)]) : 0);
    }
    return made;
  }();
  return all[std::size_t(number)];
}

// What thread 0 does: a letter links the node of that name, '-' and a letter unlinks it, '+' adds
// buckets and splits them off. The other threads look for one node each.
struct Filled : Test {
  Filled(const std::string& before, const std::string& all, const std::string& wanted)
      : buckets(*new(storage) Buckets), acts(all), looks(wanted) {
    Source::blocks().clear();
    perform(before);
    linked_before = linked;
  }

  alignas(Buckets) std::byte storage[sizeof(Buckets)];  // never destroyed
  Buckets& buckets;
  std::array<Node, kNodes> nodes;
  const std::string acts;
  const std::string looks;
  std::array<bool, kNodes> linked{};
  std::array<bool, kNodes> linked_before{};

  void perform(const std::string& what) {
    const Source source;
    for (std::size_t i = 0; i < what.size(); ++i) {
      if (what[i] == '+') {
        buckets.grow(4, source);
        continue;
      }
      const bool unlinks = what[i] == '-';
      if (unlinks) ++i;
      const int number = what[i] - 'a';
      Node& node = nodes[std::size_t(number)];
      linked[std::size_t(number)] = !unlinks;
      if (!unlinks) node.prepare(hash_of(number));
      Buckets::spare_blocks<Source> spare(source);
      for (bool done = false; !done;) {
        Buckets::locked in(buckets, hash_of(number));
        const bool is_there =
            in.find(hash_of(number), [&](Base* found) { return found == &node; }) != nullptr;
        check(is_there == unlinks, "a linked node is not in its place, or one that is not");
        done = true;
        if (unlinks) {
          in.unlink();
        } else if (!in.link(&node, hash_of(number), spare)) {
          in.unlock();
          spare.add();
          done = false;
        }
      }
    }
  }

  bool look(int number) {
    return buckets.look(hash_of(number), [&](Base* found) {
      check(found == &nodes[std::size_t(number)], "another node is found");
      check(nodes[std::size_t(number)].content.get() == 1, "the content is wrong");
      return true;
    });
  }

  void run(int thread) override {
    if (thread == 0) return perform(acts);
    const char name = looks[std::size_t(thread - 1)];
    const bool found = look(name - 'a');
    const bool stays =
        linked_before[std::size_t(name - 'a')] && acts.find(name) == std::string::npos;
    if (stays) check(found, "a look-up misses a node");
    const bool is_unlinked = acts.find(std::string("-") + name) != std::string::npos;
    if (found && !stays && !is_unlinked) check(look(name - 'a'), "a node is found, then missed");
  }

  void finish() override {
    for (int i = 0; i < kNodes; ++i) {
      check(look(i) == linked[std::size_t(i)], "the buckets are wrong");
    }
  }
};

Result run(const std::string& before, const std::string& acts, const std::string& looks,
           const Mutation& mutation = nullptr) {
  return explore<Filled>(1 + int(looks.size()), mutation, before, acts, looks);
}

TEST(HashBuckets, Linking) {
  EXPECT_SOUND(run("", "a", "a"));
  EXPECT_SOUND(run("ak", "bl", "k"));
  EXPECT_SOUND(run("ak", "b", "bk"));
}
TEST(HashBuckets, Unlinking) {
  EXPECT_SOUND(run("abk", "-b", "k"));
  EXPECT_SOUND(run("abkl", "-a-b", "k"));
  EXPECT_SOUND(run("abkl", "-b-l", "bk"));
  EXPECT_SOUND(run("abk", "-bl", "k"));
  // l gets the slot and the tag of b.
  EXPECT_SOUND(run("ab", "-bl", "bl"));
}
// A full bucket gets a block.
TEST(HashBuckets, Overflowing) {
  EXPECT_SOUND(run("abcdefg", "h", "g"));
  EXPECT_SOUND(run("abcdefg", "h", "gh"));
  EXPECT_SOUND(run("abcdefgh", "-a-g", "h"));
  EXPECT_SOUND(run("abcdefg", "h-a", "g"));
  EXPECT_SOUND(run("abcdefghijknop", "q", "g"));
}
// The first of two blocks becomes empty, and the second one takes its place.
TEST(HashBuckets, UnlinkingABlock) {
  const std::string before = "abcdefghijknopq-g-h-i-j-k";
  EXPECT_SOUND(run(before, "-n", "q"));
  EXPECT_SOUND(run(before, "-n-o", "p"));
  EXPECT_SOUND(run(before, "-nr", "q"));
  EXPECT_SOUND(run(before, "-n+", "q"));
  EXPECT_SOUND(run("abcdefghijkno", "p-g-h-i-j-k-n", "o"));
  // Of three, the second one, then the first one.
  const std::string three = "abcdefghijknopqrstlm-g-h-i-j-k-o-p-q-r-s";
  EXPECT_SOUND(run(three, "-t", "m"));
  EXPECT_SOUND(run(three, "-t-n", "m"));
}
TEST(HashBuckets, Splitting) {
  EXPECT_SOUND(run("abkl", "+", "k"));
  EXPECT_SOUND(run("abkl", "+", "b"));
  EXPECT_SOUND(run("kl", "+", "l"));
}
TEST(HashBuckets, SplittingAndChanging) {
  EXPECT_SOUND(run("abk", "+l", "k"));
  EXPECT_SOUND(run("abkl", "+-l", "k"));
  EXPECT_SOUND(run("abkl", "+-b", "k"));
  // c gets the slot and m had its tag.
  EXPECT_SOUND(run("abm", "+c", "m"));
}
// Nodes leave the block, which is unlinked.
TEST(HashBuckets, SplittingWithBlock) {
  EXPECT_SOUND(run("klmnopab", "+", "a"));
  EXPECT_SOUND(run("klmnopab", "+", "b"));
  EXPECT_SOUND(run("abcdopkl", "+", "k"));
  EXPECT_SOUND(run("abcdopkl", "+ef", "d"));
}
// ... or stay in it.
TEST(HashBuckets, SplittingWithBlockThatStays) {
  EXPECT_SOUND(run("abcdefghk", "+", "h"));
  EXPECT_SOUND(run("abcdefghk", "+", "k"));
  EXPECT_SOUND(run("abcdefghk", "+i", "g"));
}
// The bucket gets another block where the first one was.
TEST(HashBuckets, SplittingAndOverflowing) {
  EXPECT_SOUND(run("klmnopab", "+cdefgh", "a"));
  EXPECT_SOUND(run("klmnopab", "+cdefgh", "b"));
}

// The locations in the order of construction: the number of buckets, 2 segments, 2 buckets of 8
// words.
constexpr int kState = 1 + 2 + 8;  // of bucket 1
[[maybe_unused]] constexpr int kSlots = kState + 1;

// Not among the mutants: (6). A node that it publishes was linked before (10), unless two threads
// change the buckets at a time.
Mutation weaken_all(Op op, std::memory_order from) {
  return [=](Step& step) {
    if (step.op == op && step.order == from) step.order = relaxed;
  };
}
Mutation without_version(Op op) {
  return [=](Step& step) {
    if (step.location == kState && step.op == op) step.operand &= ~std::uint64_t{0xfc};
  };
}

TEST(HashBucketsMutant, NodesAreNotReleased) {
  EXPECT_BROKEN(run("", "a", "a", weaken_all(Op::kStore, release)), "data race");
}
TEST(HashBucketsMutant, NodesAreNotAcquired) {
  EXPECT_BROKEN(run("", "a", "a", weaken_all(Op::kLoad, acquire)), "data race");
}
// The reader sees the cut and not the child.
TEST(HashBucketsMutant, CutIsNotReleased) {
  EXPECT_BROKEN(run("abkl", "+", "k", weaken(kState, Op::kStore, release, relaxed)), "misses");
}
TEST(HashBucketsMutant, CutIsNotAcquired) {
  EXPECT_BROKEN(run("abkl", "+", "k", weaken(kState, Op::kLoad, acquire, relaxed)), "misses");
}
TEST(HashBucketsMutant, BucketsAreNotReleased) {
  EXPECT_BROKEN(run("abkl", "+", "k", weaken(0, Op::kStore, release, relaxed)), "constructed");
}
// The reader sees the slots as they are after the split, with the state from before.
TEST(HashBucketsMutant, SlotsAreNotReleased) {
  EXPECT_BROKEN(run("klmnopab", "+", "a", weaken_all(Op::kStore, release)), "misses");
}
// The reader gets to the second block past the first one.
TEST(HashBucketsMutant, SkippingABlockIsNotReleased) {
  EXPECT_BROKEN(
      run("abcdefghijkno", "p-g-h-i-j-k-n", "o", weaken(kSlots + 6, Op::kStore, release, relaxed)),
      "constructed");
}
TEST(HashBucketsMutant, VersionsAreTheSame) {
  EXPECT_BROKEN(run("klmnopab", "+cdefgh", "b", without_version(Op::kStore)), "misses");
}

}  // namespace
}  // namespace corbel::model
