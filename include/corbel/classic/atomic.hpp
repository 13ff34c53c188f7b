// SPDX-License-Identifier: Apache-2.0
// The atomic of TBB 2020, based on std::atomic. C++11 and later. New programs use std::atomic.
#ifndef CORBEL_CLASSIC_ATOMIC_HPP
#define CORBEL_CLASSIC_ATOMIC_HPP

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace corbel {

// The memory orders of TBB 2020; full_fence is sequentially consistent.
enum memory_semantics { full_fence, acquire, release, relaxed };

namespace detail {

constexpr std::memory_order memory_order_of(memory_semantics semantics) {
  return semantics == full_fence ? std::memory_order_seq_cst
         : semantics == acquire  ? std::memory_order_acquire
         : semantics == release  ? std::memory_order_release
                                 : std::memory_order_relaxed;
}
// The order of a compare_and_swap that fails, which is only a load.
constexpr std::memory_order memory_order_of_load(memory_semantics semantics) {
  return semantics == full_fence ? std::memory_order_seq_cst
         : semantics == acquire  ? std::memory_order_acquire
                                 : std::memory_order_relaxed;
}

// The operations for every T. Unlike std::atomic it can be copied, and it is zero-initialized if it
// is static; programs rely on both.
template <typename T>
class atomic_base {
 public:
  using value_type = T;

  atomic_base() noexcept = default;
  constexpr atomic_base(T value) noexcept : value_(value) {}
  // Copies with two operations, a load and a store; not atomic as a whole.
  atomic_base(const atomic_base& other) noexcept : value_(other.template load<acquire>()) {}

  // The default orders are those of TBB 2020: loads acquire, stores release, read-modify-writes are
  // sequentially consistent.
  template <memory_semantics kSemantics = acquire>
  T load() const noexcept {
    return value_.load(memory_order_of(kSemantics));
  }
  template <memory_semantics kSemantics = release>
  void store(T value) noexcept {
    value_.store(value, memory_order_of(kSemantics));
  }
  // (1) acquire: the order that TBB 2020 promises; its partners are operations of the program.
  // volatile: programs convert members of volatile objects.
  operator T() const volatile noexcept { return value_.load(std::memory_order_acquire); }

  // Stores `value` and returns the old value.
  template <memory_semantics kSemantics = full_fence>
  T fetch_and_store(T value) noexcept {
    return value_.exchange(value, memory_order_of(kSemantics));
  }
  // Stores `value` if the old value equals `comparand`. Returns the old value in both cases.
  template <memory_semantics kSemantics = full_fence>
  T compare_and_swap(T value, T comparand) noexcept {
    value_.compare_exchange_strong(comparand, value, memory_order_of(kSemantics),
                                   memory_order_of_load(kSemantics));
    return comparand;
  }

 protected:
  std::atomic<T> value_;
};

// Arithmetic operations for an integer, or for a pointer, whose Difference is ptrdiff_t.
template <typename T, typename Difference>
class atomic_number : public atomic_base<T> {
 public:
  using atomic_base<T>::atomic_base;
  atomic_number() noexcept = default;

  // Each returns the old value.
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

  // Sequentially consistent. Each returns the new value, the postfix operators the old one.
  T operator+=(Difference n) noexcept { return static_cast<T>(fetch_and_add(n) + n); }
  T operator-=(Difference n) noexcept {
    // (2) seq_cst: the order that TBB 2020 promises; its partners are operations of the program
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

// An atomic integer, bool, enumeration, floating-point number, pointer or other trivially copyable
// type. Any thread may call any function at any time. Conversion to T acquires, assignment
// releases.
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

// load and store of an atomic, as functions with the order as the first template argument.
template <memory_semantics kSemantics, typename T>
T load(const atomic<T>& from) noexcept {
  return from.template load<kSemantics>();
}
template <memory_semantics kSemantics, typename T>
void store(atomic<T>& to, T value) noexcept {
  to.template store<kSemantics>(value);
}

// Returns an atomic that holds `value`.
template <typename T>
atomic<T> make_atomic(T value) {
  return atomic<T>(value);
}

}  // namespace corbel

#endif  // CORBEL_CLASSIC_ATOMIC_HPP
