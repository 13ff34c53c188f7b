// SPDX-License-Identifier: Apache-2.0
// A priority queue that any number of threads push to and pop from. C++11 and later. Follows the
// oneTBB specification 1.4 (concurrent_priority_queue).
#ifndef CORBEL_CONCURRENT_PRIORITY_QUEUE_HPP
#define CORBEL_CONCURRENT_PRIORITY_QUEUE_HPP

#include <atomic>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/deduction.hpp>
#include <corbel/detail/heap.hpp>
#include <corbel/detail/mutex_guard.hpp>

namespace corbel {

// Pops the element first than which no other is greater, by `Compare`; the order of equivalent
// elements is unspecified. Each operation of any thread takes effect at one moment between its call
// and its return.
//
// Any thread may push, pop, and ask for the size at any time; the comparison is called under a lock
// then. All other functions need exclusive access to the queue.
template <typename T, typename Compare = std::less<T>,
          typename Allocator = cache_aligned_allocator<T>>
class concurrent_priority_queue {
  using allocator_traits = std::allocator_traits<Allocator>;
  using heap = detail::heap<T, Compare, Allocator>;

 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using allocator_type = Allocator;
  using value_compare = Compare;

  static_assert(std::is_same<T, typename allocator_traits::value_type>::value,
                "the allocator is one for the elements");

  // ---- Constructors. They throw what the allocator, the comparison or a constructor of T throws;
  // nothing is leaked then.

  // An empty queue; with memory for `init_capacity` elements.
  concurrent_priority_queue() : concurrent_priority_queue(Allocator()) {}
  explicit concurrent_priority_queue(const Allocator& allocator)
      : concurrent_priority_queue(Compare(), allocator) {}
  explicit concurrent_priority_queue(const Compare& compare,
                                     const Allocator& allocator = Allocator())
      : heap_(compare, allocator) {}
  explicit concurrent_priority_queue(size_type init_capacity,
                                     const Allocator& allocator = Allocator())
      : concurrent_priority_queue(init_capacity, Compare(), allocator) {}
  concurrent_priority_queue(size_type init_capacity, const Compare& compare,
                            const Allocator& allocator = Allocator())
      : heap_(compare, allocator) {
    heap_.reserve(init_capacity);
  }

  // From the values in [first, last), or in `init`.
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  concurrent_priority_queue(Iterator first, Iterator last, const Compare& compare,
                            const Allocator& allocator = Allocator())
      : heap_(compare, allocator) {
    for (; first != last; ++first) heap_.append_new(*first);
    heap_.make();
    publish_size();
  }
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  concurrent_priority_queue(Iterator first, Iterator last, const Allocator& allocator = Allocator())
      : concurrent_priority_queue(first, last, Compare(), allocator) {}
  concurrent_priority_queue(std::initializer_list<T> init, const Compare& compare,
                            const Allocator& allocator = Allocator())
      : concurrent_priority_queue(init.begin(), init.end(), compare, allocator) {}
  concurrent_priority_queue(std::initializer_list<T> init, const Allocator& allocator = Allocator())
      : concurrent_priority_queue(init.begin(), init.end(), Compare(), allocator) {}

  // Copies the elements of `other`.
  concurrent_priority_queue(const concurrent_priority_queue& other)
      : concurrent_priority_queue(other, allocator_traits::select_on_container_copy_construction(
                                             other.heap_.allocator())) {}
  concurrent_priority_queue(const concurrent_priority_queue& other, const Allocator& allocator)
      : heap_(other.heap_.compare(), allocator) {
    heap_.copy_from(other.heap_);
    publish_size();
  }

  // Takes the elements of `other`, which is empty afterwards. If the allocators differ, each
  // element is moved.
  concurrent_priority_queue(concurrent_priority_queue&& other)
      : heap_(other.heap_.compare(), std::move(other.heap_.allocator())) {
    exchange_elements(other);
  }
  concurrent_priority_queue(concurrent_priority_queue&& other, const Allocator& allocator)
      : heap_(other.heap_.compare(), allocator) {
    if (heap_.allocator() == other.heap_.allocator()) {
      exchange_elements(other);
      return;
    }
    heap_.move_from(other.heap_);
    publish_size();
    other.clear();
  }
  ~concurrent_priority_queue() = default;

  // Replace the contents: by copies, also of the comparison; by the elements of `other`, which is
  // empty afterwards; by the values of `init`. If a copy or a comparison throws, the queue is
  // unchanged.
  concurrent_priority_queue& operator=(const concurrent_priority_queue& other) {
    using propagates = typename allocator_traits::propagate_on_container_copy_assignment;
    if (this == &other) return *this;
    concurrent_priority_queue made(other, (propagates::value ? other : *this).heap_.allocator());
    replace_by(made, propagates());
    return *this;
  }
  concurrent_priority_queue& operator=(concurrent_priority_queue&& other) {
    using propagates = typename allocator_traits::propagate_on_container_move_assignment;
    if (this == &other) return *this;
    if (propagates::value) {
      concurrent_priority_queue made(std::move(other));
      replace_by(made, propagates());
    } else {
      concurrent_priority_queue made(std::move(other), heap_.allocator());
      replace_by(made, propagates());
    }
    return *this;
  }
  concurrent_priority_queue& operator=(std::initializer_list<T> init) {
    assign(init);
    return *this;
  }

  // Replace the contents by the given values. If that throws, the queue is unchanged.
  template <typename Iterator, typename = detail::if_iterator<Iterator>>
  void assign(Iterator first, Iterator last) {
    concurrent_priority_queue made(first, last, heap_.compare(), heap_.allocator());
    exchange_elements(made);
  }
  void assign(std::initializer_list<T> init) { assign(init.begin(), init.end()); }

