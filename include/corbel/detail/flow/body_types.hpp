// SPDX-License-Identifier: Apache-2.0
// What nodes require of their bodies, for C++20 compilers (see concepts.hpp), and what the types of
// a body say about its node. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_BODY_TYPES_HPP
#define CORBEL_DETAIL_FLOW_BODY_TYPES_HPP

#include <type_traits>

#include <corbel/detail/callable_types.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/flow/body.hpp>

namespace corbel {
namespace detail {

template <typename T>
using plain_type = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

// The message types of a node with this body.
template <typename Body>
using body_input = plain_type<typename callable_types<Body>::first>;
template <typename Result>
struct result_message {
  using type = plain_type<Result>;
};
template <>
struct result_message<void> {
  using type = flow::continue_msg;
};
template <typename Body>
using body_output = typename result_message<typename callable_types<Body>::result>::type;
// The second argument, of a body that has no result.
template <typename Body>
using body_target = plain_type<typename callable_types<Body>::second>;

#if CORBEL_HAS_CONCEPTS
template <typename Body>
concept is_body = std::copy_constructible<Body>;

template <typename Body, typename Output, typename... Args>
concept gives_message = is_body<std::decay_t<Body>> && requires(std::decay_t<Body>& body,
                                                                Args&&... args) {
  requires std::convertible_to<decltype(call_body(body, std::forward<Args>(args)...)), Output> ||
               (std::is_same_v<Output, flow::continue_msg> &&
                std::is_void_v<decltype(call_body(body, std::forward<Args>(args)...))>);
};

template <typename Body, typename... Args>
concept takes_message =
    is_body<std::decay_t<Body>> && requires(std::decay_t<Body>& body, Args&&... args) {
      call_body(body, std::forward<Args>(args)...);
    };
#endif

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_BODY_TYPES_HPP
