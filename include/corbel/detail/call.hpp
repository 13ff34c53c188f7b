// SPDX-License-Identifier: Apache-2.0
// std::invoke ([func.require]), which C++11 lacks: calls an object, or through a pointer to a
// member of the first argument or of what that points or refers to. Not for programs to include.
#ifndef CORBEL_DETAIL_CALL_HPP
#define CORBEL_DETAIL_CALL_HPP

#include <type_traits>
#include <utility>

namespace corbel {
namespace detail {

// The object that a pointer to a member of Class applies to. A std::reference_wrapper is recognised
// by its get(), so that this header does not need <functional>.
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

// Calls f(args...), or the member of the first of `args`.
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

// Calls f() as a const object if it has such a call, else as it is. The `0` that callers pass as
// the second argument prefers the first.
template <typename F>
inline auto call_as_const(F& f, int) -> decltype(static_cast<const F&>(f)()) {
  return static_cast<const F&>(f)();
}
template <typename F>
inline auto call_as_const(F& f, long) -> decltype(f()) {
  return f();
}
template <typename F>
using const_call_result =
    decltype(call_as_const(std::declval<typename std::remove_reference<F>::type&>(), 0));

// A pointer to a member as an object that can be called.
template <typename Member>
class member_function {
 public:
  member_function(Member member) : member_(member) {}
  template <typename... Args>
  auto operator()(Args&&... args) const
      -> decltype(detail::call(std::declval<const Member&>(), std::forward<Args>(args)...)) {
    return detail::call(member_, std::forward<Args>(args)...);
  }

 private:
  Member member_;
};

// What an algorithm keeps of a function argument of type const F&, so that it can be called as
// f(...) and copied: pointers to members are wrapped, functions become pointers.
template <typename F>
using callable = typename std::conditional<
    std::is_member_pointer<F>::value, const member_function<F>,
    typename std::conditional<std::is_function<F>::value, F* const, const F&>::type>::type;

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CALL_HPP
