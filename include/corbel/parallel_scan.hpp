// SPDX-License-Identifier: Apache-2.0
// Computes sums of all that lies before each element, in parallel (prefix sums, with any
// associative operation). C++11 upwards; parallel_scan of the oneTBB specification.
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

// 64 pieces, so that who comes finds one soon.
inline int scan_depth(const auto_partitioner&) { return 6; }
inline int scan_depth(const simple_partitioner&) { return 1 << 30; }

template <typename Range, typename Body>
inline void scan(const Range& range, Body& body, int depth) {
  if (range.empty()) return;
  call_in_group([&](worker& w, context_node& group) {
    scan_call<Range, Body>(group, range, body, depth).run(w);
  });
}

// The body that two functions make.
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

// Scans `range` with `body`, which afterwards has the sum of all. Of a Body it needs
//   void operator()(const Range& r, pre_scan_tag)    adds r to its sum;
//   void operator()(const Range& r, final_scan_tag)  the same; its sum before is that of all that
//                                                    lies before r, and results can be written;
//   Body(Body& b, split)                             makes one with an empty sum, perhaps while
//                                                    another thread calls operator() of b;
//   void reverse_join(Body& b)                       puts the sum of b, off which it was split, to
//                                                    the left of its own;
//   void assign(Body& b)                             takes over the sum of b.
// The operation must be associative, but need not be commutative. Each part of the range has its
// final scan once; parts that one thread reached ahead of the others have a pre-scan before. With
// one thread there are no pre-scans, and nothing is split off, joined or assigned.
//
// If one of the functions throws, no more are called, `body` has some sum or other, and the
// exception is thrown here. auto_partitioner makes some 64 parts, or more if many threads help;
// simple_partitioner makes parts as small as the range allows. May be called from any thread.
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

// The same with functions: returns the sum of all. scan(r, sum, is_final) returns `sum` with r
// added to its right, and writes results if is_final (true also for final_scan_tag, which is what
// it gets); combine(left, right) adds two sums; identity is the sum of nothing. Both functions are
// called as const from several threads. Value needs to be copied and assigned.
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
