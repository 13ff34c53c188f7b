// SPDX-License-Identifier: Apache-2.0
// Reductions: many values become one, in parallel. C++11 upwards; parallel_reduce and
// parallel_deterministic_reduce of the oneTBB specification.
//
// With a body: body(range) adds a piece to what the body has; Body(Body& other, split) makes a body
// that has nothing, while `other` may be at work; left.join(right) adds what `right` has, which is
// what follows on `left` in the range. Bodies are split only for threads that come to help, and the
// result is in the body that was passed. Should the reduction throw, what that body has is not
// specified.
//
// With functions: func(range, value) gives `value` with a piece added, reduction(left, right) gives
// both together, identity is a value that changes nothing. Both functions get their values as
// rvalues, to take or not; they may be pointers to member functions of their first argument. The
// result is returned. Value must be copyable, for the identity, and move-assignable.
//
// Both need an operation that is associative, but not one that is commutative. Where it is only
// nearly associative, as the addition of floating-point numbers, parallel_reduce may give another
// result every time; parallel_deterministic_reduce always splits and joins the same way, whatever
// the number of threads: the result depends on the range, its grainsize and the partitioner only.
//
// Partitioners, contexts and exceptions are as in parallel_for.hpp; without a partitioner it is
// auto_partitioner, for parallel_deterministic_reduce simple_partitioner.
#ifndef CORBEL_PARALLEL_REDUCE_HPP
#define CORBEL_PARALLEL_REDUCE_HPP

#include <utility>

#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/partitioned_loop.hpp>

namespace corbel {
namespace detail {

// The body made of functions.
template <typename Value, typename Func, typename Reduction>
class reduction_body {
 public:
  reduction_body(const Value& identity, const Func& func, const Reduction& reduction)
      : identity_(identity), func_(func), reduction_(reduction), value_(identity) {}
  reduction_body(reduction_body& left, split)
      : identity_(left.identity_),
        func_(left.func_),
        reduction_(left.reduction_),
        value_(left.identity_) {}
  reduction_body& operator=(const reduction_body&) = delete;

  template <typename Range>
  void operator()(Range& range) {
    value_ = call(func_, const_cast<const Range&>(range), std::move(value_));
  }
  void join(reduction_body& right) {
    value_ = call(reduction_, std::move(value_), std::move(right.value_));
  }
  Value&& take() { return std::move(value_); }

