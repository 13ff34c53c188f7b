// SPDX-License-Identifier: Apache-2.0
// The linked towers of the ordered containers: a skip list without erasure by concurrent threads.
// Not for programs to include.
#ifndef CORBEL_DETAIL_SKIP_LIST_HPP
#define CORBEL_DETAIL_SKIP_LIST_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/skip_index.hpp>
#include <corbel/detail/swap_atomics.hpp>

namespace corbel {
namespace detail {

// A word of a tower: a link to the next tower of its level, or a hint. What follows a tower in
// memory is its element, and a pointer to a tower is the address of the element. Level 0 has one
// word, the last, so that it shares a cache line with the element; each level above has its link,
// and a hint in front of it if the list is hinted and the level one of the lower ones.
template <template <typename> class Atomic>
struct skip_word {
  Atomic<std::uintptr_t> bits;
};

// A hint is a number that has the order of the keys: if one hint is less than another, so is the
// key. This one says nothing.
constexpr std::uintptr_t kNoHint = static_cast<std::uintptr_t>(-1);

// What a search compares with: `is_before(tower)` says whether the element of the tower comes
// before the position that is searched. `hint` is that of the key, if `has_hint`; `hint_after`, if
// keys are texts, returns its hint in an index with a prefix.
template <typename IsBefore>
struct skip_target {
  const IsBefore& is_before;
  std::uintptr_t hint;
  bool has_hint;
  const void* key;
  skip_hint_after hint_after;
};

// A skip list (W. Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", 1990). Level 0
// links all towers in order; each level above links those that are higher than it. The list owns no
// memory and knows no elements: the caller passes what compares.
//
// Any number of threads may insert and search. Towers are only removed while no other thread uses
// the list, which makes the list far simpler than those of Fraser (2004) and of Herlihy and Shavit:
// no link ever leads back, or to a tower that is gone.
//
// Why it is right. A tower is in the list from the exchange (1) at level 0 on, which publishes its
// element and its link. It is linked at the levels above one after the other, so a thread that
// reaches a tower at a level by (2) sees it linked at all lower ones:
// - A search that goes down from a tower in front of the position never misses a tower that was in
//   the list before, and never runs past the tower at which the level above stopped.
// - An insertion at level 0 exchanges the link between two towers that are neighbours at that
//   moment and between which the new one belongs. If another tower has come between, the exchange
//   fails, and the thread compares again from there on. So of two threads that insert equal keys
//   into a list with unique keys, the later one meets the tower of the other.
// - The hint of a link, stored after the link (5), is not less than the hint of the tower to which
//   the link leads later (6): the towers that a link leads to come one before the other. So a
//   search moves forward by the hint alone. It also stops by the hint alone, which may be too early
//   where a hint is late, but never wrong: the search goes on one level lower. Where the exact
//   neighbour matters, and at level 0, it compares.
// - At a higher level a failed exchange is resolved without comparing, by the order at level 0. So
//   what is in the list at level 0 gets all its links even if a comparison would throw, every level
//   has the order of level 0, also among equal keys, and the height of a tower can be told from the
//   links that lead to it. It is not stored.
template <template <typename> class Atomic, bool kHinted, int kHeights = 16,
          std::size_t kMinIndexed = 512>
class basic_skip_list {
 public:
  using link = skip_word<Atomic>;
  using index = skip_index<link>;

  // One tower of four is higher than 1, one of sixteen higher than 2, and so on.
  static constexpr int kBitsPerLevel = 2;
  static constexpr int kMaxHeight = kHeights;
  // The levels above 0 that have hints: the few towers that are higher stay in the cache.
  static constexpr int kHintedLevels = 2;
  // The index has the towers that are at least so high.
  static constexpr int kIndexedHeight = 2;

  // Where a tower belongs: at each level below its height, the towers before and after it.
  struct path {
    link* before[kMaxHeight];
    link* after[kMaxHeight];
  };

  basic_skip_list() { reset(); }
  basic_skip_list(const basic_skip_list&) = delete;
  basic_skip_list& operator=(const basic_skip_list&) = delete;

  // The number of words of a tower.
  static constexpr int words_of(int height) {
    return height + (!kHinted ? 0 : height <= kHintedLevels ? height - 1 : kHintedLevels);
  }

