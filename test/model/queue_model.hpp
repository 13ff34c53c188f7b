// SPDX-License-Identifier: Apache-2.0
// What the models of the queues share: the system, and an allocator that watches the slots.
#pragma once

#include <corbel/detail/queue_segments.hpp>

#include <map>
#include <memory>
#include <new>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {

// Two slots in a segment.
struct QueueSystem : Kernel<0> {
  template <typename T>
  static constexpr unsigned slots() {
    return 2;
  }

  // A consumer that waits for a producer sleeps; the tests' pushes wake it.
  static inline Atomic<std::uint32_t>* pushes;
  template <typename Condition>
  static void await(Condition condition) {
    for (;;) {
      const std::uint32_t seen = pushes->load(std::memory_order_acquire);
      if (condition()) return;
      wait(*pushes, seen);
    }
  }
  static void pushed() {
    pushes->fetch_add(1, std::memory_order_acq_rel);
    wake_all(*pushes);
  }
};

// Memory at the same addresses in every run: the explorer recognises an execution by the values
// that it reads. Nothing is freed, as runs are abandoned half way.
//
// Each slot has a variable which constructing and destroying an element write, and reading it
// reads; so the reuse of a slot by a thread that does not know that the slot was taken is a data
// race.
struct Slots {
  static constexpr std::size_t kBytes = 4096;
  alignas(64) static inline std::byte memory[kBytes];
  static inline std::size_t used;
  static inline std::map<const void*, std::unique_ptr<Var<int>>> variables;

  static Var<int>& of(const void* slot) { return *variables.at(slot); }
  static void* allocate(std::size_t bytes) {
    std::byte* const block = memory + used;
    used += (bytes + 63) / 64 * 64;
    return used <= kBytes ? block : throw std::bad_alloc();
  }
  static void clear() {
    used = 0;
    variables.clear();
  }
};

template <typename T>
struct SlotAllocator {
  using value_type = T;
  SlotAllocator() = default;
  template <typename U>
  SlotAllocator(const SlotAllocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(Slots::allocate(n * sizeof(T))); }
  void deallocate(T*, std::size_t) {}
  void construct(T* slot, int value) {
    std::unique_ptr<Var<int>>& variable = Slots::variables[slot];
    if (variable == nullptr) variable = std::make_unique<Var<int>>();
    variable->set(value);
    *slot = value;
  }
  void destroy(T* slot) { Slots::of(slot).set(0); }
  friend bool operator==(const SlotAllocator&, const SlotAllocator&) { return true; }
};

// What a pop assigns to.
struct Popped {
  int value = 0;
  Popped& operator=(int&& slot) {
    value = Slots::of(&slot).get();
    return *this;
  }
};

using Segments = detail::segment_queue<int, SlotAllocator<int>, Atomic, QueueSystem>;

// The queue's memory locations; it is the first member of the tests.
enum QueueLocation {
  kHead,
  kHeadSegment,
  kKnownTail,
  kTail,
  kKnownHead,
  kTailNumber,
  kBroken,
  kLock,
  kQueueLocations
};

// A queue that the set-up has filled and emptied so far that the tests begin near an end.
struct QueueTest : Test {
  QueueTest() : queue(*new(storage) Segments(SlotAllocator<int>())) {
    Slots::clear();
    QueueSystem::pushes = &pushes;
  }

  // Never destroyed: an abandoned execution may leave it in any state.
  alignas(Segments) std::byte storage[sizeof(Segments)];
  Segments& queue;
  Atomic<std::uint32_t> pushes{0};
  std::array<int, 10> pushed{};
  std::array<int, 10> popped{};

  void set_up(int pushes_before, int pops_before) {
    for (int i = 0; i < pushes_before; ++i) push(7);
    for (int i = 0; i < pops_before; ++i) pop();
  }
  void push(int value) {
    ++pushed[std::size_t(value)];
    queue.complete(queue.claim(), value);
    QueueSystem::pushed();
  }
  int pop() {
    Segments::slot claimed;
    if (!queue.claim_element(claimed)) return 0;
    Popped result;
    queue.remove(claimed, result);
    ++popped[std::size_t(result.value)];
    check(popped[std::size_t(result.value)] <= pushed[std::size_t(result.value)],
          "an element is popped twice");
    return result.value;
  }

  void finish() override {
    int left = 10;  // a failed check returns here, so no loop may depend on the queue
    while (left > 0 && pop() != 0) --left;
    check(queue.empty() && queue.size() == 0, "the queue is not empty at the end");
    check(pushed == popped, "an element is lost");
  }
};

}  // namespace corbel::model
