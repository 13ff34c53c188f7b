// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations may run in parallel. C++11 and later. Follows the oneTBB specification 1.4
// ([algorithms.parallel_for]).
//
// The forms are
//   parallel_for(range, body [, partitioner] [, context]);
//   parallel_for(first, last, f [, partitioner] [, context]);
//   parallel_for(first, last, step, f [, partitioner] [, context]);
//
// The partitioner says how large the chunks are (partitioner.hpp); the default is auto_partitioner.
// An affinity_partitioner must be a non-const lvalue. With a task_group_context the loop runs in
// that context, else in a new one that is bound to the current one.
//
// All forms return when every call of the body has ended. If a call, a copy or a split throws, or
// the context is cancelled, no further call begins, and the first exception, if any, is thrown to
// the caller. bad_alloc is treated like an exception of the body. Any thread may call parallel_for,
// even inside a body.
#ifndef CORBEL_PARALLEL_FOR_HPP
#define CORBEL_PARALLEL_FOR_HPP

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/range_loop.hpp>

namespace corbel {
namespace detail {

// Before C++20 nothing else tells the forms apart where the body is also a partitioner or a
// context.
template <typename Range>
using if_range = decltype(static_cast<bool>(std::declval<const Range&>().empty()));
template <typename Index, typename F>
using if_not_a_step = typename std::enable_if<!std::is_same<Index, F>::value>::type;

}  // namespace detail

// ---- over a range -------------------------------------------------------------------------------

// Splits the range into chunks and calls body(chunk) for each.
//
// Range must be copyable and have empty(), is_divisible() and the splitting constructor
// Range(Range&, split). Body must be copyable; each thread that takes part copies it. Its call
// operator must be const and is called from several threads at the same time. It may also be a
// pointer to a member function of Range.
template <typename Range, typename Body, typename... Context,
          typename = detail::if_context_or_nothing<Context...>, typename = detail::if_range<Range>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, Context&&... context) {
  if (range.empty()) return;
  detail::callable<Body> called = body;
  detail::call_in_group(context..., [&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_loop<detail::copy_body, auto_partitioner>(thread, group, range, called, {});
  });
}
template <typename Range, typename Body, typename Partitioner, typename... Context,
          typename Chosen = detail::chosen_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>, typename = detail::if_range<Range>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, Partitioner&& partitioner,
                         Context&&... context) {
  if (range.empty()) return;
  detail::callable<Body> called = body;
  detail::call_in_group(context..., [&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_loop<detail::copy_body, Chosen>(thread, group, range, called,
                                                std::forward<Partitioner>(partitioner));
  });
}

namespace detail {

// The body for the forms with numbers: calls f for first, first + step and so on.
template <typename Index, typename F, bool = std::is_integral<Index>::value>
class numbers_body {
 public:
  numbers_body(Index first, std::size_t step, const F& f) : f_(f), first_(first), step_(step) {}

  static std::size_t count_between(Index first, Index last) {
    return static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
  }

  void operator()(const blocked_range<std::size_t>& range) const {
    if (step_ == 1) {
      const Index end = at(range.end());
      for (Index i = at(range.begin()); i != end; ++i) {
        Index given = i;  // f may change what it gets
        f_(given);
      }
      return;
    }
    // Does not compute the value after the last one, which may overflow Index.
    for (std::size_t i = range.begin(); i != range.end(); ++i) {
      Index given = at(i);
      f_(given);
    }
  }

 private:
  Index at(std::size_t i) const {
    return static_cast<Index>(static_cast<std::size_t>(first_) + i * step_);
  }

  callable<F> f_;
  const Index first_;
  const std::size_t step_;
};

// An Index that is not an integer only has to be copyable and to support `last - first` and `first
// + (last - first)`.
template <typename Index, typename F>
class numbers_body<Index, F, false> {
 public:
  numbers_body(const Index& first, std::size_t step, const F& f)
      : f_(f), first_(first), step_(step) {}

  static std::size_t count_between(const Index& first, const Index& last) {
    return static_cast<std::size_t>(last - first);
  }

  void operator()(const blocked_range<std::size_t>& range) const {
    using difference = decltype(first_ - first_);
    for (std::size_t i = range.begin(); i != range.end(); ++i) {
      Index at = first_ + static_cast<difference>(i * step_);
      f_(at);
    }
  }

 private:
  callable<F> f_;
  const Index first_;
  const std::size_t step_;
};

}  // namespace detail

// ---- over the numbers from first up to, not including, last -------------------------------------

// Calls f(i) for each i. Does nothing unless first < last.
//
// Index is an integer type, a random access iterator, or a class that can be copied, compared by <,
// and subtracted to give a difference that converts to size_t and can be added to an Index. f is
// not copied. It is called as const from several threads at the same time, each time with a
// variable of its own, so it may take an Index& too. It may also be a pointer to a member function
// of Index.
template <typename Index, typename F, typename Partitioner, typename... Context,
          typename = detail::chosen_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>,
          typename = detail::if_not_a_step<Index, F>>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, Partitioner&& partitioner,
                         Context&&... context) {
  if (!(first < last)) return;
  using body_type = detail::numbers_body<Index, F>;
  const body_type body(first, 1, f);
  corbel::parallel_for(blocked_range<std::size_t>(0, body_type::count_between(first, last)), body,
                       std::forward<Partitioner>(partitioner), std::forward<Context>(context)...);
}
template <typename Index, typename F, typename... Context,
          typename = detail::if_context_or_nothing<Context...>,
          typename = detail::if_not_a_step<Index, F>>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, Context&&... context) {
  corbel::parallel_for(first, last, f, auto_partitioner(), std::forward<Context>(context)...);
}

// ---- over the numbers first, first + step and so on, less than last -----------------------------

// Like the form without a step; Index must also be constructible from an int. Throws
// invalid_argument if step is not positive.
template <typename Index, typename F, typename Partitioner, typename... Context,
          typename = detail::chosen_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f, Partitioner&& partitioner,
                         Context&&... context) {
  if (!(Index(0) < step))
    detail::raise_own(std::invalid_argument("parallel_for: step must be positive"));
  if (!(first < last)) return;
  using body_type = detail::numbers_body<Index, F>;
  const std::size_t width = body_type::count_between(Index(0), step);
  const std::size_t count = (body_type::count_between(first, last) - 1) / width + 1;
  const body_type body(first, width, f);
  corbel::parallel_for(blocked_range<std::size_t>(0, count), body,
                       std::forward<Partitioner>(partitioner), std::forward<Context>(context)...);
}
template <typename Index, typename F, typename... Context,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f, Context&&... context) {
  corbel::parallel_for(first, last, step, f, auto_partitioner(), std::forward<Context>(context)...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_FOR_HPP
