// SPDX-License-Identifier: Apache-2.0
// Elements and allocators for the tests of the ordered containers: they count what exists, and
// throw at a chosen call.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace corbel::test {

// Throws at the n-th call of step() from set(n) on; never for n == 0.
class fuse {
 public:
  static void set(int n) { left_ = n; }
  static bool is_set() { return left_ > 0; }
  static void step() {
    if (left_ > 0 && --left_ == 0) throw std::runtime_error("the fuse");
  }

 private:
  static inline int left_ = 0;
};

// An integer whose copies, moves and comparisons are steps of the fuse, and which counts how many
// exist.
struct counted_int {
  counted_int(int v) : value(v) {
    fuse::step();
    ++alive;
  }
  counted_int(const counted_int& other) : counted_int(other.value) {}
  counted_int(counted_int&& other) : counted_int(other.value) { other.value = -1; }
  counted_int& operator=(const counted_int&) = default;
  counted_int& operator=(counted_int&&) = default;
  ~counted_int() { --alive; }

  friend bool operator<(const counted_int& a, const counted_int& b) {
    fuse::step();
    return a.value < b.value;
  }
  friend bool operator==(const counted_int& a, const counted_int& b) { return a.value == b.value; }

  int value;
  static inline std::atomic<int> alive{0};
};

// What the copies of a counting_allocator share.
struct allocation_counts {
  std::atomic<long> blocks{0};
  std::atomic<long> bytes{0};
  std::atomic<long> objects{0};  // constructed through the allocator and not destroyed
};

// Allocators with the same counts are equal. Propagates as the constants say; allocating is a step
// of the fuse.
template <typename T, bool kPropagates = false>
class counting_allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_move_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_swap = std::bool_constant<kPropagates>;
  template <typename U>
  struct rebind {
    using other = counting_allocator<U, kPropagates>;
  };

  explicit counting_allocator(allocation_counts& c) : counts(&c) {}
  template <typename U>
  counting_allocator(const counting_allocator<U, kPropagates>& other) : counts(other.counts) {}

  T* allocate(std::size_t n) {
    fuse::step();
    ++counts->blocks;
    counts->bytes += long(n * sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --counts->blocks;
    counts->bytes -= long(n * sizeof(T));
    std::allocator<T>().deallocate(p, n);
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    ++counts->objects;
  }
  template <typename U>
  void destroy(U* at) {
    at->~U();
    --counts->objects;
  }

  template <typename U>
  bool operator==(const counting_allocator<U, kPropagates>& other) const {
    return counts == other.counts;
  }

  allocation_counts* counts;
};

}  // namespace corbel::test
