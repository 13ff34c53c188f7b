// SPDX-License-Identifier: Apache-2.0
// The protocols of concurrent_hash_map. The lock of an element (detail/element_lock.hpp): accessors
// exclude each other, and one thread destroys an erased element when no thread reads it. The chains
// (detail/hash_chains.hpp): a look-up finds what is there, while a thread links, unlinks and
// splits.
#include <corbel/detail/element_lock.hpp>
#include <corbel/detail/hash_chains.hpp>

#include <array>
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
// lock of the bucket; 'e' erases; 'h' gets the element for writing and erases it.
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

  void destroy() {
    check(++destroyed == 1, "the element is destroyed twice");
    check(inside == 0, "the element is destroyed while a thread is inside");
    content.set(0);
    key.set(0);
  }

  template <std::uint32_t kHolder>
  bool enter() {
    const Lock::outcome outcome = lock.try_enter<kHolder>();
    if (outcome == Lock::outcome::kLast) destroy();
    return outcome == Lock::outcome::kHeld;
  }
  void leave(std::uint32_t holder) {
    if (lock.leave(holder)) destroy();
  }

  void run(int thread) override {
    switch (acts[std::size_t(thread)]) {
      case 'r':
        if (!enter<Lock::kReader>()) return;
        check(++inside < 100, "a reader is inside with a writer");
        check(content.get() == 1 || content.get() == 2, "the content is that of no write");
        --inside;
        return leave(Lock::kReader);
      case 'w':
        if (!enter<Lock::kWriter>()) return;
        write();
        return leave(Lock::kWriter);
      case 'p':
        if (!enter<Lock::kPin>()) return;
        check(key.get() == 1, "the key is destroyed");
        return leave(Lock::kPin);
      case 'c': {
        const MutexGuard guard(bucket);
        if (!lock.is_dead()) check(key.get() == 1, "the key is destroyed");
        return;
      }
      case 'e':
        return erase([this] { return lock.kill(); }, [] {});
      default:
        if (!enter<Lock::kWriter>()) return;
        write();
        erase([this] { return lock.kill_and_leave(Lock::kWriter); },
              [this] { leave(Lock::kWriter); });
    }
  }

  void write() {
    check((inside += 100) == 100, "a writer is not alone");
    content.set(2);
    inside -= 100;
  }

  template <typename Kill, typename Otherwise>
  void erase(const Kill& kill, const Otherwise& otherwise) {
    bool is_last = false;
    {
      const MutexGuard guard(bucket);
      if (lock.is_dead()) {
        otherwise();
        return;
      }
      ++erased;
      is_last = kill();
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

// ---- the chains ------------------------------------------------------------------------------

struct Sizes {
  static constexpr unsigned kFirstBits = 1;
  static constexpr std::size_t kSegments = 2;
  static constexpr std::size_t kBatch = 64;
};

using Chains = detail::basic_hash_chains<Atomic, Sizes>;
using Base = detail::basic_chain_node<Atomic>;

struct Node : Base {
  Var<int> content;

  void prepare(std::uint32_t node_hash) {
    hash = node_hash;
    content.set(1);
  }
};

// Hashes of bucket 1: the first two stay in it, the others go to bucket 3 when it is split off.
constexpr std::uint32_t kHashes[] = {1, 1 + 4, 3, 3 + 4};
constexpr int kNodes = 4;

// What thread 0 does: a digit links the node of that number, '-' and a digit unlinks it, 's' adds
// buckets and splits them off. The other threads look for one node each.
struct Chained : Test {
  Chained(const std::string& before, const std::string& all, const std::string& wanted)
      : chains(*new(storage) Chains), acts(all), looks(wanted) {
    blocks.clear();
    perform(before);
    linked_before = linked;
  }

  alignas(Chains) std::byte storage[sizeof(Chains)];  // never destroyed
  Chains& chains;
  std::array<Node, kNodes> nodes;
  const std::string acts;
  const std::string looks;
  std::array<bool, kNodes> linked{};
  std::array<bool, kNodes> linked_before{};
  static inline std::vector<std::unique_ptr<std::byte[]>> blocks;

  void perform(const std::string& what) {
    for (std::size_t i = 0; i < what.size(); ++i) {
      if (what[i] == 's') {
        chains.grow(4, [](std::size_t n) {
          const auto& block = blocks.emplace_back(new std::byte[n * sizeof(Chains::bucket)]);
          return reinterpret_cast<Chains::bucket*>(block.get());
        });
        continue;
      }
      const bool unlinks = what[i] == '-';
      if (unlinks) ++i;
      const auto number = std::size_t(what[i] - '0');
      Node& node = nodes[number];
      linked[number] = !unlinks;
      if (!unlinks) node.prepare(kHashes[number]);
      Chains::locked in(chains, kHashes[number]);
      in.to(kHashes[number]);
      if (unlinks) {
        check(in.here() == &node, "a linked node is not in its place");
        in.unlink();
      } else {
        check(in.here() != &node, "a node is linked already");
        in.link(&node);
      }
    }
  }

  bool look(std::size_t number) {
    return chains.look(kHashes[number], [&](Base* found) {
      check(found == &nodes[number], "another node is found");
      check(nodes[number].content.get() == 1, "the content is wrong");
      return true;
    });
  }

  void run(int thread) override {
    if (thread == 0) return perform(acts);
    const auto number = std::size_t(looks[std::size_t(thread - 1)] - '0');
    const bool found = look(number);
    const bool stays = linked_before[number] && acts.find(char('0' + number)) == std::string::npos;
    if (stays) check(found, "a look-up misses a node");
  }

  void finish() override {
    for (std::size_t i = 0; i < kNodes; ++i) check(look(i) == linked[i], "the chains are wrong");
  }
};

Result run(const std::string& before, const std::string& acts, const std::string& looks,
           const Mutation& mutation = nullptr) {
  return explore<Chained>(1 + int(looks.size()), mutation, before, acts, looks);
}

TEST(HashChains, Linking) {
  EXPECT_SOUND(run("", "0", "0"));
  EXPECT_SOUND(run("03", "12", "3"));
  EXPECT_SOUND(run("03", "1", "13"));
}
TEST(HashChains, Unlinking) {
  EXPECT_SOUND(run("013", "-1", "3"));
  EXPECT_SOUND(run("0123", "-0-1", "3"));
  EXPECT_SOUND(run("0123", "-1-2", "13"));
  EXPECT_SOUND(run("013", "-12", "3"));
}
TEST(HashChains, Splitting) {
  EXPECT_SOUND(run("0123", "s", "3"));
  EXPECT_SOUND(run("0123", "s", "1"));
  EXPECT_SOUND(run("23", "s", "2"));
}
TEST(HashChains, SplittingAndChanging) {
  EXPECT_SOUND(run("013", "s2", "3"));
  EXPECT_SOUND(run("0123", "s-2", "3"));
  EXPECT_SOUND(run("0123", "s-1", "3"));
}

// The locations in the order of construction: the number of buckets, 2 segments, 2 buckets, two
// words about growing, the links of the nodes.
constexpr int kLinks = 1 + 2 + 2 + 2;

// Not among the mutants: (6). A node that it publishes was linked before (9), unless two threads
// change the chains at a time.
Mutation weaken_all(Op op, std::memory_order from) {
  return [=](Step& step) {
    if (step.op == op && step.order == from) step.order = relaxed;
  };
}

TEST(HashChainsMutant, NodesAreNotReleased) {
  EXPECT_BROKEN(run("", "0", "0", weaken_all(Op::kStore, release)), "data race");
}
TEST(HashChainsMutant, NodesAreNotAcquired) {
  EXPECT_BROKEN(run("", "0", "0", weaken_all(Op::kLoad, acquire)), "data race");
}
// The reader sees the cut and not the child.
TEST(HashChainsMutant, CutIsNotReleased) {
  EXPECT_BROKEN(run("0123", "s", "3", weaken(kLinks + 1, Op::kStore, release, relaxed)), "misses");
}
TEST(HashChainsMutant, CutIsNotAcquired) {
  EXPECT_BROKEN(run("0123", "s", "3", weaken(kLinks + 1, Op::kLoad, acquire, relaxed)), "misses");
}
TEST(HashChainsMutant, BucketsAreNotReleased) {
  EXPECT_BROKEN(run("0123", "s", "3", weaken(0, Op::kStore, release, relaxed)), "constructed");
}

}  // namespace
}  // namespace corbel::model
