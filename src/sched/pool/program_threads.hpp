// SPDX-License-Identifier: Apache-2.0
// The program's own threads, as far as the library learns of their end: the main thread, and the
// external threads that use the library. When they are gone the workers go too, so that a process
// whose main function leaves by pthread_exit ends with its last thread.
//
// A thread of the program that has never used the library is not counted. It needs no workers, and
// if it uses the library later, it is counted and workers start again.
#pragma once

#include <atomic>
#include <cstdint>

namespace corbel::sched {

class ProgramThreads {
 public:
  // Counts the calling thread; does nothing if it is counted.
  void add_this();
  // Returns true if the calling thread was the last one that was counted.
  bool remove_this();

  // Whether no thread is counted.
  bool are_gone() const {
    // (1) acquire: sees what the counted threads did before (2)
    return count_.load(std::memory_order_acquire) == 0;
  }

  // A number that changes, with a wake-up, when a thread is counted again and when note_change() is
  // called. For os::wait.
  std::atomic<std::uint32_t>& changes() { return changes_; }
  void note_change();

  // The threads that are attached to the scheduler, but for those whose hooks were over before. The
  // main thread is counted above even if it is not. detach() does nothing for a thread that is not
  // counted here.
  void attach();
  void detach();
  // Whether any thread but the calling one is attached.
  bool others_are_attached() const;

  // In the child of a fork, which has the calling thread only.
  void forget_others();

 private:
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> attached_{0};
};

inline constinit ProgramThreads program_threads;

}  // namespace corbel::sched
