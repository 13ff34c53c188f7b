// SPDX-License-Identifier: Apache-2.0
// The thread that watches the threads of the program for the time profile.
//
// Every 10 ms it makes room for samples, lists the threads, and gives new ones a timer. As often,
// and with many threads more rarely, it looks for threads that wait for a futex without a limit of
// time, as for a mutex. Such a thread is interrupted once, so that the handler finds its stack; as
// long as the same wait lasts, the time is added without an interruption. A look that finds a
// thread waiting stands for the time since the look before, so short waits are found in proportion
// to their length.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::alloc {

struct ProfilerFacts {
  std::uint64_t fault_cost_ns;    // of one page fault
  std::uint64_t own_time_ns;      // of the profiler's thread, on a processor
  std::uint64_t process_time_ns;  // of the whole process, since the profile began
  std::uint64_t threads;          // that have been watched
  std::uint64_t without_timer;    // threads that the system had no timer for
  std::uint64_t blocked;          // threads that blocked the signal when they were last looked at
  bool main_has_ended;            // which ended the profile
  bool signal_was_taken;          // the program has replaced the handler
  bool has_counters;              // at least one thread had one; the others had timers
  bool waits_are_refused;         // the system does not say whether a thread waits
  bool threads_are_hidden;        // it does not list them, at least since some time
};

// False if the system has no thread for it.
bool start_profiler(std::uint64_t period_ns);

// Stops all timers and waits until the thread has ended, or for a second. No sample comes any more.
void stop_profiler();

// Stops it as the main thread ends, and waits until the system has the thread no longer.
void end_profiler_with_main();

// After stop_profiler().
ProfilerFacts profiler_facts();

}  // namespace corbel::alloc
