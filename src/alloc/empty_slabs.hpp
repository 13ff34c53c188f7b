// SPDX-License-Identifier: Apache-2.0
// How many empty slabs a heap keeps for itself.
//
// A few always, so that a loop over one block does not fetch and return a slab each time. A thread
// that frees much and wants as much again learns to keep that too: no lock is taken for it, and its
// memory is not swapped for what lies in another processor's caches. What it has learned it forgets
// when it goes without the slabs for as long as free memory is kept at all, and when anybody else
// may be in need of them (docs/decisions/0017).
#pragma once

#include <algorithm>
#include <cstdint>

namespace corbel::alloc {

// Counted in units. Belongs to one heap, and is used by its owner alone.
class EmptySlabs {
 public:
  static constexpr std::uint32_t kFew = 16;    // 1 MiB, of which only what was touched is resident
  static constexpr std::uint32_t kMost = 512;  // 32 MiB

  std::uint32_t units() const { return units_; }
  bool has_more_than_few() const { return units_ > kFew; }
  bool has_room(std::uint32_t units) const { return units_ + units <= most_; }

  void add(std::uint32_t units) { units_ += units; }
  void remove(std::uint32_t units) {
    units_ -= units;
    least_ = std::min(least_, units_);
  }

  // A slab for which there was no room has gone back to the span heap; a slab comes from there.
  void note_returned(std::uint32_t units) { returned_ += units; }
  void note_fetched(std::uint32_t units, bool may_keep_more) {
    const std::uint32_t again = std::min(units, returned_);
    returned_ -= again;
    if (may_keep_more) most_ = std::min(most_ + again, kMost);
  }

  void forget() {
    most_ = kFew;
    returned_ = 0;
  }

  // Whether it keeps more than a few, or may soon.
  bool has_learned() const { return most_ != kFew || returned_ != 0; }

  // The units that nothing was taken from since `delay` milliseconds or more, beyond the few: they
  // are for the caller to give back. `now` in milliseconds.
  std::uint32_t expire(std::uint32_t now, std::uint32_t delay) {
    if (now - since_ < delay) return 0;
    const std::uint32_t unneeded = std::min(least_, units_ - std::min(units_, kFew));
    since_ = now;
    least_ = units_;
    returned_ = 0;
    most_ = std::max(most_ - std::min(most_, unneeded), kFew);
    return unneeded;
  }

 private:
  std::uint32_t units_ = 0;
  std::uint32_t most_ = kFew;  // that are kept
  // Since since_: returned and not fetched again; the least that units_ was.
  std::uint32_t returned_ = 0;
  std::uint32_t least_ = 0;
  std::uint32_t since_ = 0;
};

}  // namespace corbel::alloc
