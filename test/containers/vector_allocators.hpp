// SPDX-License-Identifier: Apache-2.0
// Allocators for the tests of concurrent_vector.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>

namespace test {

// An allocator with a number: two are equal if their numbers are.
template <typename T, bool kPropagates = false>
struct Tagged {
  using value_type = T;
  using propagate_on_container_copy_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_move_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_swap = std::bool_constant<kPropagates>;
  using is_always_equal = std::false_type;
  template <typename U>
  struct rebind {
    using other = Tagged<U, kPropagates>;
  };

  explicit Tagged(int n) : number(n) {}
  template <typename U>
  Tagged(const Tagged<U, kPropagates>& other) : number(other.number) {}
  Tagged select_on_container_copy_construction() const { return Tagged(number + 100); }

  // Keeps the number in front of each block.
  T* allocate(std::size_t n) {
    char* const block = static_cast<char*>(::operator new(n * sizeof(T) + kFront));
    *reinterpret_cast<int*>(block) = number;
    return reinterpret_cast<T*>(block + kFront);
  }
  void deallocate(T* p, std::size_t) {
    char* const block = reinterpret_cast<char*>(p) - kFront;
    if (*reinterpret_cast<int*>(block) != number) std::terminate();
    ::operator delete(block);
  }
  friend bool operator==(const Tagged& a, const Tagged& b) { return a.number == b.number; }
  friend bool operator!=(const Tagged& a, const Tagged& b) { return a.number != b.number; }

  static constexpr std::size_t kFront = 16;
  int number;
};

// What the blocks of all Counting allocators of one test take, and how many more they may allocate.
struct Memory {
  std::atomic<long> bytes{0};
  std::atomic<long> allocations_left{1'000'000};
};

template <typename T>
struct Counting {
  using value_type = T;

  explicit Counting(Memory& m) : memory(&m) {}
  template <typename U>
  Counting(const Counting<U>& other) : memory(other.memory) {}

  T* allocate(std::size_t n) {
    if (memory->allocations_left.fetch_sub(1) <= 0) throw std::bad_alloc();
    memory->bytes += long(n * sizeof(T));
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) {
    memory->bytes -= long(n * sizeof(T));
    ::operator delete(p);
  }
  friend bool operator==(const Counting& a, const Counting& b) { return a.memory == b.memory; }
  friend bool operator!=(const Counting& a, const Counting& b) { return a.memory != b.memory; }

  Memory* memory;
};

}  // namespace test
