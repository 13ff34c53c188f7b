// SPDX-License-Identifier: Apache-2.0
// Queues that any number of threads push to and pop from. C++11 and later. Follows the oneTBB
// specification 1.4 (concurrent_queue). Needs libcorbel.
#ifndef CORBEL_CONCURRENT_QUEUE_HPP
#define CORBEL_CONCURRENT_QUEUE_HPP

#include <cstddef>
#include <initializer_list>
#include <utility>

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/concurrent_bounded_queue.hpp>
#include <corbel/detail/deduction.hpp>
#include <corbel/detail/queue_base.hpp>

namespace corbel {

// An unbounded queue, first in, first out: what one thread pushes is popped in that order. Each
// operation of any thread takes effect at one moment between its call and its return.
//
// Any thread may push, pop, and ask for the size at any time. All other functions need exclusive
// access to the queue. Constructors, assign(), clear(), the iterators (unsafe_begin() ...) and the
// member types: see detail::queue_base.
template <typename T, typename Allocator = cache_aligned_allocator<T>>
class concurrent_queue : public detail::queue_base<T, Allocator, std::size_t> {
  using base = detail::queue_base<T, Allocator, std::size_t>;

 public:
  using typename base::size_type;

  using base::base;
  concurrent_queue() = default;
  concurrent_queue(std::initializer_list<T> init, const Allocator& allocator = Allocator())
      : base(init, allocator) {}
  concurrent_queue(const concurrent_queue&) = default;
  concurrent_queue(concurrent_queue&&) = default;
  concurrent_queue(const concurrent_queue& other, const Allocator& allocator)
      : base(other, allocator) {}
  concurrent_queue(concurrent_queue&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {}
  ~concurrent_queue() = default;

  // Replace the contents: copies, moves, or takes the values of `init`.
  concurrent_queue& operator=(const concurrent_queue&) = default;
  concurrent_queue& operator=(concurrent_queue&&) = default;
  concurrent_queue& operator=(std::initializer_list<T> init) {
    base::assign(init);
    return *this;
  }

  // Exchanges the contents of two queues, and their allocators if these propagate on swap.
  void swap(concurrent_queue& other) { base::swap_with(other); }

  // Adds a copy of `value`, or moves it, or makes an element of the arguments. Throws bad_alloc, or
  // what the element's constructor throws; nothing is added then.
  void push(const T& value) { emplace(value); }
  void push(T&& value) { emplace(std::move(value)); }
  template <typename... Args>
  void emplace(Args&&... args) {
    this->elements_.complete(this->elements_.claim(), std::forward<Args>(args)...);
  }

  // Moves the oldest element to `result` and removes it. Returns false if there is none. Throws
  // what the assignment throws; the element is removed nevertheless.
  bool try_pop(T& result) {
    typename base::segments::slot claimed;
    if (!this->elements_.claim_element(claimed)) return false;
    this->elements_.remove(claimed, result);
    return true;
  }

  // Returns the number of elements, which is exact if no other thread pushes or pops.
  size_type unsafe_size() const { return this->elements_.size(); }

  // Whether the elements are equal, one by one.
  friend bool operator==(const concurrent_queue& a, const concurrent_queue& b) {
    return a.is_equal_to(b);
  }
  friend bool operator!=(const concurrent_queue& a, const concurrent_queue& b) { return !(a == b); }
  friend void swap(concurrent_queue& a, concurrent_queue& b) { a.swap(b); }
};

#if defined(__cpp_deduction_guides) && __cpp_deduction_guides >= 201606L
template <typename Iterator,
          typename Allocator = cache_aligned_allocator<detail::iterator_value<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_allocator<Allocator>>
concurrent_queue(Iterator, Iterator, Allocator = Allocator())
    -> concurrent_queue<detail::iterator_value<Iterator>, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_QUEUE_HPP