  // The tower in front of all: it has links, and no element.
  link* head() const { return const_cast<link*>(words_) + words_of(kMaxHeight); }

  // Returns the tower after `tower` at the level, below the height of `tower`; nullptr at the end.
  static link* next(const link* tower, int level = 0) {
    // (2) acquire: sees the element and the links of the tower that (1) or (3) published
    return reinterpret_cast<link*>(at(tower, level).load(std::memory_order_acquire));
  }

  // The number of towers, and the number of levels from which a search begins.
  std::size_t size() const {
    return size_.load(std::memory_order_relaxed);  // relaxed: a number, no data
  }
  int height() const {
    return height_.load(std::memory_order_relaxed);  // relaxed: any level is a right beginning
  }

  // Returns a height for a new tower from random bits: at most one level more than the list has.
  int height_from(std::uint32_t bits) const {
    constexpr std::uint32_t kMask = (1U << kBitsPerLevel) - 1;
    const int levels = height();
    const int limit = levels < kMaxHeight ? levels + 1 : kMaxHeight;
    int drawn = 1;
    for (; drawn < limit && (bits & kMask) == 0; bits >>= kBitsPerLevel) ++drawn;
    return drawn;
  }

  // Returns the first tower that is not before the target; nullptr if there is none.
  template <typename IsBefore>
  link* find(const skip_target<IsBefore>& target) const {
    link* before = head();
    link* known = nullptr;
    link* after = nullptr;
    int level = begin(target, before, known);
    while (--level >= 0)
      after = descend(level, before, known, target, !target.has_hint || level == 0);
    return after;
  }

  // find() which also stores the path of a tower of the given height that belongs there.
  template <typename IsBefore>
  link* find_path(int height, path& p, const skip_target<IsBefore>& target) const {
    link* before = head();
    link* known = nullptr;
    link* after = nullptr;
    int level = height <= kIndexedHeight ? begin(target, before, known) : this->height();
    while (height > level) {
      --height;
      p.before[height] = before;
      p.after[height] = nullptr;
    }
    while (--level >= height) descend(level, before, known, target, !target.has_hint);
    for (; level >= 0; --level) {
      p.after[level] = after = descend(level, before, known, target, true);
      p.before[level] = before;
    }
    return after;
  }

  // Inserts a tower of the given height, with the path from find_path for the target. If other
  // towers have come between meanwhile, the target says which belong before the new one, and the
  // tower is inserted unless refuses(the tower after it). hint_of(tower) returns the hint of an
  // element. Returns nullptr if the tower is inserted, or else the one after it. What is_before and
  // refuses throw leaves the list unchanged.
  template <typename IsBefore, typename Refuses, typename HintOf>
  link* insert(link* tower, int height, path& p, const skip_target<IsBefore>& target,
               const Refuses& refuses, const HintOf& hint_of) {
    link* before = p.before[0];
    link* after = p.after[0];
    for (;;) {
      set(tower, 0, after);
      // (1) release: publishes the element and the link to (2)
      if (CORBEL_LIKELY(try_link(before, 0, after, tower))) break;
      while (after != nullptr && target.is_before(after)) {
        before = after;
        after = next(before, 0);
      }
      if (after != nullptr && refuses(after)) return after;
    }
    for (int level = 1; level < height; ++level) link_above(tower, level, p, hint_of);
    note_inserted(height);
    return nullptr;
  }

  // The newest index, or nullptr, and those before it.
  index* newest_index() const {
    // (8) acquire: sees the index and the towers of (7)
    return index_.load(std::memory_order_acquire);
  }
  // Whether an index should be made now. Returns true to one thread, which must call end_index.
  bool begin_index() {
    const index* const newest = newest_index();
    if (size() < (newest == nullptr ? kMinIndexed : 2 * newest->elements())) return false;
    // (9) acquire: sees the index of the thread that made the last one
    if (is_indexing_.exchange(1, std::memory_order_acquire) != 0) return false;
    if (newest_index() == newest) return true;
    end_index(nullptr);
    return false;
  }
  // Makes `made` the newest index; nullptr if none could be made.
  void end_index(index* made) {
    // (7) release: publishes the index and its towers to (8)
    if (made != nullptr) index_.store(made, std::memory_order_release);
    is_indexing_.store(0, std::memory_order_release);  // (10) release: for (9)
  }

