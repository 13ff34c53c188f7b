// SPDX-License-Identifier: Apache-2.0
// The roots of a scan: the registers of all threads, and all memory of the process that is not the
// allocator's: stacks, data of the program and of libraries, thread-local storage, and mappings of
// the program, which may be stacks of fibers or memory of other allocators. LeakSanitizer leaves
// the last ones out and misses pointers there; Memcheck takes them, as this does.
//
// Not among them: free blocks, the allocator's tables and the scan's own memory; parts of stacks
// that no thread uses (thread_stacks.hpp); files on a disk that the process shares with others, and
// devices; pages that have not been touched.
#pragma once

#include "alloc/leaks/ranges.hpp"
#include "alloc/leaks/scratch.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// What a thread still uses of its stack and its registers: less than all, if it is in exit() and
// returns no more.
struct LiveContext {
  std::uintptr_t stack_pointer;
  const std::uintptr_t* registers;
  std::size_t register_count;
};

class Roots {
 public:
  enum class Result { kDone, kNoMemory, kNoMappings };

  // Reads the map of the process. To be called while all threads are stopped.
  // `own` is what the thread that stopped the others uses; nullptr: all.
  Result find(Scratch* scratch, const os::StoppedThreads& threads, const LiveContext* own);

  // The read-only mappings of files, and the memory that cannot be read.
  const Ranges& constants() const { return constants_; }
  const Ranges& unreadable() const { return unreadable_; }

  // Leaves out an object of the scan's own that lies on the stack of the calling thread. To be
  // called after find(), at most once.
  void exclude(std::uintptr_t start, std::uintptr_t end) { excluded_.add(start, end); }

  // Calls visit(context, words, count) for all of the roots, a piece at a time. `scratch` must have
  // all its areas by now.
  void for_each_piece(void (*visit)(void* context, const std::uintptr_t* words, std::size_t count),
                      void* context);

 private:
  void visit_range(std::uintptr_t start, std::uintptr_t end);
  void visit_readable(std::uintptr_t start, std::uintptr_t end);
  // The least stack pointer of a thread in this memory; 0: none.
  std::uintptr_t least_stack_pointer(std::uintptr_t low, std::uintptr_t high) const;
  bool exclude_stacks();

  Scratch* scratch_ = nullptr;
  const os::StoppedThreads* threads_ = nullptr;
  const LiveContext* own_ = nullptr;
  Ranges constants_;
  Ranges unreadable_;
  Ranges mappings_;
  Ranges excluded_;
  std::uintptr_t* stack_pointers_ = nullptr;  // of the threads, less their red zones
  std::size_t thread_count_ = 0;
  std::uintptr_t* buffer_ = nullptr;
  void (*visit_)(void*, const std::uintptr_t*, std::size_t) = nullptr;
  void* context_ = nullptr;
};

}  // namespace corbel::alloc
