// SPDX-License-Identifier: Apache-2.0
// Prefix sums in parallel, with any associative operation. C++11 and later. Follows the oneTBB
// specification 1.4 ([algorithms.parallel_scan]).
#ifndef CORBEL_PARALLEL_SCAN_HPP
#define CORBEL_PARALLEL_SCAN_HPP

#include <corbel/detail/call.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/scan.hpp>
#include <corbel/partitioner.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// How many times in succession a range is split. auto_partitioner: into 64 pieces, so that a thread
// that comes to help finds one soon.
inline int scan_depth(const auto_partitioner&) { return 6; }
// simple_partitioner: until the range is not divisible.
inline int scan_depth(const simple_partitioner&) { return 1 << 30; }

template <typename Range, typename Body>
inline void scan(const Range& range, Body& body, int depth) {
  if (range.empty()) return;
  call_in_group([&](thread_data& thread, context_node& group) {
    scan_call<Range, Body>(group, range, body, depth).run(thread);
  });
}

// The body for the forms with functions.
template <typename Range, typename Value, typename Scan, typename Combine>
class scan_functions {
 public:
  scan_functions(const Value& identity, const Scan& scan, const Combine& combine)
      : sum_(identity), identity_(identity), scan_(scan), combine_(combine) {}
  scan_functions(scan_functions& other, split)
      : scan_functions(other.identity_, other.scan_, other.combine_) {}
  scan_functions(const scan_functions&) = delete;
  scan_functions& operator=(const scan_functions&) = delete;

  template <typename Tag>
  void operator()(const Range& range, Tag tag) {
    sum_ = call(scan_, range, sum_, tag);
  }
  void reverse_join(scan_functions& left) { sum_ = call(combine_, left.sum_, sum_); }
  void assign(scan_functions& other) { sum_ = other.sum_; }

  Value& sum() { return sum_; }

 private:
  Value sum_;
  const Value& identity_;
  const Scan& scan_;
  const Combine& combine_;
};

#if CORBEL_HAS_CONCEPTS
template <typename Body, typename Range>
concept is_scan_body = is_splittable<Body> && requires(Body& body, const Range& range, Body& left) {
  body(range, pre_scan_tag());
  body(range, final_scan_tag());
  body.reverse_join(left);
  body.assign(left);
};

template <typename Value, typename Range, typename Scan, typename Combine>
concept is_scan =
    std::copy_constructible<Value> && gives<Value, Scan, const Range&, Value&, final_scan_tag> &&
    gives<Value, Combine, Value&, Value&>;
#endif

}  // namespace detail

// Scans `range` with `body`, which holds the sum of the whole range afterwards. Body must have
//   void operator()(const Range& r, pre_scan_tag)    adds r to its sum;
//   void operator()(const Range& r, final_scan_tag)  adds r to its sum and may write results: the
//                                                    sum so far is that of everything before r;
//   Body(Body& b, split)                             makes a body with an empty sum, perhaps while
//                                                    another thread calls operator() of b;
//   void reverse_join(Body& b)                       adds the sum of b, the body that this one was
//                                                    split off, on the left of its own;
//   void assign(Body& b)                             takes over the sum of b.
// The operation must be associative but need not be commutative. Each part of the range has one
// final scan. A part that a thread reaches before the sum of everything to its left is known has a
// pre-scan first, except the last part. With one thread there are no pre-scans, and no body is
// split, joined or assigned.
//
// If one of the functions throws, no more are called, the sum in `body` is unspecified, and the
// exception is thrown here; so is bad_alloc. auto_partitioner makes about 64 parts, or more if many
// threads help; simple_partitioner makes parts as small as the range allows. Any thread may call
// it.
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_scan_body<Body, Range>)
inline void parallel_scan(const Range& range, Body& body) {
  detail::scan(range, body, detail::scan_depth(auto_partitioner()));
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_scan_body<Body, Range>)
inline void parallel_scan(const Range& range, Body& body, const simple_partitioner& partitioner) {
  detail::scan(range, body, detail::scan_depth(partitioner));
}
template <typename Range, typename Body>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_scan_body<Body, Range>)
inline void parallel_scan(const Range& range, Body& body, const auto_partitioner& partitioner) {
  detail::scan(range, body, detail::scan_depth(partitioner));
}

// Scans with functions and returns the sum of the whole range. scan(r, sum, is_final) returns `sum`
// with r added on the right; is_final, a pre_scan_tag or a final_scan_tag that converts to bool,
// says whether to write results. combine(left, right) adds two sums; `identity` is the sum of an
// empty range. Both functions are called as const from several threads. Value must be copyable and
// assignable. Partitioners, exceptions and thread safety are as above.
template <typename Range, typename Value, typename Scan, typename Combine, typename Partitioner>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_scan<Value, Range, Scan, Combine>)
inline Value parallel_scan(const Range& range, const Value& identity, const Scan& scan,
                           const Combine& combine, const Partitioner& partitioner) {
  detail::scan_functions<Range, Value, Scan, Combine> body(identity, scan, combine);
  detail::scan(range, body, detail::scan_depth(partitioner));
  return body.sum();
}
template <typename Range, typename Value, typename Scan, typename Combine>
CORBEL_REQUIRES(detail::is_range<Range>&& detail::is_scan<Value, Range, Scan, Combine>)
inline Value parallel_scan(const Range& range, const Value& identity, const Scan& scan,
                           const Combine& combine) {
  return corbel::parallel_scan(range, identity, scan, combine, auto_partitioner());
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_SCAN_HPP
