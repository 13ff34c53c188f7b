// SPDX-License-Identifier: Apache-2.0
// What concurrent_queue and concurrent_bounded_queue have in common. Not for programs to include.
#ifndef CORBEL_DETAIL_QUEUE_BASE_HPP
#define CORBEL_DETAIL_QUEUE_BASE_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/deduction.hpp>
#include <corbel/detail/queue_iterator.hpp>
#include <corbel/detail/queue_segments.hpp>

namespace corbel {
namespace detail {

// The members of a queue that need exclusive access to it, and what any thread may ask.
template <typename T, typename Allocator, typename Size>
class queue_base {
 protected:
  using segments = segment_queue<T, Allocator>;
  using allocator_traits = std::allocator_traits<Allocator>;

 public:
  using size_type = Size;
  using difference_type = std::ptrdiff_t;
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using allocator_type = Allocator;
  using pointer = typename allocator_traits::pointer;
  using const_pointer = typename allocator_traits::const_pointer;
  using iterator = queue_iterator<segments, T>;
  using const_iterator = queue_iterator<segments, const T>;

  static_assert(std::is_same<T, typename allocator_traits::value_type>::value,
                "the allocator is one for the elements");

  // ---- Constructors. An empty queue has no memory. The others throw what the allocator or a
  // constructor of T throws; nothing is leaked then.

  queue_base() : queue_base(Allocator()) {}
  explicit queue_base(const Allocator& allocator) : elements_(allocator) {}

  // From the values in [first, last), or in `init`, in this order.
  template <typename Iterator, typename = if_iterator<Iterator>>
  queue_base(Iterator first, Iterator last, const Allocator& allocator = Allocator())
      : elements_(allocator) {
    for (; first != last; ++first) add(*first);
  }
  queue_base(std::initializer_list<T> init, const Allocator& allocator = Allocator())
      : queue_base(init.begin(), init.end(), allocator) {}

  // Copies the elements of `other`.
  queue_base(const queue_base& other)
      : queue_base(other, allocator_traits::select_on_container_copy_construction(
                              other.elements_.allocator())) {}
  queue_base(const queue_base& other, const Allocator& allocator)
      : queue_base(other.unsafe_begin(), other.unsafe_end(), allocator) {}

  // Takes the elements of `other`, which is empty afterwards. If the allocators differ, each
  // element is moved.
  queue_base(queue_base&& other) : elements_(std::move(other.elements_.allocator())) {
    elements_.swap_elements(other.elements_);
  }
  queue_base(queue_base&& other, const Allocator& allocator) : elements_(allocator) {
    take_elements(other);
  }

  // ---- Exclusive access

  // Replaces the contents by the given values. If that throws, the queue is unchanged.
  template <typename Iterator, typename = if_iterator<Iterator>>
  void assign(Iterator first, Iterator last) {
    queue_base made(first, last, elements_.allocator());
    elements_.swap_elements(made.elements_);
  }
  void assign(std::initializer_list<T> init) { assign(init.begin(), init.end()); }

  // Destroys all elements and frees all memory.
  void clear() { elements_.clear(); }

  // Iterate from the oldest element to the newest. Any other use of the queue, except by threads
  // that iterate, too, ends the life of the iterators.
  iterator unsafe_begin() { return iterator(elements_.first_slot()); }
  iterator unsafe_end() { return iterator(); }
  const_iterator unsafe_begin() const { return const_iterator(elements_.first_slot()); }
  const_iterator unsafe_end() const { return const_iterator(); }
  const_iterator unsafe_cbegin() const { return unsafe_begin(); }
  const_iterator unsafe_cend() const { return unsafe_end(); }

  // ---- Any thread, at any time

  // Returns whether there is no element.
  bool empty() const { return elements_.empty(); }

  // Returns a copy of the allocator.
  allocator_type get_allocator() const { return elements_.allocator(); }

 protected:
  ~queue_base() = default;

  // If a copy throws, the queue is unchanged.
  queue_base& operator=(const queue_base& other) {
    using propagates = typename allocator_traits::propagate_on_container_copy_assignment;
    if (this == &other) return *this;
    queue_base made(other, (propagates::value ? other : *this).elements_.allocator());
    elements_.clear();
    assign_allocator(made.elements_.allocator(), propagates());
    elements_.swap_elements(made.elements_);
    return *this;
  }

  // Takes the elements of `other`. Moves each of them if the allocators differ and stay; if that
  // throws, this queue is unchanged.
  queue_base& operator=(queue_base&& other) {
    using propagates = typename allocator_traits::propagate_on_container_move_assignment;
    if (this == &other) return *this;
    if (propagates::value) {
      elements_.clear();
      assign_allocator(std::move(other.elements_.allocator()), propagates());
      elements_.swap_elements(other.elements_);
    } else {
      queue_base made(std::move(other), elements_.allocator());
      elements_.swap_elements(made.elements_);
    }
    return *this;
  }

  // Exchanges the elements, and the allocators if they propagate; otherwise they must be equal.
  void swap_with(queue_base& other) {
    swap_allocators(other, typename allocator_traits::propagate_on_container_swap());
    elements_.swap_elements(other.elements_);
  }

  bool is_equal_to(const queue_base& other) const {
    const_iterator a = unsafe_begin();
    const_iterator b = other.unsafe_begin();
    for (; a != unsafe_end() && b != other.unsafe_end(); ++a, ++b) {
      if (!(*a == *b)) return false;
    }
    return a == unsafe_end() && b == other.unsafe_end();
  }

  segments elements_;

 private:
  template <typename Value>
  void add(Value&& value) {
    elements_.complete(elements_.claim(), std::forward<Value>(value));
  }

  void take_elements(queue_base& other) {
    if (elements_.allocator() == other.elements_.allocator()) {
      elements_.swap_elements(other.elements_);
      return;
    }
    for (iterator i = other.unsafe_begin(); i != other.unsafe_end(); ++i) add(std::move(*i));
    other.clear();
  }

  template <typename From>
  void assign_allocator(From&& from, std::true_type) {
    elements_.allocator() = std::forward<From>(from);
  }
  template <typename From>
  void assign_allocator(From&&, std::false_type) {}

  void swap_allocators(queue_base& other, std::true_type) {
    using std::swap;
    swap(elements_.allocator(), other.elements_.allocator());
  }
  void swap_allocators(queue_base&, std::false_type) {}
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_QUEUE_BASE_HPP
