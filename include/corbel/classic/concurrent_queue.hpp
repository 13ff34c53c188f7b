// SPDX-License-Identifier: Apache-2.0
// The queue that TBB called concurrent_queue before version 2.2, and
// tbb::deprecated::concurrent_queue up to TBB 2020: concurrent_bounded_queue with other names.
// C++11 and later. Needs libcorbel.
#ifndef CORBEL_CLASSIC_CONCURRENT_QUEUE_HPP
#define CORBEL_CLASSIC_CONCURRENT_QUEUE_HPP

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/concurrent_bounded_queue.hpp>

namespace corbel {
namespace deprecated {

template <typename T, typename Allocator = cache_aligned_allocator<T>>
class concurrent_queue : public concurrent_bounded_queue<T, Allocator> {
  using base = concurrent_bounded_queue<T, Allocator>;

 public:
  using typename base::const_iterator;
  using typename base::iterator;

  concurrent_queue() = default;
  explicit concurrent_queue(const Allocator& allocator) : base(allocator) {}
  template <typename Iterator>
  concurrent_queue(Iterator first, Iterator last, const Allocator& allocator = Allocator())
      : base(first, last, allocator) {}
  concurrent_queue(const concurrent_queue& other, const Allocator& allocator = Allocator())
      : base(other, allocator) {}
  concurrent_queue& operator=(const concurrent_queue&) = default;
  ~concurrent_queue() = default;

  // try_push and try_pop.
  bool push_if_not_full(const T& value) { return this->try_push(value); }
  bool pop_if_present(T& result) { return this->try_pop(result); }

  // unsafe_begin and unsafe_end.
  iterator begin() { return this->unsafe_begin(); }
  iterator end() { return this->unsafe_end(); }
  const_iterator begin() const { return this->unsafe_begin(); }
  const_iterator end() const { return this->unsafe_end(); }
};

}  // namespace deprecated
}  // namespace corbel

#endif  // CORBEL_CLASSIC_CONCURRENT_QUEUE_HPP
