// SPDX-License-Identifier: Apache-2.0
// The linked towers of the ordered containers: a skip list without erasure by concurrent threads.
// Not for programs to include.
#ifndef CORBEL_DETAIL_SKIP_LIST_HPP
#define CORBEL_DETAIL_SKIP_LIST_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// One link of a tower. A tower of height h is an array of h links, the one of level 0 last, and
// what follows the array in memory is the element. A pointer to a tower is the address of its
// element, so the element and the links that a search reads most are in one cache line.
template <template <typename> class Atomic>
struct skip_link {
  Atomic<skip_link*> to;
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
// - At a higher level a failed exchange is resolved without comparing, by the order at level 0. So
//   what is in the list at level 0 gets all its links even if a comparison would throw, every level
//   has the order of level 0, also among equal keys, and the height of a tower can be told from the
//   links that lead to it. It is not stored.
template <template <typename> class Atomic>
class basic_skip_list {
 public:
  using link = skip_link<Atomic>;

  // One tower of four is higher than 1, one of sixteen higher than 2, and so on.
  static constexpr int kBitsPerLevel = 2;
  static constexpr int kMaxHeight = 16;

  // Where a tower belongs: at each level below its height, the towers before and after it.
  struct path {
    link* before[kMaxHeight];
    link* after[kMaxHeight];
  };

  basic_skip_list() { reset(); }
  basic_skip_list(const basic_skip_list&) = delete;
  basic_skip_list& operator=(const basic_skip_list&) = delete;

  // The tower in front of all: it has links, and no element.
  link* head() const { return const_cast<link*>(links_) + kMaxHeight; }

