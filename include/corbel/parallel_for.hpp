// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations may run in parallel. C++11 upwards; parallel_for of the oneTBB
// specification.
//
// A range is split into pieces and the body is called with each: over a Range, body(range), where
// the body's call operator is const; over numbers, f(number). A body may also be a pointer to a
// member function of what it is called with. Ranges and bodies must be copyable, ranges must have
// empty(), is_divisible() and the splitting constructor Range(Range&, split). Each thread that
// takes part copies the body; numbers' functions are not copied.
//
// The partitioner says how large the pieces are (partitioner.hpp); without one it is
// auto_partitioner. With a task_group_context the loop runs in that context, else in one of its
// own, bound to the current one.
//
// All return when every call has ended. If a call throws, or a copy or a split does, or the context
// is cancelled, calls that have not begun do not begin; the first exception is thrown to the
// caller. May be called from any thread, from bodies too.
#ifndef CORBEL_PARALLEL_FOR_HPP
#define CORBEL_PARALLEL_FOR_HPP

#include <cstddef>
#include <stdexcept>
#include <type_traits>

#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/partitioned_loop.hpp>

namespace corbel {
namespace detail {

template <typename Range, typename Body, typename Partitioner, typename... Context>
inline void for_range(const Range& range, const Body& body, Partitioner&& partitioner,
                      Context&... context) {
  if (range.empty()) return;
  // What is copied of a function is a pointer to it.
  typename std::conditional<std::is_function<Body>::value, Body* const, const Body&>::type copied =
      body;
  call_in_group(context..., [&](worker& w, context_node& group) {
    run_partitioned<copied_bodies>(w, group, range, copied, partitioner);
  });
}

// f for the numbers first, first + step and so on.
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
      for (Index i = at(range.begin()); i != end; ++i) call(f_, i);
      return;
    }
    // The number behind the last one may not exist in the type.
    for (std::size_t i = range.begin(); i != range.end(); ++i) call(f_, at(i));
  }

 private:
  Index at(std::size_t i) const {
    return static_cast<Index>(static_cast<std::size_t>(first_) + i * step_);
  }

  const F& f_;
  const Index first_;
  const std::size_t step_;
};

// Of an Index that is no integer it needs no more than that it can be copied, and `last - first`
// and `first + (last - first)`.
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
      call(f_, at);
    }
  }

 private:
  const F& f_;
  const Index first_;
  const std::size_t step_;
};

template <typename Index, typename F, typename Partitioner, typename... Context>
inline void for_numbers(const Index& first, const Index& last, const F& f,
                        Partitioner&& partitioner, Context&... context) {
  if (!(first < last)) return;
  using body_type = numbers_body<Index, F>;
  const body_type body(first, 1, f);
  for_range(blocked_range<std::size_t>(0, body_type::count_between(first, last)), body, partitioner,
            context...);
}

template <typename Index, typename F, typename Partitioner, typename... Context>
inline void for_steps(const Index& first, const Index& last, const Index& step, const F& f,
                      Partitioner&& partitioner, Context&... context) {
  if (!(Index(0) < step)) raise(std::invalid_argument("parallel_for: step must be positive"));
  if (!(first < last)) return;
  using body_type = numbers_body<Index, F>;
  const std::size_t width = body_type::count_between(Index(0), step);
  const std::size_t count = (body_type::count_between(first, last) - 1) / width + 1;
  const body_type body(first, width, f);
  for_range(blocked_range<std::size_t>(0, count), body, partitioner, context...);
}

}  // namespace detail

// ---- over a range -------------------------------------------------------------------------------

template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body) {
  detail::for_range(range, body, auto_partitioner());
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body,
                         const simple_partitioner& partitioner) {
  detail::for_range(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body,
                         const auto_partitioner& partitioner) {
  detail::for_range(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body,
                         const static_partitioner& partitioner) {
  detail::for_range(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, affinity_partitioner& partitioner) {
  detail::for_range(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, task_group_context& context) {
  detail::for_range(range, body, auto_partitioner(), context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body,
                         const simple_partitioner& partitioner, task_group_context& context) {
  detail::for_range(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, const auto_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_range(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body,
                         const static_partitioner& partitioner, task_group_context& context) {
  detail::for_range(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_loop_body<Body, Range>)
inline void parallel_for(const Range& range, const Body& body, affinity_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_range(range, body, partitioner, context);
}

// ---- over the numbers first, first + step and so on, less than last -----------------------------
//
// Index is an integer type, or a class that can be made of an int, copied, compared by <,
// subtracted from its like to give something that converts to size_t, and added what the
// subtraction gives. A step that is not positive throws invalid_argument.

template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f) {
  detail::for_steps(first, last, step, f, auto_partitioner());
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const simple_partitioner& partitioner) {
  detail::for_steps(first, last, step, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const auto_partitioner& partitioner) {
  detail::for_steps(first, last, step, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const static_partitioner& partitioner) {
  detail::for_steps(first, last, step, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         affinity_partitioner& partitioner) {
  detail::for_steps(first, last, step, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         task_group_context& context) {
  detail::for_steps(first, last, step, f, auto_partitioner(), context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const simple_partitioner& partitioner, task_group_context& context) {
  detail::for_steps(first, last, step, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const auto_partitioner& partitioner, task_group_context& context) {
  detail::for_steps(first, last, step, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         const static_partitioner& partitioner, task_group_context& context) {
  detail::for_steps(first, last, step, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& std::constructible_from<Index, int>&&
                    detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, Index step, const F& f,
                         affinity_partitioner& partitioner, task_group_context& context) {
  detail::for_steps(first, last, step, f, partitioner, context);
}

// ---- over the numbers from first up to, not including, last -------------------------------------
//
// Index need not be made of an int here: it may also be a random access iterator.

template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f) {
  detail::for_numbers(first, last, f, auto_partitioner());
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f,
                         const simple_partitioner& partitioner) {
  detail::for_numbers(first, last, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, const auto_partitioner& partitioner) {
  detail::for_numbers(first, last, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f,
                         const static_partitioner& partitioner) {
  detail::for_numbers(first, last, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, affinity_partitioner& partitioner) {
  detail::for_numbers(first, last, f, partitioner);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, task_group_context& context) {
  detail::for_numbers(first, last, f, auto_partitioner(), context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, const simple_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_numbers(first, last, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, const auto_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_numbers(first, last, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, const static_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_numbers(first, last, f, partitioner, context);
}
template <typename Index, typename F>
CORBEL_REQUIRES(detail::is_index<Index>&& detail::is_called_with<F, Index&>)
inline void parallel_for(Index first, Index last, const F& f, affinity_partitioner& partitioner,
                         task_group_context& context) {
  detail::for_numbers(first, last, f, partitioner, context);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_FOR_HPP