  // Destroys all elements and frees all memory.
  void clear() {
    heap_.clear();
    publish_size();
  }

  // Exchanges the contents and the comparisons, and the allocators if they propagate on swap;
  // otherwise they must be equal.
  void swap(concurrent_priority_queue& other) {
    using std::swap;
    swap(heap_.compare(), other.heap_.compare());
    swap_allocators(other, typename allocator_traits::propagate_on_container_swap());
    exchange_elements(other);
  }

  // ---- Any thread, at any time

  // Adds a copy of `value`, or moves it, or makes an element of the arguments. Throws bad_alloc,
  // what the element's constructor throws, and what the comparison throws; nothing is added then.
  void push(const T& value) { emplace(value); }
  void push(T&& value) { emplace(std::move(value)); }
  template <typename... Args>
  void emplace(Args&&... args) {
    typename heap::new_entry made(heap_.allocator(), std::forward<Args>(args)...);
    const guard held(lock_);
    heap_.push(made);
    publish_size();
  }

  // Moves an element to `result` than which no other is greater, and removes it. Returns false if
  // there is no element. Throws what the assignment or the comparison throws; nothing is removed
  // then.
  bool try_pop(T& result) {
    if (empty()) return false;
    const guard held(lock_);
    if (heap_.size() == 0) return false;
    heap_.pop(result);
    publish_size();
    return true;
  }

  // Return the number of elements, and whether there is none.
  size_type size() const {
    return size_.load(std::memory_order_acquire);  // (1) acquire: with (2)
  }
  bool empty() const { return size() == 0; }

  // Returns a copy of the allocator.
  allocator_type get_allocator() const { return heap_.allocator(); }

  // Whether two queues have equal elements. Takes time proportional to the square of their number
  // if the queues have not come about by the same operations.
  friend bool operator==(const concurrent_priority_queue& a, const concurrent_priority_queue& b) {
    return a.is_equal_to(b);
  }
  friend bool operator!=(const concurrent_priority_queue& a, const concurrent_priority_queue& b) {
    return !(a == b);
  }
  friend void swap(concurrent_priority_queue& a, concurrent_priority_queue& b) { a.swap(b); }

 private:
  using mutex_type = detail::spinning_mutex;

  using guard = detail::mutex_guard<mutex_type>;

  void publish_size() {
    // (2) release: a thread that sees that an element is there finds it under the lock
    size_.store(heap_.size(), std::memory_order_release);
  }

  void exchange_elements(concurrent_priority_queue& other) {
    heap_.swap_elements(other.heap_);
    publish_size();
    other.publish_size();
  }

  // `made` has the contents that this queue is to have.
  template <typename Propagates>
  void replace_by(concurrent_priority_queue& made, Propagates propagates) {
    clear();
    assign_allocator(made.heap_.allocator(), propagates);
    using std::swap;
    swap(heap_.compare(), made.heap_.compare());
    exchange_elements(made);
  }
  void assign_allocator(Allocator& from, std::true_type) { heap_.allocator() = std::move(from); }
  void assign_allocator(Allocator&, std::false_type) {}

  void swap_allocators(concurrent_priority_queue& other, std::true_type) {
    using std::swap;
    swap(heap_.allocator(), other.heap_.allocator());
  }
  void swap_allocators(concurrent_priority_queue&, std::false_type) {}

  bool is_equal_to(const concurrent_priority_queue& other) const {
    const size_type count = heap_.size();
    if (count != other.heap_.size()) return false;
    size_type equal = 0;
    while (equal < count && heap_[equal] == other.heap_[equal]) ++equal;
    for (size_type i = equal; i < count; ++i) {
      if (count_of(heap_[i], equal) != other.count_of(heap_[i], equal)) return false;
    }
    return true;
  }
  size_type count_of(const T& value, size_type from) const {
    size_type found = 0;
    for (size_type i = from; i < heap_.size(); ++i) found += heap_[i] == value ? 1 : 0;
    return found;
  }

  heap heap_;
  std::atomic<size_type> size_{0};
  mutex_type lock_;
};

#if defined(__cpp_deduction_guides) && __cpp_deduction_guides >= 201606L
template <typename Iterator, typename Compare = std::less<detail::iterator_value<Iterator>>,
          typename Allocator = cache_aligned_allocator<detail::iterator_value<Iterator>>,
          typename = detail::if_iterator<Iterator>, typename = detail::unless_allocator<Compare>,
          typename = detail::if_allocator<Allocator>>
concurrent_priority_queue(Iterator, Iterator, Compare = Compare(), Allocator = Allocator())
    -> concurrent_priority_queue<detail::iterator_value<Iterator>, Compare, Allocator>;
template <typename Iterator, typename Allocator, typename = detail::if_iterator<Iterator>,
          typename = detail::if_allocator<Allocator>>
concurrent_priority_queue(Iterator, Iterator, Allocator)
    -> concurrent_priority_queue<detail::iterator_value<Iterator>,
                                 std::less<detail::iterator_value<Iterator>>, Allocator>;
template <typename T, typename Compare = std::less<T>,
          typename Allocator = cache_aligned_allocator<T>,
          typename = detail::unless_allocator<Compare>, typename = detail::if_allocator<Allocator>>
concurrent_priority_queue(std::initializer_list<T>, Compare = Compare(), Allocator = Allocator())
    -> concurrent_priority_queue<T, Compare, Allocator>;
template <typename T, typename Allocator, typename = detail::if_allocator<Allocator>>
concurrent_priority_queue(std::initializer_list<T>, Allocator)
    -> concurrent_priority_queue<T, std::less<T>, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_PRIORITY_QUEUE_HPP
