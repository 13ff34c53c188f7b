// SPDX-License-Identifier: Apache-2.0
// The iterators of the concurrent queues. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_ITERATOR_HPP
#define CORBEL_DETAIL_QUEUE_ITERATOR_HPP

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

#include <corbel/detail/queue_segment.hpp>

namespace corbel {
namespace detail {

template <typename T, typename Allocator, typename Size>
class queue_base;

// A forward iterator over the elements of a queue from the oldest to the newest. `Value` is T or
// const T, `Queue` a segment_queue. Only for the time in which no thread changes the queue.
template <typename Queue, typename Value>
class queue_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  queue_iterator() = default;
  // From an iterator, and a const_iterator from an iterator.
  queue_iterator(const queue_iterator<Queue, value_type>& other) : at_(other.at_) {}
  queue_iterator& operator=(const queue_iterator<Queue, value_type>& other) {
    at_ = other.at_;
    return *this;
  }

  reference operator*() const { return *at_.value(); }
  pointer operator->() const { return at_.value(); }

  queue_iterator& operator++() {
    ++at_.index;
    find_element();
    return *this;
  }
  queue_iterator operator++(int) {
    const queue_iterator before = *this;
    ++*this;
    return before;
  }

 private:
  template <typename, typename>
  friend class queue_iterator;
  template <typename, typename, typename>
  friend class queue_base;
  template <typename Q, typename A, typename B>
  friend bool operator==(const queue_iterator<Q, A>&, const queue_iterator<Q, B>&);

  using slot = typename Queue::slot;

  // The first element at or after the slot.
  explicit queue_iterator(slot from) : at_(from) { find_element(); }

  void find_element() {
    for (; at_.in != nullptr; at_ = slot{at_.in->next, 0, false}) {
      for (; at_.index < Queue::slots(); ++at_.index) {
        // relaxed: no thread changes the queue
        if (at_.state().load(std::memory_order_relaxed) == kSlotFull) return;
      }
    }
    at_.index = 0;  // the end, also of a queue that never had a segment
  }

  slot at_{nullptr, 0, false};  // without a segment: the end
};

template <typename Queue, typename A, typename B>
inline bool operator==(const queue_iterator<Queue, A>& a, const queue_iterator<Queue, B>& b) {
  return a.at_.in == b.at_.in && a.at_.index == b.at_.index;
}
template <typename Queue, typename A, typename B>
inline bool operator!=(const queue_iterator<Queue, A>& a, const queue_iterator<Queue, B>& b) {
  return !(a == b);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_ITERATOR_HPP
