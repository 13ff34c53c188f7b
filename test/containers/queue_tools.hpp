// SPDX-License-Identifier: Apache-2.0
// What the tests of the queues use: elements that count themselves and throw at a chosen moment, an
// allocator that fails at a chosen request, and threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace corbel::test {

struct thrown {};

// An int that counts its objects. The `countdown`-th construction from now on throws; so does the
// `assignments`-th assignment.
struct element {
  static inline std::atomic<long> living{0};
  static inline std::atomic<long> countdown{0};
  static inline std::atomic<long> assignments{0};

  int value = 0;

  element() { begin(); }
  element(int v) : value(v) { begin(); }
  element(const element& other) : value(other.value) { begin(); }
  element(element&& other) : value(other.value) {
    begin();
    other.value = -1;
  }
  element& operator=(const element& other) {
    if (--assignments == 0) throw thrown();
    value = other.value;
    return *this;
  }
  ~element() { --living; }

  friend bool operator==(const element& a, const element& b) { return a.value == b.value; }
  friend bool operator<(const element& a, const element& b) { return a.value < b.value; }

 private:
  static void begin() {
    if (--countdown == 0) throw thrown();
    ++living;
  }
};

// Counts its blocks; the `countdown`-th request from now on fails. Unequal if the ids differ.
// `kPropagates`: what all propagate_* say.
struct requests {
  static inline std::atomic<long> blocks{0};
  static inline std::atomic<long> countdown{0};
};

template <typename T, bool kPropagates = false>
struct counting_allocator {
  using value_type = T;
  using propagate_on_container_copy_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_move_assignment = std::bool_constant<kPropagates>;
  using propagate_on_container_swap = std::bool_constant<kPropagates>;
  using is_always_equal = std::false_type;
  template <typename U>
  struct rebind {
    using other = counting_allocator<U, kPropagates>;
  };

  counting_allocator() = default;
  explicit counting_allocator(int of) : id(of) {}
  template <typename U>
  counting_allocator(const counting_allocator<U, kPropagates>& other) : id(other.id) {}

  T* allocate(std::size_t n) {
    if (--requests::countdown == 0) throw std::bad_alloc();
    ++requests::blocks;
    // The id in front of the block, to see that an equal allocator frees it.
    static constexpr std::size_t kFront = alignof(T) < 16 ? 16 : alignof(T);
    char* const memory =
        static_cast<char*>(::operator new(kFront + n * sizeof(T), std::align_val_t(kFront)));
    *reinterpret_cast<int*>(memory) = id;
    return reinterpret_cast<T*>(memory + kFront);
  }
  void deallocate(T* block, std::size_t) {
    static constexpr std::size_t kFront = alignof(T) < 16 ? 16 : alignof(T);
    char* const memory = reinterpret_cast<char*>(block) - kFront;
    if (*reinterpret_cast<int*>(memory) != id) std::terminate();
    --requests::blocks;
    ::operator delete(memory, std::align_val_t(kFront));
  }

  int id = 0;
};
template <typename T, typename U, bool kPropagates>
bool operator==(const counting_allocator<T, kPropagates>& a,
                const counting_allocator<U, kPropagates>& b) {
  return a.id == b.id;
}
template <typename T, typename U, bool kPropagates>
bool operator!=(const counting_allocator<T, kPropagates>& a,
                const counting_allocator<U, kPropagates>& b) {
  return a.id != b.id;
}

// Calls body(0) to body(count - 1) in threads, and waits for them.
template <typename Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

inline int value_of(int value) { return value; }
inline int value_of(const element& e) { return e.value; }

// The ints in a queue, oldest first, or of a priority queue, greatest first; it is emptied.
template <typename Queue>
std::vector<int> drain(Queue& queue) {
  std::vector<int> values;
  typename Queue::value_type value;
  while (queue.try_pop(value)) values.push_back(value_of(value));
  return values;
}

inline std::vector<int> numbers(int from, int to) {
  std::vector<int> values;
  for (int i = from; i < to; ++i) values.push_back(i);
  return values;
}

}  // namespace corbel::test
