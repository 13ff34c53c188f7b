// SPDX-License-Identifier: Apache-2.0
// Reductions: combine many values into one, in parallel. C++11 and later. Follows the oneTBB
// specification 1.4 ([algorithms.parallel_reduce] and [algorithms.parallel_deterministic_reduce]).
//
// The forms are
//   parallel_reduce(range, body [, partitioner] [, context]);
//   parallel_reduce(range, identity, func, reduction [, partitioner] [, context]);
// and the same two forms of parallel_deterministic_reduce.
//
// The operation must be associative but need not be commutative. If it is only nearly associative,
// like floating-point addition, parallel_reduce may give a different result each time.
// parallel_deterministic_reduce always splits and joins in the same way, whatever the number of
// threads: the result depends only on the range, its grain size and the partitioner.
//
// Partitioners, contexts, exceptions and thread safety are as in parallel_for.hpp. The default is
// auto_partitioner. parallel_deterministic_reduce takes simple_partitioner, its default, and
// static_partitioner.
#ifndef CORBEL_PARALLEL_REDUCE_HPP
#define CORBEL_PARALLEL_REDUCE_HPP

#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/fork.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/range_loop.hpp>

namespace corbel {
namespace detail {

// The body for the forms with functions.
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
    value_ = call(func_, range, std::move(value_));
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

// How many times in succession parallel_deterministic_reduce halves a range. simple_partitioner:
// until the range is not divisible.
inline unsigned max_halvings(const simple_partitioner&) { return ~0U; }
// static_partitioner: into 256 pieces, which any number of threads can share almost evenly.
inline unsigned max_halvings(const static_partitioner&) { return 8; }

// Reduces the range in the same tree of splits every time.
template <typename Range, typename Body>
inline void reduce_tree(thread_data& thread, context_node& group, Range& range, Body& body,
                        unsigned halvings) {
  if (thread.is_cancelled(group)) return;
  if (halvings == 0 || !range.is_divisible()) {
    body(range);
    return;
  }
  Range right_range(range, split());
  Body right_body(body, split());
  fork_join_captured(
      thread, group, [&] { reduce_tree(thread, group, range, body, halvings - 1); },
      [&] { reduce_tree(current_thread(), group, right_range, right_body, halvings - 1); });
  // Joins even if the reduction is cancelled, but not if it has thrown; see loop_runner::end.
  if (!group.has_failed()) body.join(right_body);
}

}  // namespace detail

// ---- parallel_reduce ----------------------------------------------------------------------------

// Reduces the range with a body, which accumulates a result. Body must have
//   void operator()(const Range& r)  adds r to the result;
//   Body(Body& b, split)             makes a body with an empty result, perhaps while another
//                                    thread calls operator() or join of b;
//   void join(Body& right)           adds the result of `right` on the right: its part of the range
//                                    directly follows this body's part.
// Bodies are split only for threads that come to help. The result is in `body`; if the reduction
// throws, what it holds is unspecified.
template <typename Range, typename Body, typename... Context,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, Context&&... context) {
  if (range.empty()) return;
  detail::call_in_group(context..., [&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_loop<detail::split_body, auto_partitioner>(thread, group, range, body, {});
  });
}
template <typename Range, typename Body, typename Partitioner, typename... Context,
          typename Chosen = detail::chosen_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_reduce(const Range& range, Body& body, Partitioner&& partitioner,
                            Context&&... context) {
  if (range.empty()) return;
  detail::call_in_group(context..., [&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_loop<detail::split_body, Chosen>(thread, group, range, body,
                                                 std::forward<Partitioner>(partitioner));
  });
}

// Reduces the range with functions and returns the result. func(range, value) returns `value` with
// the chunk added, reduction(left, right) combines two values, `identity` is the identity of the
// reduction: combining it with a value gives that value. `func` may take the chunk as a Range& and
// change it. Both functions get their values as rvalues and are called as const from several
// threads; they may be pointers to member functions of their first argument. Value must be
// copyable, for the identity, and move-assignable.
template <typename Range, typename Value, typename Func, typename Reduction, typename Partitioner,
          typename... Context, typename = detail::chosen_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value
    parallel_reduce(const Range& range, const Value& identity, const Func& func,
                    const Reduction& reduction, Partitioner&& partitioner, Context&&... context) {
  detail::reduction_body<Value, Func, Reduction> body(identity, func, reduction);
  corbel::parallel_reduce(range, body, std::forward<Partitioner>(partitioner),
                          std::forward<Context>(context)...);
  return body.take();
}
template <typename Range, typename Value, typename Func, typename Reduction, typename... Context,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_reduce(const Range& range, const Value& identity, const Func& func,
                             const Reduction& reduction, Context&&... context) {
  return corbel::parallel_reduce(range, identity, func, reduction, auto_partitioner(),
                                 std::forward<Context>(context)...);
}

// ---- parallel_deterministic_reduce --------------------------------------------------------------

// Like parallel_reduce with a body, but splits and joins in the same way every time.
template <typename Range, typename Body, typename Partitioner, typename... Context,
          typename Chosen = detail::chosen_fixed_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body, Partitioner&& partitioner,
                                          Context&&... context) {
  if (range.empty()) return;
  const Chosen& chosen = partitioner;
  detail::call_in_group(context..., [&](detail::thread_data& thread, detail::context_node& group) {
    Range whole(range);
    detail::reduce_tree(thread, group, whole, body, detail::max_halvings(chosen));
  });
}
template <typename Range, typename Body, typename... Context,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduce_body<Body, Range>)
inline void parallel_deterministic_reduce(const Range& range, Body& body, Context&&... context) {
  corbel::parallel_deterministic_reduce(range, body, simple_partitioner(),
                                        std::forward<Context>(context)...);
}

// Like parallel_reduce with functions, but splits and joins in the same way every time.
template <typename Range, typename Value, typename Func, typename Reduction, typename Partitioner,
          typename... Context, typename = detail::chosen_fixed_partitioner<Partitioner>,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value parallel_deterministic_reduce(const Range& range, const Value& identity,
                                           const Func& func, const Reduction& reduction,
                                           Partitioner&& partitioner, Context&&... context) {
  detail::reduction_body<Value, Func, Reduction> body(identity, func, reduction);
  corbel::parallel_deterministic_reduce(range, body, std::forward<Partitioner>(partitioner),
                                        std::forward<Context>(context)...);
  return body.take();
}
template <typename Range, typename Value, typename Func, typename Reduction, typename... Context,
          typename = detail::if_context_or_nothing<Context...>>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_reduction<Value, Range, Func, Reduction>)
inline Value
    parallel_deterministic_reduce(const Range& range, const Value& identity, const Func& func,
                                  const Reduction& reduction, Context&&... context) {
  return corbel::parallel_deterministic_reduce(
      range, identity, func, reduction, simple_partitioner(), std::forward<Context>(context)...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_REDUCE_HPP
