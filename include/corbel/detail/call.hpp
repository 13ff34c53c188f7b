// SPDX-License-Identifier: Apache-2.0
// Calls what a program may pass as a function, as std::invoke does ([func.require]), which C++11
// lacks: an object that can be called, or a pointer to a member of the first argument, or of what
// that points or refers to.
#ifndef CORBEL_DETAIL_CALL_HPP
#define CORBEL_DETAIL_CALL_HPP

#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

// What a pointer to a member of Class applies to. A std::reference_wrapper is known by its get(),
// for the sake of those who need no <functional>.
template <typename Class, typename Object>
inline auto owner_in(Object&& object, int, int) -> typename std::enable_if<
    std::is_base_of<Class, typename std::remove_reference<Object>::type>::value, Object&&>::type {
  return std::forward<Object>(object);
}
template <typename Class, typename Object>
inline auto owner_in(Object&& object, long, int) -> decltype(*std::forward<Object>(object)) {
  return *std::forward<Object>(object);
}
template <typename Class, typename Object>
inline auto owner_in(Object&& object, long, long) -> decltype(object.get()) {
  return object.get();
}

template <typename Class, typename Object>
inline auto owner_of_member(Object&& object)
    -> decltype(owner_in<Class>(std::forward<Object>(object), 0, 0)) {
  return owner_in<Class>(std::forward<Object>(object), 0, 0);
}

template <typename F, typename... Args>
inline auto call(const F& f, Args&&... args) -> decltype(f(std::forward<Args>(args)...)) {
  return f(std::forward<Args>(args)...);
}

template <typename Type, typename Class, typename Object, typename... Args,
          typename = typename std::enable_if<std::is_function<Type>::value>::type>
inline auto call(Type Class::* member, Object&& object, Args&&... args)
    -> decltype((owner_of_member<Class>(std::forward<Object>(object)).*
                 member)(std::forward<Args>(args)...)) {
  return (owner_of_member<Class>(std::forward<Object>(object)).*
          member)(std::forward<Args>(args)...);
}

template <typename Type, typename Class, typename Object,
          typename = typename std::enable_if<!std::is_function<Type>::value>::type>
inline auto call(Type Class::* member, Object&& object)
    -> decltype((owner_of_member<Class>(std::forward<Object>(object)).*member)) {
  return owner_of_member<Class>(std::forward<Object>(object)).*member;
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CALL_HPP
