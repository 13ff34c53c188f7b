// SPDX-License-Identifier: Apache-2.0
// Taking over a sleeping thread's heap (src/alloc/policy/idle_heaps.hpp): one thread at a time uses
// the heap, it is taken apart once, and no thread writes to the memory of a thread that has ended.
//
// The protocol rests on one word of the kernel. A thread changes it when it falls asleep and when
// it wakes up, and the taker reads it. Each access is a read-modify-write that acquires and
// releases, like those of a run queue's lock. Odd means asleep. Fast paths make no other ordering
// access.
#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

enum Heaps : int { kUnset, kFirst, kSecond };

// The owner's actions, in sequence.
enum class Act { kFast, kInterrupted, kSlow, kSleep };

enum class Fault {
  kNone,
  kAsksBeforeStoring,
  kAsksOnce,
  kIgnoresHandlers,
  kIgnoresSlowPaths,
  kReadsSlowPathsLate,
  kAttachesWithoutTheLock,
  kHookWithoutTheLock,
  kHookTrustsItsArgument,
  kStaysAfterTheHook,
};

struct TakeOver : Test {
  TakeOver(std::array<Act, 3> acts, Fault fault) : acts(acts), fault(fault) {}

  Atomic<unsigned> kernel{0};  // location 0
  Atomic<int> this_heap{kFirst};
  Atomic<unsigned> slow_paths{0};
  Atomic<unsigned> handler_frames{0};
  Mutex heap_owners_lock;
  Var<bool> has_slot{true};      // of the first heap
  Var<int> thread_memory;        // holds this_heap; written when the thread's memory is released
  std::array<Var<int>, 3> used;  // the heaps
  std::array<int, 3> attached{0, 1, 0};
  std::array<int, 3> retired{0, 0, 0};
  const std::array<Act, 3> acts;
  const Fault fault;

  void use(int heap) {
    Var<int>& content = used[std::size_t(heap)];
    content.set(content.get() + 1);
  }

  void retire(int heap) {
    use(heap);
    ++retired[std::size_t(heap)];
  }

  void run(int thread) override {
    if (thread == 0) {
      for (Act act : acts) perform(act);
      leave_thread();
    } else {
      take();
    }
  }

  // ---- the owner --------------------------------------------------------------------------------

  void sleep() {
    kernel.fetch_add(1, acq_rel);
    kernel.fetch_add(1, acq_rel);
  }

  int attach_heap() {
    if (const int heap = this_heap.load(relaxed)) return heap;
    if (fault != Fault::kAttachesWithoutTheLock) {
      kernel.fetch_add(1, acq_rel);  // waits, and may be found asleep here
      heap_owners_lock.lock();
      kernel.fetch_add(1, acq_rel);
      const int heap = this_heap.load(relaxed);
      heap_owners_lock.unlock();
      if (heap != kUnset) return heap;
    }
    this_heap.store(kSecond, relaxed);
    ++attached[kSecond];
    return kSecond;
  }

  void finish_fast(int heap) { use(heap != kUnset ? heap : attach_heap()); }

  void perform(Act act) {
    switch (act) {
      case Act::kFast:
        finish_fast(this_heap.load(relaxed));
        break;
      case Act::kInterrupted: {
        const int heap = this_heap.load(relaxed);
        handler_frames.store(1, relaxed);
        sleep();
        handler_frames.store(0, relaxed);
        finish_fast(heap);
        break;
      }
      case Act::kSlow: {
        const int heap = attach_heap();
        if (heap == kFirst) slow_paths.store(1, relaxed);
        use(heap);
        sleep();
        use(heap);
        if (heap == kFirst) slow_paths.store(0, relaxed);
        break;
      }
      case Act::kSleep:
        sleep();
        break;
    }
  }

  void leave_thread() {
    const bool locks = fault != Fault::kHookWithoutTheLock;
    if (locks) heap_owners_lock.lock();
    int heap = this_heap.load(relaxed);
    this_heap.store(kUnset, relaxed);
    if (heap == kFirst && fault != Fault::kStaysAfterTheHook) has_slot.set(false);
    if (locks) heap_owners_lock.unlock();
    if (fault == Fault::kHookTrustsItsArgument) heap = kFirst;
    if (heap != kUnset) retire(heap);
    thread_memory.set(1);
  }

  // ---- the taker --------------------------------------------------------------------------------

  unsigned look() { return kernel.fetch_add(0, acq_rel); }

  bool is_in_slow_path() {
    return fault != Fault::kIgnoresSlowPaths && slow_paths.load(relaxed) != 0;
  }

