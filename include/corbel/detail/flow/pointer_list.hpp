// SPDX-License-Identifier: Apache-2.0
// A growing array of pointers, and a lock scope, for the cold state of nodes. Not for programs to
// include.
#ifndef CORBEL_DETAIL_FLOW_POINTER_LIST_HPP
#define CORBEL_DETAIL_FLOW_POINTER_LIST_HPP

#include <cstddef>
#include <cstdint>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/mutex_guard.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

using flow_lock = mutex_guard<spinning_mutex>;

// Not thread-safe. No memory before the first push.
template <typename T>
class pointer_list {
 public:
  pointer_list() = default;
  ~pointer_list() {
    if (items_ != nullptr) deallocate_block(items_, capacity_ * sizeof(T*));
  }
  pointer_list(const pointer_list&) = delete;
  pointer_list& operator=(const pointer_list&) = delete;

  std::size_t size() const { return size_; }
  T*& operator[](std::size_t i) { return items_[i]; }
  T* const* begin() const { return items_; }
  T* const* end() const { return items_ + size_; }

  // Makes room for so many entries. Throws bad_alloc.
  void reserve(std::size_t size) {
    if (CORBEL_UNLIKELY(size > capacity_)) grow();
  }
  // Throws bad_alloc if there is no room.
  void push_back(T* item) {
    reserve(size_ + std::size_t{1});
    items_[size_++] = item;
  }
  // The list must not be empty.
  T* pop_back() { return items_[--size_]; }
  T* pop_front() {
    T* const first = items_[0];
    erase_at(0);
    return first;
  }
  // Makes the first entry the last one.
  void push_back_first() {
    T* const first = items_[0];
    for (std::size_t i = 1; i < size_; ++i) items_[i - 1] = items_[i];
    items_[size_ - 1] = first;
  }
  // Removes the first entry that is `item`; returns false if there is none.
  bool erase(const T* item) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (items_[i] != item) continue;
      erase_at(i);
      return true;
    }
    return false;
  }
  void clear() { size_ = 0; }

 private:
  void erase_at(std::size_t i) {
    --size_;
    for (; i < size_; ++i) items_[i] = items_[i + 1];
  }

  CORBEL_NOINLINE void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 8 : capacity_ * 2;
    T** const items = static_cast<T**>(allocate_block(capacity * sizeof(T*)));
    for (std::size_t i = 0; i < size_; ++i) items[i] = items_[i];
    if (items_ != nullptr) deallocate_block(items_, capacity_ * sizeof(T*));
    items_ = items;
    capacity_ = capacity;
  }

  T** items_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_POINTER_LIST_HPP
