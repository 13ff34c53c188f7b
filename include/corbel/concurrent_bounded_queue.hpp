// SPDX-License-Identifier: Apache-2.0
// A queue with a capacity, whose operations wait. C++11 and later. Follows the oneTBB specification
// 1.4 (concurrent_bounded_queue). Needs libcorbel.
#ifndef CORBEL_CONCURRENT_BOUNDED_QUEUE_HPP
#define CORBEL_CONCURRENT_BOUNDED_QUEUE_HPP

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/detail/bounded_core.hpp>
#include <corbel/detail/deduction.hpp>
#include <corbel/detail/queue_base.hpp>

namespace corbel {

// A queue like concurrent_queue, first in, first out, with a capacity: push() waits while the queue
// is full, pop() while it is empty. A waiting thread spins for a few microseconds, then sleeps. A
// waiting pop counts as an element less: with a capacity of 0, each push waits for a pop. There is
// no order among waiting threads.
//
// Any thread may push, pop, abort, ask for sizes and change the capacity at any time. All other
// functions need exclusive access to the queue. Constructors, assign(), clear(), the iterators
// (unsafe_begin() ...) and the member types: see detail::queue_base.
template <typename T, typename Allocator = cache_aligned_allocator<T>>
class concurrent_bounded_queue : public detail::queue_base<T, Allocator, std::ptrdiff_t> {
  using base = detail::queue_base<T, Allocator, std::ptrdiff_t>;
  using core = detail::bounded_core<typename base::segments>;
  using slot = typename base::segments::slot;

 public:
  using typename base::size_type;

  // A copy, and a queue that takes another one's elements, has its capacity, too.
  using base::base;
  concurrent_bounded_queue() = default;
  concurrent_bounded_queue(std::initializer_list<T> init, const Allocator& allocator = Allocator())
      : base(init, allocator) {}
  concurrent_bounded_queue(const concurrent_bounded_queue& other) : base(other) {
    set_capacity(other.capacity());
  }
  concurrent_bounded_queue(concurrent_bounded_queue&& other) : base(std::move(other)) {
    set_capacity(other.capacity());
  }
  concurrent_bounded_queue(const concurrent_bounded_queue& other, const Allocator& allocator)
      : base(other, allocator) {
    set_capacity(other.capacity());
  }
  concurrent_bounded_queue(concurrent_bounded_queue&& other, const Allocator& allocator)
      : base(std::move(other), allocator) {
    set_capacity(other.capacity());
  }
  ~concurrent_bounded_queue() = default;

  // Replace the contents: copies or moves them, with the capacity, or takes the values of `init`.
  concurrent_bounded_queue& operator=(const concurrent_bounded_queue& other) {
    base::operator=(other);
    set_capacity(other.capacity());
    return *this;
  }
  concurrent_bounded_queue& operator=(concurrent_bounded_queue&& other) {
    base::operator=(std::move(other));
    set_capacity(other.capacity());
    return *this;
  }
  concurrent_bounded_queue& operator=(std::initializer_list<T> init) {
    base::assign(init);
    return *this;
  }

  // Exchanges the contents and the capacities of two queues, and their allocators if these
  // propagate on swap.
  void swap(concurrent_bounded_queue& other) {
    base::swap_with(other);
    const size_type mine = capacity();
    set_capacity(other.capacity());
    other.set_capacity(mine);
  }

  // Adds a copy of `value`, or moves it, or makes an element of the arguments, when there is room.
  // Throws user_abort if abort() is called meanwhile; bad_alloc; what the element's constructor
  // throws. Nothing is added then.
  void push(const T& value) { emplace(value); }
  void push(T&& value) { emplace(std::move(value)); }
  template <typename... Args>
  void emplace(Args&&... args) {
    complete(core_.claim(this->elements_), std::forward<Args>(args)...);
  }

  // The same without waiting: return whether there was room.
  bool try_push(const T& value) { return try_emplace(value); }
  bool try_push(T&& value) { return try_emplace(std::move(value)); }
  template <typename... Args>
  bool try_emplace(Args&&... args) {
    slot claimed;
    if (!core_.try_claim(this->elements_, claimed)) return false;
    complete(claimed, std::forward<Args>(args)...);
    return true;
  }

  // Moves the oldest element to `result` and removes it, when there is one. Throws user_abort if
  // abort() is called meanwhile; what the assignment throws: the element is removed nevertheless.
  void pop(T& result) { this->elements_.remove(core_.claim_element(this->elements_), result); }

  // The same without waiting: returns whether there was an element.
  bool try_pop(T& result) {
    slot claimed;
    if (!core_.try_claim_element(this->elements_, claimed)) return false;
    this->elements_.remove(claimed, result);
    return true;
  }

  // Lets all threads that wait in push(), emplace() and pop() leave them with user_abort. The queue
  // stays usable.
  void abort() { core_.abort(); }

  // Returns the number of elements, plus the number of waiting pushes, minus that of waiting pops.
  // Exact if no other thread is in a push or pop that does not wait.
  size_type size() const { return core_.size(this->elements_); }
  // The same, from TBB 2020.
  size_type unsafe_size() const { return size(); }

  // Returns how many elements the queue may have.
  size_type capacity() const { return core_.capacity(); }

  // Changes that number; a negative one stands for no limit, which is also the initial state.
  // Elements beyond the new capacity stay.
  void set_capacity(size_type capacity) { core_.set_capacity(this->elements_, capacity); }

  // Whether the elements are equal, one by one.
  friend bool operator==(const concurrent_bounded_queue& a, const concurrent_bounded_queue& b) {
    return a.is_equal_to(b);
  }
  friend bool operator!=(const concurrent_bounded_queue& a, const concurrent_bounded_queue& b) {
    return !(a == b);
  }
  friend void swap(concurrent_bounded_queue& a, concurrent_bounded_queue& b) { a.swap(b); }

 private:
  template <typename... Args>
  void complete(slot claimed, Args&&... args) {
    typename core::push_end at_end(core_, this->elements_, claimed);
    this->elements_.complete(claimed, std::forward<Args>(args)...);
    at_end.is_made = true;
  }

  core core_;
};

#if defined(__cpp_deduction_guides) && __cpp_deduction_guides >= 201606L
template <typename Iterator,
          typename Allocator = cache_aligned_allocator<detail::iterator_value<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::if_allocator<Allocator>>
concurrent_bounded_queue(Iterator, Iterator, Allocator = Allocator())
    -> concurrent_bounded_queue<detail::iterator_value<Iterator>, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_BOUNDED_QUEUE_HPP
