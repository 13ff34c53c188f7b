// SPDX-License-Identifier: Apache-2.0
// The types of the arguments and the result of a function object that is neither a template nor
// overloaded. Not for programs to include.
#ifndef CORBEL_DETAIL_CALLABLE_TYPES_HPP
#define CORBEL_DETAIL_CALLABLE_TYPES_HPP

#include <type_traits>

namespace corbel {
namespace detail {

template <typename R, typename... As>
struct signature {
  using result = R;
};
template <typename R, typename A, typename... As>
struct signature<R, A, As...> {
  using result = R;
  using first = A;
};
template <typename R, typename A, typename B, typename... As>
struct signature<R, A, B, As...> {
  using result = R;
  using first = A;
  using second = B;
};

// The signature of an operator().
template <typename Member>
struct operator_types;
template <typename C, typename R, typename... As>
struct operator_types<R (C::*)(As...)> : signature<R, As...> {};
template <typename C, typename R, typename... As>
struct operator_types<R (C::*)(As...) const> : signature<R, As...> {};
#if defined(__cpp_noexcept_function_type)
template <typename C, typename R, typename... As>
struct operator_types<R (C::*)(As...) noexcept> : signature<R, As...> {};
template <typename C, typename R, typename... As>
struct operator_types<R (C::*)(As...) const noexcept> : signature<R, As...> {};
#endif

// Has members `result`, `first` and `second`, as far as there are arguments; none if F is no
// callable type. The first argument of a pointer to a member is the object.
template <typename F, typename = void>
struct callable_types {};
template <typename F>
struct callable_types<F, decltype(static_cast<void>(&F::operator()))>
    : operator_types<decltype(&F::operator())> {};
template <typename R, typename... As>
struct callable_types<R (*)(As...)> : signature<R, As...> {};
template <typename R, typename... As>
struct callable_types<R(As...)> : signature<R, As...> {};
template <typename C, typename R, typename... As>
struct callable_types<R (C::*)(As...)> : signature<R, C, As...> {};
template <typename C, typename R, typename... As>
struct callable_types<R (C::*)(As...) const> : signature<R, C, As...> {};
template <typename C, typename T>
struct callable_types<T C::*> : signature<T, C> {};
#if defined(__cpp_noexcept_function_type)
template <typename R, typename... As>
struct callable_types<R (*)(As...) noexcept> : signature<R, As...> {};
template <typename R, typename... As>
struct callable_types<R(As...) noexcept> : signature<R, As...> {};
template <typename C, typename R, typename... As>
struct callable_types<R (C::*)(As...) noexcept> : signature<R, C, As...> {};
template <typename C, typename R, typename... As>
struct callable_types<R (C::*)(As...) const noexcept> : signature<R, C, As...> {};
#endif

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CALLABLE_TYPES_HPP
