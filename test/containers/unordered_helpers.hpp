// SPDX-License-Identifier: Apache-2.0
// Elements and allocators that count, and throw when a test wants them to.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace corbel::test {

// Counts down with each event; the event at which it reaches 0 throws. 0 at first: none throws.
struct countdown {
  static inline std::atomic<int> left{0};
  static void event() {
    if (left.load() > 0 && left.fetch_sub(1) == 1) throw std::runtime_error("as planned");
  }
};

// An int whose constructors, hash function and comparison may throw, and which counts its objects.
struct fragile {
  static inline std::atomic<int> objects{0};

  fragile(int v = 0) : value(v) {
    countdown::event();
    ++objects;
  }
  fragile(const fragile& other) : value(other.value) {
    countdown::event();
    ++objects;
  }
  fragile(fragile&& other) : value(other.value) {
    countdown::event();
    other.value = -1;
    ++objects;
  }
  fragile& operator=(const fragile&) = default;
  ~fragile() { --objects; }
  friend bool operator==(const fragile& a, const fragile& b) { return a.value == b.value; }

  int value;
};

struct fragile_hash {
  std::size_t operator()(const fragile& key) const {
    countdown::event();
    return std::size_t(key.value) * 0x9E3779B97F4A7C15U;
  }
};

struct fragile_equal {
  bool operator()(const fragile& a, const fragile& b) const {
    countdown::event();
    return a.value == b.value;
  }
};

// Counts the bytes and blocks that are allocated and not freed, and takes part in the countdown.
// Allocators with different numbers are not equal, and have counts of their own.
struct memory_count {
  std::atomic<std::ptrdiff_t> blocks{0};
  std::atomic<std::ptrdiff_t> bytes{0};
};
inline memory_count& memory_of(int number) {
  static memory_count counts[4];
  return counts[number];
}

template <typename T, bool kPropagates = false>
struct counting_allocator {
  using value_type = T;
  using propagate_on_container_copy_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_move_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_swap = std::bool_constant<kPropagates>;
  template <typename U>
  struct rebind {
    using other = counting_allocator<U, kPropagates>;
  };

  explicit counting_allocator(int n = 0) : number(n) {}
  template <typename U>
  counting_allocator(const counting_allocator<U, kPropagates>& other) : number(other.number) {}

  T* allocate(std::size_t n) {
    countdown::event();
    memory_of(number).blocks += 1;
    memory_of(number).bytes += std::ptrdiff_t(n * sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    memory_of(number).blocks -= 1;
    memory_of(number).bytes -= std::ptrdiff_t(n * sizeof(T));
    std::allocator<T>().deallocate(p, n);
  }

  friend bool operator==(const counting_allocator& a, const counting_allocator& b) {
    return a.number == b.number;
  }
  friend bool operator!=(const counting_allocator& a, const counting_allocator& b) {
    return !(a == b);
  }

  int number;
};

}  // namespace corbel::test
