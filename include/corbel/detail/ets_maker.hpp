// SPDX-License-Identifier: Apache-2.0
// How enumerable_thread_specific makes elements: function objects that construct a T at an address.
// Not for programs to include.
#ifndef CORBEL_DETAIL_ETS_MAKER_HPP
#define CORBEL_DETAIL_ETS_MAKER_HPP

#include <cstddef>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <corbel/detail/index_sequence.hpp>

namespace corbel {
namespace detail {

// Whether an object of type F can be called without arguments.
template <typename F>
class is_callable {
  template <typename G>
  static auto test(int) -> decltype(std::declval<G&>()(), std::true_type());
  template <typename>
  static std::false_type test(...);

 public:
  static constexpr bool value = decltype(test<F>(0))::value;
};

template <typename T>
struct ets_make_default {
  void operator()(void* address) const { ::new (address) T(); }
};

template <typename T, typename F>
struct ets_make_by_call {
  void operator()(void* address) { ::new (address) T(f()); }
  F f;
};

template <typename T>
struct ets_make_copy {
  void operator()(void* address) const { ::new (address) T(exemplar); }
  T exemplar;
};

template <typename T, typename... Args>
class ets_make_from {
 public:
  template <typename... Given>
  explicit ets_make_from(Given&&... args) : args_(std::forward<Given>(args)...) {}
  // Preferred over the constructor template for a non-const source.
  ets_make_from(ets_make_from& other) : args_(other.args_) {}
  ets_make_from(const ets_make_from&) = default;
  ets_make_from(ets_make_from&&) = default;

  void operator()(void* address) const { make(address, make_index_sequence<sizeof...(Args)>()); }

 private:
  template <std::size_t... Is>
  void make(void* address, index_sequence<Is...>) const {
    ::new (address) T(std::get<Is>(args_)...);
  }

  std::tuple<Args...> args_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ETS_MAKER_HPP
