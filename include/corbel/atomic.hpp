// SPDX-License-Identifier: Apache-2.0
// The atomic of classic TBB over that of the standard, for programs written for it; new ones use
// std::atomic. C++11 upwards.
#ifndef CORBEL_ATOMIC_HPP
#define CORBEL_ATOMIC_HPP

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace corbel {

// Orders of classic TBB: sequentially consistent, and weaker.
enum memory_semantics { full_fence, acquire, release, relaxed };

namespace detail {

constexpr std::memory_order memory_order_of(memory_semantics semantics) {
  return semantics == full_fence ? std::memory_order_seq_cst
         : semantics == acquire  ? std::memory_order_acquire
         : semantics == release  ? std::memory_order_release
                                 : std::memory_order_relaxed;
}
// What a load may have of it, as compare_and_swap has when it fails.
constexpr std::memory_order memory_order_of_load(memory_semantics semantics) {
  return semantics == full_fence ? std::memory_order_seq_cst
         : semantics == acquire  ? std::memory_order_acquire
                                 : std::memory_order_relaxed;
}

// What every T has. Other than std::atomic it can be copied, and starts as T() does if it is
// static: a program's classes of such members rely on both.
template <typename T>
class atomic_base {
 public:
  using value_type = T;

  atomic_base() noexcept = default;
  constexpr atomic_base(T value) noexcept : value_(value) {}
  // Two operations, a load and a store.
  atomic_base(const atomic_base& other) noexcept : value_(other.template load<acquire>()) {}

  // By default the orders are those of classic TBB: reading acquires, writing releases, and what
  // does both is sequentially consistent.
  template <memory_semantics kSemantics = acquire>
  T load() const noexcept {
    return value_.load(memory_order_of(kSemantics));
  }
  template <memory_semantics kSemantics = release>
  void store(T value) noexcept {
    value_.store(value, memory_order_of(kSemantics));
  }
  operator T() const noexcept { return this->template load<acquire>(); }

  // The old value.
  template <memory_semantics kSemantics = full_fence>
  T fetch_and_store(T value) noexcept {
    return value_.exchange(value, memory_order_of(kSemantics));
  }
  // Stores `value` if `comparand` is there. The old value: equal to `comparand` if it was stored.
  template <memory_semantics kSemantics = full_fence>
  T compare_and_swap(T value, T comparand) noexcept {
    value_.compare_exchange_strong(comparand, value, memory_order_of(kSemantics),
                                   memory_order_of_load(kSemantics));
    return comparand;
  }

 protected:
  std::atomic<T> value_;
};

// T is what can be added to it: an integer, or a pointer's ptrdiff_t.
template <typename T, typename Difference>
class atomic_number : public atomic_base<T> {
 public:
  using atomic_base<T>::atomic_base;
  atomic_number() noexcept = default;

  // The old value.
  template <memory_semantics kSemantics = full_fence>
  T fetch_and_add(Difference n) noexcept {
    return this->value_.fetch_add(n, memory_order_of(kSemantics));
  }
  template <memory_semantics kSemantics = full_fence>
  T fetch_and_increment() noexcept {
    return fetch_and_add<kSemantics>(1);
  }
  template <memory_semantics kSemantics = full_fence>
  T fetch_and_decrement() noexcept {
    return this->value_.fetch_sub(1, memory_order_of(kSemantics));
  }

  // Sequentially consistent. The new value; of the postfix operators the old one.
  T operator+=(Difference n) noexcept { return static_cast<T>(fetch_and_add(n) + n); }
  T operator-=(Difference n) noexcept {
    return static_cast<T>(this->value_.fetch_sub(n, std::memory_order_seq_cst) - n);
  }
  T operator++() noexcept { return static_cast<T>(fetch_and_increment() + 1); }
  T operator--() noexcept { return static_cast<T>(fetch_and_decrement() - 1); }
  T operator++(int) noexcept { return fetch_and_increment(); }
  T operator--(int) noexcept { return fetch_and_decrement(); }
};

template <typename T>
using atomic_of =
    typename std::conditional<std::is_integral<T>::value && !std::is_same<T, bool>::value,
                              atomic_number<T, T>, atomic_base<T>>::type;

}  // namespace detail

// An integer, bool, enumeration, floating point number, pointer or other type that may be copied as
// bytes. All functions may be called from any thread.
template <typename T>
class atomic : public detail::atomic_of<T> {
 public:
  using detail::atomic_of<T>::atomic_of;
  atomic() noexcept = default;
  atomic(const atomic&) noexcept = default;

  T operator=(T value) noexcept {
    this->template store<release>(value);
    return value;
  }
  atomic& operator=(const atomic& other) noexcept {
    this->template store<release>(other.template load<acquire>());
    return *this;
  }
};

template <typename T>
class atomic<T*> : public detail::atomic_number<T*, std::ptrdiff_t> {
 public:
  using detail::atomic_number<T*, std::ptrdiff_t>::atomic_number;
  atomic() noexcept = default;
  atomic(const atomic&) noexcept = default;

  T* operator=(T* value) noexcept {
    this->template store<release>(value);
    return value;
  }
  atomic& operator=(const atomic& other) noexcept {
    this->template store<release>(other.template load<acquire>());
    return *this;
  }
  T* operator->() const noexcept { return this->template load<acquire>(); }
};

template <>
class atomic<void*> : public detail::atomic_base<void*> {
 public:
  using detail::atomic_base<void*>::atomic_base;
  atomic() noexcept = default;
  atomic(const atomic&) noexcept = default;

  void* operator=(void* value) noexcept {
    this->store<release>(value);
    return value;
  }
  atomic& operator=(const atomic& other) noexcept {
    this->store<release>(other.load<acquire>());
    return *this;
  }
};

// An atomic that holds `value`.
template <typename T>
atomic<T> make_atomic(T value) {
  return atomic<T>(value);
}

}  // namespace corbel

#endif  // CORBEL_ATOMIC_HPP
