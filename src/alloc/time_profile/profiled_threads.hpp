// SPDX-License-Identifier: Apache-2.0
// The threads of the program, as the time profile knows them.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloc/stacks/stack_table.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

struct ProfiledTask {
  // ---- of the profiler's thread ----
  std::uint32_t id;  // os::thread_id()
  char name[16];
  os::SampleTimer timer;
  bool has_timer;
  std::uint32_t scan;  // the last one that has met the thread
  std::uint32_t scans;
  std::uint32_t samples_seen;  // `samples` when its period was last changed
  os::ThreadWait wait;         // that the thread is expected to be in still
  std::uint32_t next;          // the number of the next one in a list; 0: none

  // ---- of the handler, which runs in this thread; set before there is a timer ----
  std::uint64_t time_seen;    // os::own_time_ns() up to which the time is in the table
  std::uint64_t faults_seen;  // os::own_faults(), likewise
  bool has_faults_seen;

  // ---- of both; relaxed: one number each, and the handler's answer is only a hint ----
  std::atomic<std::uint64_t> wait_due;  // the time of a wait that the handler is to add
  std::atomic<StackId> wait_stack;      // that the handler has found; 0: none
  std::atomic<std::uint32_t> samples;   // that it has taken
  std::atomic<bool> has_fault_signals;  // os::SampleKind::kFaults tells of page faults
};

// The record of this number; nullptr if there is none. For handlers, too.
ProfiledTask* task_at(std::uint32_t number);

// The rest is for the profiler's thread.

// The number of a record of zero bytes, but for `timer`; 0 if there is no memory.
std::uint32_t make_task();
// Gives a record back of which no row of the table knows. Its `next` is taken.
void forget_task(std::uint32_t number);
// Numbers are from 1 on, and below this.
std::uint32_t end_of_tasks();

}  // namespace corbel::alloc