  // ---- no other thread may use the list during these ------------------------------------------

  // A position between two neighbours at level 0: at each level, the last tower before it.
  struct cursor {
    link* before[kMaxHeight];
  };

  // Returns the position in front of all.
  cursor begin() const {
    cursor c;
    for (int level = 0; level < kMaxHeight; ++level) c.before[level] = head();
    return c;
  }

  // Returns the position in front of `tower`: before it lie the towers that are before the target,
  // and any that are equal to it.
  template <typename IsBefore>
  cursor position_of(const link* tower, const skip_target<IsBefore>& target) const {
    path p;
    find_path(kMaxHeight, p, target);
    cursor c;
    for (int level = 0; level < kMaxHeight; ++level) c.before[level] = p.before[level];
    for (link* equal = next(c.before[0]); equal != tower; equal = next(equal)) pass(c, equal);
    return c;
  }

  // Moves the position over the tower that follows it.
  static void pass(cursor& c, link* tower) {
    for (int level = 0; level < kMaxHeight && next(c.before[level], level) == tower; ++level)
      c.before[level] = tower;
  }

  // Takes the tower that follows the position out of the list, and returns its height.
  int remove(const cursor& c, link* tower) {
    int level = 0;
    for (; level < kMaxHeight && next(c.before[level], level) == tower; ++level) {
      set(c.before[level], level, next(tower, level));
      set_hint(c.before[level], level, hint(tower, level));
    }
    add_to_size(static_cast<std::size_t>(-1));
    return level;
  }

  // Inserts a tower, whose element has the hint, at the position, which is after it then.
  void place(cursor& c, link* tower, int height, std::uintptr_t hint_of_tower) {
    for (int level = 0; level < height; ++level) {
      link* const before = c.before[level];
      set(tower, level, next(before, level));
      set_hint(tower, level, hint(before, level));
      set(before, level, tower);
      set_hint(before, level, hint_of_tower);
      c.before[level] = tower;
    }
    note_inserted(height);
  }

  // Exchanges the towers of two lists.
  void swap(basic_skip_list& other) {
    for (int word = 0; word < words_of(kMaxHeight); ++word)
      swap_atomics(words_[word].bits, other.words_[word].bits);
    swap_atomics(index_, other.index_);
    swap_atomics(height_, other.height_);
    swap_atomics(size_, other.size_);
  }

