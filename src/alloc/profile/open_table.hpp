// SPDX-License-Identifier: Apache-2.0
// A hash table with open addressing and linear probing, in metadata memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/map/metadata.hpp"

namespace corbel::alloc {

// `Entry` can be copied as bytes. It has `bool is_free() const`, true for an entry of zero bytes,
// and `std::uint64_t hash() const`.
template <class Entry>
class OpenTable {
 public:
  // Makes room for one more entry. False if there is no memory.
  bool reserve() { return size_ < capacity() / 4 * 3 || grow(); }

  // The entry with this hash for which `is` is true; nullptr if there is none.
  template <class Is>
  Entry* find(std::uint64_t hash, Is is) {
    if (entries_ == nullptr) return nullptr;
    for (std::size_t i = home(hash); !entries_[i].is_free(); i = after(i)) {
      if (is(entries_[i])) return &entries_[i];
    }
    return nullptr;
  }

  // Requires: reserve() has returned true since the last add().
  void add(const Entry& entry) {
    std::size_t i = home(entry.hash());
    while (!entries_[i].is_free()) i = after(i);
    entries_[i] = entry;
    ++size_;
  }

  // Entries that follow move forward where they can, so that no search ends too early (Knuth, The
  // Art of Computer Programming 3, 6.4, algorithm R).
  void remove(Entry* entry) {
    std::size_t hole = std::size_t(entry - entries_);
    for (std::size_t i = after(hole); !entries_[i].is_free(); i = after(i)) {
      const std::size_t distance = (i - home(entries_[i].hash())) & mask();
      if (distance < ((i - hole) & mask())) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole] = Entry{};
    --size_;
  }

  std::size_t size() const { return size_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < capacity(); ++i) {
      if (!entries_[i].is_free()) visit(entries_[i]);
    }
  }

 private:
  static constexpr unsigned kMinBits = 8;

  std::size_t capacity() const { return entries_ == nullptr ? 0 : std::size_t(1) << bits_; }
  std::size_t mask() const { return capacity() - 1; }
  std::size_t after(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t home(std::uint64_t hash) const {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    return std::size_t(hash * kFactor >> (64 - bits_));
  }

  // The old entries are not freed: together, they take as much memory as the new ones.
  bool grow() {
    const unsigned bits = entries_ == nullptr ? kMinBits : bits_ + 1;
    auto* fresh = static_cast<Entry*>(allocate_metadata((std::size_t(1) << bits) * sizeof(Entry)));
    if (fresh == nullptr) return false;
    Entry* const old = entries_;
    const std::size_t old_capacity = capacity();
    entries_ = fresh;
    bits_ = bits;
    size_ = 0;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (!old[i].is_free()) add(old[i]);
    }
    return true;
  }

  Entry* entries_ = nullptr;
  std::size_t size_ = 0;
  unsigned bits_ = 0;
};

}  // namespace corbel::alloc
