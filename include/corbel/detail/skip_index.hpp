// SPDX-License-Identifier: Apache-2.0
// An index of a skip list: an array of some of its towers. Not for programs to include.
#ifndef CORBEL_DETAIL_SKIP_INDEX_HPP
#define CORBEL_DETAIL_SKIP_INDEX_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Returns the hint of the key that lies there from what follows a prefix. Under any prefix these
// hints have the order of the keys.
using skip_hint_after = std::uintptr_t (*)(const void* key, const char* prefix, std::size_t size);

// The hints and the towers of those elements that were higher than a certain level when the index
// was made, in order. A search for a key begins at the tower that the index finds, instead of the
// upper levels: a binary search in an array has no branches to mispredict and touches no element.
//
// If the keys are texts, its hints are taken from what follows the characters that most of its
// elements begin with. They then say more than those of the list, which look at the first
// characters.
//
// It is not changed while threads insert. What is inserted later is found from the towers that the
// index has. A larger index replaces it when the list has grown. Since other threads may be reading
// the old one, that is kept until no other thread uses the list: all old indexes together are as
// large as the newest.
template <typename Link>
class skip_index {
 public:
  // One block of memory holds the index, then the hints, then the towers.
  static std::size_t bytes_of(std::size_t capacity) {
    return sizeof(skip_index) + capacity * (sizeof(std::uintptr_t) + sizeof(Link*));
  }

  skip_index(std::size_t capacity, std::size_t elements, skip_index* older)
      : older_(older), capacity_(capacity), elements_(elements), count_(0), prefix_size_(0) {}

  // Sets a prefix, which is not empty and of which the index uses only so many characters, before
  // towers are added.
  void set_prefix(const char* prefix, std::size_t size) {
    prefix_size_ = size < sizeof(prefix_) ? size : sizeof(prefix_);
    std::memcpy(prefix_, prefix, prefix_size_);
  }

  // The hint in this index of a key that has the hint `in_list` in the list.
  std::uintptr_t hint_of(std::uintptr_t in_list, const void* key, skip_hint_after after) const {
    return prefix_size_ != 0 ? after(key, prefix_, prefix_size_) : in_list;
  }

  skip_index* older() const { return older_; }
  std::size_t capacity() const { return capacity_; }
  // The number of elements that the list had when the index was made.
  std::size_t elements() const { return elements_; }

  // Adds the next tower. Returns false if the index is full.
  bool add(std::uintptr_t hint, Link* tower) {
    if (count_ == capacity_) return false;
    hints()[count_] = hint;
    towers()[count_] = tower;
    ++count_;
    return true;
  }

  // Returns a tower in front of all elements with the hint, and near it; nullptr if the index knows
  // none, or only one far from it, as after its last.
  Link* find(std::uintptr_t hint) const {
    const std::size_t first = first_from(hint);
    return first == 0 || first == count_ ? nullptr : towers()[first - 1];
  }

  // Replaces a tower with the hint, which leaves the list, by the one before it among those that
  // are high enough, with its hint; or by none, nullptr with the hint 0. So the index stays in
  // order. No other thread may use the list.
  void replace(std::uintptr_t hint, const Link* tower, std::uintptr_t hint_before, Link* before) {
    std::size_t i = first_from(hint);
    while (i < count_ && hints()[i] == hint && towers()[i] != tower) ++i;
    // A tower that has replaced others has neighbouring places.
    for (; i < count_ && hints()[i] == hint && towers()[i] == tower; ++i) {
      towers()[i] = before;
      hints()[i] = hint_before;
    }
  }

 private:
  std::uintptr_t* hints() const {
    return reinterpret_cast<std::uintptr_t*>(const_cast<skip_index*>(this) + 1);
  }
  Link** towers() const { return reinterpret_cast<Link**>(hints() + capacity_); }

  // The number of hints less than the given one.
  std::size_t first_from(std::uintptr_t hint) const {
    if (count_ == 0) return 0;
    const std::uintptr_t* from = hints();
    for (std::size_t left = count_; left > 1;) {
      const std::size_t half = left / 2;
      // A mask, since compilers make a branch of ?: here.
      from += half & (0 - static_cast<std::size_t>(from[half - 1] < hint));
      left -= half;
    }
    return static_cast<std::size_t>(from - hints()) + static_cast<std::size_t>(*from < hint);
  }

  skip_index* older_;
  std::size_t capacity_;
  std::size_t elements_;
  std::size_t count_;
  std::size_t prefix_size_;  // 0: the hints are those of the list
  char prefix_[64];
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SKIP_INDEX_HPP
