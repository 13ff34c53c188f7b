// SPDX-License-Identifier: Apache-2.0
// What the algorithms require of their arguments, for C++20 compilers. A call that does not meet
// the requirements is not a candidate for overload resolution: the error is reported at the call,
// and a program can ask whether a call would compile. Each requirement is no more than what the
// algorithm uses. Not for programs to include.
#ifndef CORBEL_DETAIL_CONCEPTS_HPP
#define CORBEL_DETAIL_CONCEPTS_HPP

#if defined(__cpp_concepts) && __cpp_concepts >= 201907L
#include <version>
#endif

// CORBEL_REQUIRES(condition) follows the template parameter list. Empty before C++20.
#if defined(__cpp_lib_concepts) && __cpp_lib_concepts >= 202002L
#define CORBEL_HAS_CONCEPTS 1
#define CORBEL_REQUIRES(...) requires(__VA_ARGS__)
#else
#define CORBEL_HAS_CONCEPTS 0
#define CORBEL_REQUIRES(...)
#endif

#if CORBEL_HAS_CONCEPTS
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

template <typename F, typename... Args>
concept is_called_with =
    requires(const F& f, Args&&... args) { detail::call(f, std::forward<Args>(args)...); };

template <typename Result, typename F, typename... Args>
concept gives = requires(const F& f, Args&&... args) {
  { detail::call(f, std::forward<Args>(args)...) } -> std::convertible_to<Result>;
};

template <typename T>
concept is_splittable = std::constructible_from<T, T&, split>;

template <typename Range>
concept is_range =
    std::copy_constructible<Range> && is_splittable<Range> && requires(const Range& range) {
      static_cast<bool>(range.empty());
      static_cast<bool>(range.is_divisible());
    };

template <typename Body, typename Range>
concept is_loop_body =
    std::copy_constructible<std::decay_t<const Body&>> && is_called_with<Body, Range&>;

template <typename Index>
concept is_index = std::copy_constructible<Index> && requires(const Index& a, const Index& b) {
  static_cast<bool>(a < b);
  static_cast<std::size_t>(b - a);
  static_cast<Index>(a + (b - a));
};

template <typename Body, typename Range>
concept is_reduce_body = is_splittable<Body> && requires(Body& body, Range& range, Body& right) {
  body(range);
  body.join(right);
};

template <typename Value, typename Range, typename Func, typename Reduction>
concept is_reduction = std::copy_constructible<Value> && gives<Value, Func, Range&, Value&&> &&
                       gives<Value, Reduction, Value&&, Value&&>;

}  // namespace detail
}  // namespace corbel
#endif

#endif  // CORBEL_DETAIL_CONCEPTS_HPP