  // Returns the tower after `tower` at the level, below the height of `tower`; nullptr at the end.
  static link* next(const link* tower, int level = 0) {
    // (2) acquire: sees the element and the links of the tower that (1), (3) or (4) published
    return at(tower, level).load(std::memory_order_acquire);
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

  // Returns the first tower for which is_before(tower) is false; nullptr if there is none.
  template <typename IsBefore>
  link* find(const IsBefore& is_before) const {
    link* before = head();
    link* after = nullptr;
    for (int level = height() - 1; level >= 0; --level) descend(level, before, after, is_before);
    return after;
  }

  // find() which also stores the path of a tower of the given height that belongs there.
  template <typename IsBefore>
  link* find_path(int height, path& p, const IsBefore& is_before) const {
    link* before = head();
    link* after = nullptr;
    int level = this->height();
    while (height > level) {
      --height;
      p.before[height] = before;
      p.after[height] = nullptr;
    }
    while (--level >= height) descend(level, before, after, is_before);
    for (; level >= 0; --level) {
      descend(level, before, after, is_before);
      p.before[level] = before;
      p.after[level] = after;
    }
    return after;
  }

  // Inserts a tower of the given height, with the path from find_path. If other towers have come
  // between meanwhile, is_before says which belong before the new one, and the tower is inserted
  // unless refuses(the tower after it). Returns nullptr if it is inserted, or else that tower. What
  // is_before and refuses throw leaves the list unchanged.
  template <typename IsBefore, typename Refuses>
  link* insert(link* tower, int height, path& p, const IsBefore& is_before,
               const Refuses& refuses) {
    link* before = p.before[0];
    link* after = p.after[0];
    for (;;) {
      at(tower, 0).store(after, std::memory_order_relaxed);  // relaxed: (1) publishes it
      // (1) release: publishes the element and the link to (2). acquire: as (2)
      if (CORBEL_LIKELY(at(before, 0).compare_exchange_strong(
              after, tower, std::memory_order_release, std::memory_order_acquire)))
        break;
      while (after != nullptr && is_before(after)) {
        before = after;
        after = next(before, 0);
      }
      if (after != nullptr && refuses(after)) return after;
    }
    for (int level = 1; level < height; ++level) link_above(tower, level, p);
    note_inserted(height);
    return nullptr;
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

  // Returns the position in front of `tower`, before which only those towers lie for which
  // is_before is true, and any that are equal to it.
  template <typename IsBefore>
  cursor position_of(const link* tower, const IsBefore& is_before) const {
    path p;
    find_path(kMaxHeight, p, is_before);
    cursor c;
    for (int level = 0; level < kMaxHeight; ++level) c.before[level] = p.before[level];
    for (link* equal = next(c.before[0]); equal != tower; equal = next(equal)) pass(c, equal);
    return c;
  }

  // Moves the position behind the tower that follows it.
  static void pass(cursor& c, link* tower) {
    for (int level = 0; level < kMaxHeight && next(c.before[level], level) == tower; ++level)
      c.before[level] = tower;
  }

  // Takes the tower that follows the position out of the list, and returns its height.
  int remove(const cursor& c, link* tower) {
    int level = 0;
    for (; level < kMaxHeight && next(c.before[level], level) == tower; ++level)
      set(c.before[level], level, next(tower, level));
    add_to_size(-std::size_t(1));
    return level;
  }

  // Inserts a tower at the position, which is behind it afterwards.
  void place(cursor& c, link* tower, int height) {
    for (int level = 0; level < height; ++level) {
      set(tower, level, next(c.before[level], level));
      set(c.before[level], level, tower);
      c.before[level] = tower;
    }
    note_inserted(height);
  }

  // Exchanges the towers of two lists.
  void swap(basic_skip_list& other) {
    for (int level = 0; level < kMaxHeight; ++level) {
      link* const mine = next(head(), level);
      set(head(), level, next(other.head(), level));
      set(other.head(), level, mine);
    }
    const int levels = height();
    // relaxed, all: no other thread uses the lists now
    height_.store(other.height(), std::memory_order_relaxed);
    other.height_.store(levels, std::memory_order_relaxed);
    const std::size_t count = size();
    size_.store(other.size(), std::memory_order_relaxed);
    other.size_.store(count, std::memory_order_relaxed);
  }

  // Removes all towers.
  void reset() {
    for (int level = 0; level < kMaxHeight; ++level) set(head(), level, nullptr);
    // relaxed, both: no other thread uses the list now
    height_.store(1, std::memory_order_relaxed);
    size_.store(0, std::memory_order_relaxed);
  }

 private:
  static Atomic<link*>& at(const link* tower, int level) {
    return const_cast<link*>(tower)[-1 - level].to;
  }

  static void set(link* tower, int level, link* to) {
    at(tower, level).store(to, std::memory_order_relaxed);  // relaxed: no other thread uses it now
  }

  // Moves `before` forward at the level up to the last tower for which is_before is true, and sets
  // `after` to the one after it. On entry `after` is where the level above has stopped: it is not
  // compared again.
  template <typename IsBefore>
  static void descend(int level, link*& before, link*& after, const IsBefore& is_before) {
    link* candidate = next(before, level);
    while (candidate != after && is_before(candidate)) {
      before = candidate;
      candidate = next(before, level);
    }
    after = candidate;
  }

  // Links a tower that is linked at all lower levels. Compares nothing.
  static void link_above(link* tower, int level, const path& p) {
    link* before = p.before[level];
    link* after = p.after[level];
    for (;;) {
      at(tower, level).store(after, std::memory_order_relaxed);  // relaxed: (3) publishes it
      // (3) release: publishes the links of the tower up to this level to (2). acquire: as (2)
      if (CORBEL_LIKELY(at(before, level)
                            .compare_exchange_strong(after, tower, std::memory_order_release,
                                                     std::memory_order_acquire)))
        return;
      while (after != p.after[level] && first_of(before, tower, after) == after) {
        before = after;
        after = next(before, level);
      }
    }
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
  link links_[kMaxHeight];  // a tower: level 0 last
  // Next to the lowest links of the head, which searches seldom read, since it is written often.
  Atomic<std::size_t> size_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SKIP_LIST_HPP
