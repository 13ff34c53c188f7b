// SPDX-License-Identifier: Apache-2.0
// Chooses how a loop is run from its range and its partitioner.
#ifndef CORBEL_DETAIL_PARTITIONED_LOOP_HPP
#define CORBEL_DETAIL_PARTITIONED_LOOP_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <corbel/blocked_range.hpp>
#include <corbel/detail/chunk_loop.hpp>
#include <corbel/detail/loop.hpp>
#include <corbel/detail/range_loop.hpp>
#include <corbel/partitioner.hpp>

namespace corbel {
namespace detail {

template <typename Value, typename = void>
struct is_random_access : std::false_type {};
template <typename Value>
struct is_random_access<Value, typename std::enable_if<std::is_convertible<
                                   typename std::iterator_traits<Value>::iterator_category,
                                   std::random_access_iterator_tag>::value>::type>
    : std::true_type {};

// Whether the elements of a range can be numbered, so that arithmetic may take the place of its
// splitting constructors.
template <typename Range>
struct is_numbered : std::false_type {};
template <typename Value>
struct is_numbered<blocked_range<Value>>
    : std::integral_constant<bool,
                             std::is_integral<Value>::value || is_random_access<Value>::value> {};

// The value in a certain position. That of integers is counted in the unsigned type, as the range
// may be longer than its type can say.
template <typename Value>
inline Value value_at(Value first, std::size_t position, std::true_type) {
  return static_cast<Value>(static_cast<std::size_t>(first) + position);
}
template <typename Value>
inline Value value_at(const Value& first, std::size_t position, std::false_type) {
  return first + static_cast<typename std::iterator_traits<Value>::difference_type>(position);
}

// Lets the compiler do without the test of a body's loop that there is anything to do.
template <typename Value>
inline void assume_less(Value a, Value b, std::true_type) {
#if defined(__GNUC__)
  if (!(a < b)) __builtin_unreachable();
#endif
}
template <typename Value>
inline void assume_less(const Value&, const Value&, std::false_type) {}

template <typename Value>
class numbered_elements {
 public:
  explicit numbered_elements(const blocked_range<Value>& range)
      : first_(range.begin()), grain_(range.grainsize()) {}

  // Goes from chunk to chunk.
  class cursor {
   public:
    cursor(const numbered_elements& elements, std::size_t position)
        : at_(value_at(elements.first_, position, std::is_integral<Value>())),
          grain_(elements.grain_) {}

    // Calls the body for the next `length` elements.
    template <typename Body>
    void give(Body& body, std::size_t length) {
      const Value end = value_at(at_, length, std::is_integral<Value>());
      assume_less(at_, end, std::is_scalar<Value>());
      blocked_range<Value> chunk(at_, end, grain_);
      give_range(body, chunk);
      at_ = end;
    }

   private:
    Value at_;
    const std::size_t grain_;
  };

 private:
  const Value first_;
  const std::size_t grain_;
};

template <typename Bodies, typename Chunks, typename Value, typename Body>
inline void run_chunks(worker& w, context_node& group, const blocked_range<Value>& range,
                       Body& body) {
  using space = chunk_space<Chunks, numbered_elements<Value>>;
  const std::size_t grain = range.grainsize();
  run_loop<Bodies>(w, group,
                   space(Chunks(range.size(), grain == 0 ? 1 : grain, arena_width(w)),
                         numbered_elements<Value>(range)),
                   body);
}

template <typename Bodies, typename Range, typename Parts, typename Body>
inline void run_parts(worker& w, context_node& group, const Range& range, const Parts& parts,
                      Body& body) {
  run_loop<Bodies>(w, group, range_space<Range, Parts>(range, parts), body);
}

template <typename Bodies, typename Range, typename Body>
inline void run_numbered(worker& w, context_node& group, const Range& range, Body& body,
                         const simple_partitioner&, std::true_type) {
  run_chunks<Bodies, even_chunks>(w, group, range, body);
}
template <typename Bodies, typename Range, typename Body>
inline void run_numbered(worker& w, context_node& group, const Range& range, Body& body,
                         const simple_partitioner&, std::false_type) {
  run_parts<Bodies>(w, group, range, indivisible_parts(), body);
}
template <typename Bodies, typename Range, typename Body>
inline void run_numbered(worker& w, context_node& group, const Range& range, Body& body,
                         const auto_partitioner&, std::true_type) {
  run_chunks<Bodies, shrinking_chunks>(w, group, range, body);
}
template <typename Bodies, typename Range, typename Body>
inline void run_numbered(worker& w, context_node& group, const Range& range, Body& body,
                         const auto_partitioner&, std::false_type) {
  const shrinking_parts parts(shrinking_chunks::part_of_rest(arena_width(w)));
  run_parts<Bodies>(w, group, range, parts, body);
}

// Calls the body for parts of a range that is not empty, as the partitioner says.
template <typename Bodies, typename Range, typename Body, typename Partitioner>
inline void run_partitioned(worker& w, context_node& group, const Range& range, Body& body,
                            const Partitioner& partitioner) {
  run_numbered<Bodies>(w, group, range, body, partitioner, is_numbered<Range>());
}
template <typename Bodies, typename Range, typename Body>
inline void run_partitioned(worker& w, context_node& group, const Range& range, Body& body,
                            const static_partitioner&) {
  run_parts<Bodies>(w, group, range, equal_parts(arena_width(w)), body);
}
template <typename Bodies, typename Range, typename Body>
inline void run_partitioned(worker& w, context_node& group, const Range& range, Body& body,
                            affinity_partitioner& partitioner) {
  affinity_map& map = affinity_access::map(partitioner);
  map.prepare(arena_width(w));
  run_parts<Bodies>(w, group, range, remembered_parts(map), body);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_PARTITIONED_LOOP_HPP
