// SPDX-License-Identifier: Apache-2.0
// Memory for the time in which a profile is prepared, from the system: a signal handler may prepare
// one while the allocator is in the middle of anything.
#pragma once

#include <string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloc/map/size_class.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// An array that grows. T can be copied as bytes.
template <class T>
class ScratchArray {
 public:
  ScratchArray() = default;
  ~ScratchArray() { unmap(); }
  ScratchArray(const ScratchArray&) = delete;
  ScratchArray& operator=(const ScratchArray&) = delete;

  // False, and nothing is added, if there is no memory, then or before.
  bool add(const T* items, std::size_t count) {
    if (size_ + count > capacity_ && !grow(size_ + count)) return false;
    if (count != 0) memcpy(items_ + size_, items, count * sizeof(T));
    size_ += count;
    return true;
  }
  bool add(const T& item) { return add(&item, 1); }

  bool has_failed() const { return failed_; }
  const T* data() const { return items_; }
  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  bool grow(std::size_t count) {
    if (failed_) return false;
    const std::size_t bytes = align_up(std::max(count, 2 * capacity_) * sizeof(T), kUnit);
    auto* const fresh = static_cast<T*>(os::map(bytes, kUnit, nullptr));
    if (fresh == nullptr) {
      failed_ = true;
      return false;
    }
    if (size_ != 0) memcpy(fresh, items_, size_ * sizeof(T));
    unmap();
    items_ = fresh;
    bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
    return true;
  }

  void unmap() {
    if (items_ != nullptr) os::unmap(items_, bytes_);
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t bytes_ = 0;
  bool failed_ = false;
};

// Numbers addresses, not 0, from 1 on in the order in which they are added.
class AddressNumbers {
 public:
  AddressNumbers() = default;
  ~AddressNumbers() {
    if (entries_ != nullptr) os::unmap(entries_, capacity_ * sizeof(Entry));
  }
  AddressNumbers(const AddressNumbers&) = delete;
  AddressNumbers& operator=(const AddressNumbers&) = delete;

  // The number of the address; 0 if there is no memory. Sets `is_new` if it has just been added.
  std::uint32_t number_of(std::uintptr_t address, bool* is_new) {
    *is_new = false;
    if (size_ >= capacity_ / 2 && !grow()) return 0;
    Entry& entry = slot_of(address);
    if (entry.address == 0) {
      entry = {address, ++size_};
      *is_new = true;
    }
    return entry.number;
  }

 private:
  struct Entry {
    std::uintptr_t address;
    std::uint32_t number;
  };

  Entry& slot_of(std::uintptr_t address) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    std::size_t i = std::size_t(address * kFactor >> 32);
    for (;; ++i) {
      Entry& entry = entries_[i & (capacity_ - 1)];
      if (entry.address == 0 || entry.address == address) return entry;
    }
  }

  bool grow() {
    const std::size_t capacity = capacity_ == 0 ? kUnit / sizeof(Entry) : 2 * capacity_;
    auto* const fresh = static_cast<Entry*>(os::map(capacity * sizeof(Entry), kUnit, nullptr));
    if (fresh == nullptr) return false;
    Entry* const old = entries_;
    const std::size_t old_capacity = capacity_;
    entries_ = fresh;
    capacity_ = capacity;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].address != 0) slot_of(old[i].address) = old[i];
    }
    if (old != nullptr) os::unmap(old, old_capacity * sizeof(Entry));
    return true;
  }

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::uint32_t size_ = 0;
};

}  // namespace corbel::alloc