  bool is_asleep() {
    const unsigned first = look();
    if (first % 2 == 0) return false;
    if (fault != Fault::kIgnoresHandlers && handler_frames.load(relaxed) != 0) return false;
    if (fault != Fault::kReadsSlowPathsLate && is_in_slow_path()) return false;
    if (fault != Fault::kAsksOnce && look() != first) return false;
    return fault != Fault::kReadsSlowPathsLate || !is_in_slow_path();
  }

  void write_slot(int heap) {
    thread_memory.get();
    this_heap.store(heap, relaxed);
  }

  void take() {
    heap_owners_lock.lock();
    if (!has_slot.get()) {
      heap_owners_lock.unlock();
      return;
    }
    bool asleep = false;
    if (fault == Fault::kAsksBeforeStoring) asleep = is_asleep();
    write_slot(kUnset);
    if (fault != Fault::kAsksBeforeStoring) asleep = is_asleep();
    if (asleep) {
      has_slot.set(false);
    } else {
      write_slot(kFirst);
    }
    heap_owners_lock.unlock();
    if (asleep) retire(kFirst);
  }

  void finish() override {
    for (std::size_t heap : {kFirst, kSecond}) {
      check(retired[heap] >= attached[heap], "a heap is lost");
      check(retired[heap] <= attached[heap], "a heap is taken apart twice");
    }
  }
};

Result run(std::array<Act, 3> acts, Fault fault = Fault::kNone, int threads = 2,
           const Mutation& mutation = nullptr) {
  return explore<TakeOver>(threads, mutation, acts, fault);
}

using enum Act;

TEST(IdleHeaps, FastPathsAroundASleep) { EXPECT_SOUND(run({kFast, kSleep, kFast})); }
TEST(IdleHeaps, HandlerSleepsInAFastPath) { EXPECT_SOUND(run({kInterrupted, kSleep, kFast})); }
TEST(IdleHeaps, SleepInASlowPath) { EXPECT_SOUND(run({kSlow, kSleep, kFast})); }
TEST(IdleHeaps, SleepBeforeASlowPath) { EXPECT_SOUND(run({kFast, kSleep, kSlow})); }
TEST(IdleHeaps, SleepBeforeAHandler) { EXPECT_SOUND(run({kSleep, kInterrupted, kFast})); }
TEST(IdleHeaps, ThreadEndsAfterTheSleep) { EXPECT_SOUND(run({kFast, kFast, kSleep})); }
TEST(IdleHeaps, TwoTakers) { EXPECT_SOUND(run({kFast, kSleep, kFast}, Fault::kNone, 3)); }

// ---- mutants: each must fail -----------------------------------------------------------------

TEST(IdleHeapsMutant, ChecksBeforeStoring) {
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kAsksBeforeStoring), "data race");
}

TEST(IdleHeapsMutant, ChecksOnce) {
  EXPECT_BROKEN(run({kInterrupted, kSleep, kFast}, Fault::kAsksOnce), "data race");
}

TEST(IdleHeapsMutant, IgnoresHandlers) {
  EXPECT_BROKEN(run({kInterrupted, kSleep, kFast}, Fault::kIgnoresHandlers), "data race");
}

TEST(IdleHeapsMutant, IgnoresSlowPaths) {
  EXPECT_BROKEN(run({kSlow, kSleep, kFast}, Fault::kIgnoresSlowPaths), "data race");
}

TEST(IdleHeapsMutant, ReadsSlowPathsAfterTheLastCheck) {
  EXPECT_BROKEN(run({kSlow, kSleep, kFast}, Fault::kReadsSlowPathsLate), "data race");
}

TEST(IdleHeapsMutant, OwnerAttachesWithoutTheLock) {
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kAttachesWithoutTheLock), "a heap is");
}

TEST(IdleHeapsMutant, HookWithoutTheLock) {
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kHookWithoutTheLock), "data race");
}

TEST(IdleHeapsMutant, HookTrustsItsArgument) {
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kHookTrustsItsArgument), "data race");
}

TEST(IdleHeapsMutant, SlotStaysAfterTheHook) {
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kStaysAfterTheHook), "data race");
}

// The kernel's lock is what orders the two threads.
TEST(IdleHeapsMutant, FallingAsleepDoesNotRelease) {
  const Mutation weak = [](Step& step) {
    if (step.location == 0) step.order = acquire;
  };
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kNone, 2, weak), "data race");
}

TEST(IdleHeapsMutant, WakingUpDoesNotAcquire) {
  const Mutation weak = [](Step& step) {
    if (step.location == 0) step.order = release;
  };
  EXPECT_BROKEN(run({kFast, kSleep, kFast}, Fault::kNone, 2, weak), "data race");
}

}  // namespace
}  // namespace corbel::model