 private:
  const Value& identity_;
  const Func& func_;
  const Reduction& reduction_;
  Value value_;
};

template <typename Range, typename Body, typename Partitioner, typename... Context>
inline void reduce(const Range& range, Body& body, Partitioner&& partitioner, Context&... context) {
  if (range.empty()) return;
  call_in_group(context..., [&](worker& w, context_node& group) {
    run_partitioned<split_bodies>(w, group, range, body, partitioner);
  });
}

template <typename Range, typename Value, typename Func, typename Reduction, typename Partitioner,
          typename... Context>
inline Value reduce_values(const Range& range, const Value& identity, const Func& func,
                           const Reduction& reduction, Partitioner&& partitioner,
                           Context&... context) {
  reduction_body<Value, Func, Reduction> body(identity, func, reduction);
  detail::reduce(range, body, partitioner, context...);
  return body.take();
}

// ---- the same tree every time -------------------------------------------------------------------

// How often a range is halved on the way to a piece, at most: until it is not divisible,
inline unsigned most_halvings(const simple_partitioner&) { return ~0U; }
// or into so many pieces that threads of any number can share them evenly, nearly.
inline unsigned most_halvings(const static_partitioner&) { return 8; }

template <typename Range, typename Body>
inline void reduce_tree(worker& w, context_node& group, Range& range, Body& body,
                        unsigned halvings) {
  if (w.is_cancelled(group)) return;
  if (halvings == 0 || !range.is_divisible()) {
    body(range);
    return;
  }
  Range right_range(range, split());
  Body right_body(body, split());
  fork_join_captured(
      w, group, [&] { reduce_tree(w, group, range, body, halvings - 1); },
      [&] { reduce_tree(current_worker(), group, right_range, right_body, halvings - 1); });
  if (!group.has_failed()) body.join(right_body);  // as in loop.hpp
}

template <typename Range, typename Body, typename Partitioner, typename... Context>
inline void deterministic_reduce(const Range& range, Body& body, const Partitioner& partitioner,
                                 Context&... context) {
  if (range.empty()) return;
  call_in_group(context..., [&](worker& w, context_node& group) {
    Range whole(range);
    reduce_tree(w, group, whole, body, most_halvings(partitioner));
  });
}

template <typename Range, typename Value, typename Func, typename Reduction, typename Partitioner,
          typename... Context>
inline Value deterministic_reduce_values(const Range& range, const Value& identity,
                                         const Func& func, const Reduction& reduction,
                                         const Partitioner& partitioner, Context&... context) {
  reduction_body<Value, Func, Reduction> body(identity, func, reduction);
  detail::deterministic_reduce(range, body, partitioner, context...);
  return body.take();
}

}  // namespace detail

// ---- parallel_reduce with a body ----------------------------------------------------------------
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body) {
  detail::reduce(range, body, auto_partitioner());
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const simple_partitioner& partitioner) {
  detail::reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const auto_partitioner& partitioner) {
  detail::reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const static_partitioner& partitioner) {
  detail::reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, affinity_partitioner& partitioner) {
  detail::reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, task_group_context& context) {
  detail::reduce(range, body, auto_partitioner(), context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const simple_partitioner& partitioner,
                            task_group_context& context) {
  detail::reduce(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const auto_partitioner& partitioner,
                            task_group_context& context) {
  detail::reduce(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, const static_partitioner& partitioner,
                            task_group_context& context) {
  detail::reduce(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, affinity_partitioner& partitioner,
                            task_group_context& context) {
  detail::reduce(range, body, partitioner, context);
}

// ---- parallel_reduce with functions -------------------------------------------------------------
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction) {
  return detail::reduce_values(range, identity, func, reduction, auto_partitioner());
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const simple_partitioner& partitioner) {
  return detail::reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const auto_partitioner& partitioner) {
  return detail::reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const static_partitioner& partitioner) {
  return detail::reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, affinity_partitioner& partitioner) {
  return detail::reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, task_group_context& context) {
  return detail::reduce_values(range, identity, func, reduction, auto_partitioner(), context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const simple_partitioner& partitioner,
                             task_group_context& context) {
  return detail::reduce_values(range, identity, func, reduction, partitioner, context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const auto_partitioner& partitioner,
                             task_group_context& context) {
  return detail::reduce_values(range, identity, func, reduction, partitioner, context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, const static_partitioner& partitioner,
                             task_group_context& context) {
  return detail::reduce_values(range, identity, func, reduction, partitioner, context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, affinity_partitioner& partitioner,
                             task_group_context& context) {
  return detail::reduce_values(range, identity, func, reduction, partitioner, context);
}

// ---- parallel_deterministic_reduce with a body --------------------------------------------------
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body) {
  detail::deterministic_reduce(range, body, simple_partitioner());
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body,
                                          const simple_partitioner& partitioner) {
  detail::deterministic_reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body,
                                          const static_partitioner& partitioner) {
  detail::deterministic_reduce(range, body, partitioner);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body,
                                          task_group_context& context) {
  detail::deterministic_reduce(range, body, simple_partitioner(), context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body,
                                          const simple_partitioner& partitioner,
                                          task_group_context& context) {
  detail::deterministic_reduce(range, body, partitioner, context);
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body,
                                          const static_partitioner& partitioner,
                                          task_group_context& context) {
  detail::deterministic_reduce(range, body, partitioner, context);
}

// ---- parallel_deterministic_reduce with functions -----------------------------------------------
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_deterministic_reduce(const Range& range, const Value& identity,
                                           const Func& func, const Reduction& reduction) {
  return detail::deterministic_reduce_values(range, identity, func, reduction,
                                             simple_partitioner());
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_deterministic_reduce(const Range& range, const Value& identity,
                                           const Func& func, const Reduction& reduction,
                                           const simple_partitioner& partitioner) {
  return detail::deterministic_reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_deterministic_reduce(const Range& range, const Value& identity,
                                           const Func& func, const Reduction& reduction,
                                           const static_partitioner& partitioner) {
  return detail::deterministic_reduce_values(range, identity, func, reduction, partitioner);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value
    parallel_deterministic_reduce(const Range& range, const Value& identity, const Func& func,
                                  const Reduction& reduction, task_group_context& context) {
  return detail::deterministic_reduce_values(range, identity, func, reduction, simple_partitioner(),
                                             context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value
    parallel_deterministic_reduce(const Range& range, const Value& identity, const Func& func,
                                  const Reduction& reduction, const simple_partitioner& partitioner,
                                  task_group_context& context) {
  return detail::deterministic_reduce_values(range, identity, func, reduction, partitioner,
                                             context);
}
template <typename Range, typename Value, typename Func, typename Reduction>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value
    parallel_deterministic_reduce(const Range& range, const Value& identity, const Func& func,
                                  const Reduction& reduction, const static_partitioner& partitioner,
                                  task_group_context& context) {
  return detail::deterministic_reduce_values(range, identity, func, reduction, partitioner,
                                             context);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_REDUCE_HPP