  // Removes all towers.
  void reset() {
    for (int level = 0; level < kMaxHeight; ++level) {
      set(head(), level, nullptr);
      set_hint(head(), level, kNoHint);
    }
    // relaxed, all: no other thread uses the list now
    index_.store(nullptr, std::memory_order_relaxed);
    is_indexing_.store(0, std::memory_order_relaxed);
    height_.store(1, std::memory_order_relaxed);
    size_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr bool is_hinted(int level) {
    return kHinted && static_cast<unsigned>(level - 1) < static_cast<unsigned>(kHintedLevels);
  }
  static Atomic<std::uintptr_t>& at(const link* tower, int level) {
    constexpr int kFirstWithout = kHinted ? kHintedLevels + 1 : 1;
    const int above = level - kFirstWithout;
    const int both = level == 0 ? -1 : -2 * level;
    return const_cast<link*>(tower)[above > 0 ? both + above : both].bits;
  }
  static Atomic<std::uintptr_t>& hint_at(const link* tower, int level) {
    return const_cast<link*>(tower)[-2 * level - 1].bits;
  }

  static void set(link* tower, int level, link* to) {
    // relaxed: no other thread sees the tower, or uses the list, now
    at(tower, level).store(reinterpret_cast<std::uintptr_t>(to), std::memory_order_relaxed);
  }
  static void set_hint(link* tower, int level, std::uintptr_t hint) {
    // relaxed: as set
    if (is_hinted(level)) hint_at(tower, level).store(hint, std::memory_order_relaxed);
  }
  static std::uintptr_t hint(const link* tower, int level) {
    if (!is_hinted(level)) return kNoHint;
    // (6) acquire: sees the link that was there before (5)
    return hint_at(tower, level).load(std::memory_order_acquire);
  }

  // Makes the link from `before` lead to the tower if it leads to `after`; otherwise sets `after`
  // to where it leads, and returns false.
  static bool try_link(link* before, int level, link*& after, link* tower) {
    std::uintptr_t expected = reinterpret_cast<std::uintptr_t>(after);
    // (1), (3) release: see the callers. acquire: as (2)
    const bool done =
        at(before, level)
            .compare_exchange_strong(expected, reinterpret_cast<std::uintptr_t>(tower),
                                     std::memory_order_release, std::memory_order_acquire);
    after = reinterpret_cast<link*>(expected);
    return done;
  }

  // Sets `before`, the head, to where a search begins, and returns the number of levels to search.
  // `known`: see descend().
  template <typename IsBefore>
  int begin(const skip_target<IsBefore>& target, link*& before, link*& known) const {
    const index* const newest = target.has_hint ? newest_index() : nullptr;
    link* near = nullptr;
    if (newest != nullptr) {
      near = newest->find(newest->hint_of(target.hint, target.key, target.hint_after));
    }
    if (near == nullptr) return height();
    // Where much has been inserted since the index was made, or many hints are equal, the upper
    // levels are faster.
    constexpr int kLevel = kIndexedHeight - 1;
    constexpr int kMaxSteps = 16;
    for (int steps = 0;; ++steps) {
      const std::uintptr_t found = hint(near, kLevel);  // before the link is read: see (5)
      link* const candidate = next(near, kLevel);
      if (found >= target.hint) {
        if (found > target.hint && found != kNoHint) break;
        if (candidate == nullptr || !target.is_before(candidate)) {
          known = candidate;
          break;
        }
      }
      if (steps == kMaxSteps) return height();
      near = candidate;
    }
    before = near;
    return kIndexedHeight;
  }

  // Moves `before` forward at the level, up to the last tower that is before the target, and
  // returns the one after it. `known` is a tower that is not before the target, as found by a
  // comparison. If not `exactly`, the hints may stop the search too early.
  template <typename IsBefore>
  static link* descend(int level, link*& before, link*& known, const skip_target<IsBefore>& target,
                       bool exactly) {
    for (;;) {
      const std::uintptr_t found = hint(before, level);  // before the link is read: see (5)
      link* const candidate = next(before, level);
      if (is_hinted(level) && found < target.hint) {
        before = candidate;
        continue;
      }
      if (candidate == known) return candidate;
      if (is_hinted(level) && !exactly && found > target.hint && found != kNoHint) return candidate;
      if (candidate == nullptr || !target.is_before(candidate)) {
        known = candidate;
        return candidate;
      }
      before = candidate;
    }
  }

  // Links a tower that is linked at all lower levels. Compares nothing.
  template <typename HintOf>
  static void link_above(link* tower, int level, const path& p, const HintOf& hint_of) {
    link* before = p.before[level];
    link* after = p.after[level];
    for (;;) {
      set(tower, level, after);
      if (is_hinted(level)) set_hint(tower, level, after == nullptr ? kNoHint : hint_of(after));
      // (3) release: publishes the links of the tower up to this level to (2)
      if (CORBEL_LIKELY(try_link(before, level, after, tower))) break;
      while (after != p.after[level] && first_of(before, tower, after) == after) {
        before = after;
        after = next(before, level);
      }
    }
    // (5) release: a thread that reads it by (6) and then the link sees the tower, or one before it
    if (is_hinted(level)) hint_at(before, level).store(hint_of(tower), std::memory_order_release);
  }

  // Returns which of the two towers after `from` comes first.
  static const link* first_of(const link* from, const link* a, const link* b) {
    do from = next(from, 0);
    while (from != a && from != b);
    return from;
  }

  void note_inserted(int height) {
    add_to_size(1);
    int levels = this->height();
    // relaxed: any level is a right beginning of a search
    while (height > levels &&
           !height_.compare_exchange_weak(levels, height, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
    }
  }
  void add_to_size(std::size_t n) {
    size_.fetch_add(n, std::memory_order_relaxed);  // relaxed: a number, no data
  }

  Atomic<int> height_;
  Atomic<int> is_indexing_;  // 1: a thread is making an index
  Atomic<index*> index_;
  link words_[words_of(kMaxHeight)];  // a tower: level 0 last
  // Next to the lowest links of the head, which searches seldom read, since it is written often.
  Atomic<std::size_t> size_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SKIP_LIST_HPP
