// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): what a profiler of the process's own
// threads needs. A signal interrupts a thread, and a handler looks where it is.
//
// One thread of Corbel, the profiler, may call the functions of this file, unless a comment says
// that the handler may.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::os {

enum class SampleKind : unsigned {
  kTime,    // the thread has used a processor for another period
  kFaults,  // it has had another kFaultsPerSample page faults
  kWait,    // interrupt_wait() has been called
};

// Calls of the handler come at any place of the program's or Corbel's code; all signals but those
// of the thread's own faults are blocked meanwhile.
struct SampleSignal {
  SampleKind kind;
  std::uint32_t number;  // as given to SampleTimer::start() or interrupt_wait()
  const void* context;   // a ucontext_t
};

// How the time of a thread is measured.
enum class SampleClock {
  kPerf,  // a performance counter of the kernel, to the microsecond
  kCpu,   // a timer on the thread's clock, which the kernel looks at in its own tick
};

inline constexpr std::uint64_t kFaultsPerSample = 61;

// Installs the handler, once in the life of the process, for SIGURG, whose default action is none:
// a program that resets all its handlers goes on. Where SIGURG is taken, kCpu uses SIGPROF. kPerf
// cannot: a thread may call execve() while a signal is pending, and the new program would die of a
// SIGPROF. The kernel itself discards those of kCpu.
enum class SampleStart {
  kDone,
  kTaken,    // the program, or the one that started it, has chosen what the signal does
  kRefused,  // the system has no such clock, or does not let this process use it
};
SampleStart start_samples(SampleClock clock, std::uint64_t period_ns,
                          void (*handler)(const SampleSignal& signal));

// Whether the program has replaced the handler.
bool samples_are_lost();

// A clock of another thread, which calls the handler in that thread once in a period.
class SampleTimer {
 public:
  // `number` is below kMaxSampleNumber. False if the system has no more of them. The calling thread
  // has called use_own_files().
  bool start(std::uint32_t thread, std::uint32_t number);
  void stop();

  // With kPerf, the period is `period_ns` from now on. A program may do the same again and again in
  // time with a period that never changes, and the samples would show one part of it alone.
  void change_period(std::uint64_t period_ns);

  // Whether it is a counter of kPerf.
  bool has_counter() const { return time_file_ >= 0; }

  // Whether it gives kFaults, too.
  bool has_faults() const { return fault_file_ >= 0; }

 private:
  int time_file_ = -1;
  int fault_file_ = -1;
  int timer_ = -1;
};
inline constexpr std::uint32_t kMaxSampleNumber = 1U << 20;

// Gives the calling thread the user and the groups of the main thread, and no other groups, if the
// main thread's user has changed: a program that has given up its rights shall have no thread that
// keeps them.
void follow_user();

// The files that the calling thread opens are its own from now on. Those of the program are no
// longer open in this thread. Where the system cannot do that, no SampleTimer uses files: the
// program may close all that it does not know.
void use_own_files();

// Calls `visit` for the number of each thread of the process. Returns how many there are; 0 where
// the system does not tell.
unsigned for_each_thread(void (*visit)(void* context, std::uint32_t thread), void* context);

// Whether the thread has ended, and waits for the end of the process, as the main thread may.
bool has_ended(std::uint32_t thread);

// Whether the thread is that of start_thread(), in which no code of the program runs.
bool is_own_thread(std::uint32_t thread);

// The signal of the samples: its number, 0 if start_samples() has not been called, and its name.
int signal_of_samples();
const char* name_of_samples();
// Whether it is SIGURG.
bool samples_use_urgent_signal();
// Whether the thread blocks the signal.
bool blocks_signal(std::uint32_t thread, int signal);

// A wait for a futex without a limit of time.
struct ThreadWait {
  std::uintptr_t address = 0;  // of the futex
  std::uintptr_t stack = 0;    // the stack pointer
  // How often the thread has got a processor; 0 where the system does not tell.
  std::uint64_t runs = 0;

  bool operator==(const ThreadWait& other) const {
    return address == other.address && stack == other.stack && runs == other.runs;
  }
};

// Whether the thread is in such a wait.
enum class WaitLook {
  kWaits,
  kOther,    // it does something else, or has ended
  kRefused,  // the system does not say, as after a change of the user
};
WaitLook find_wait(std::uint32_t thread, ThreadWait* wait);

// Calls the handler in the thread. The wait goes on after that. False if there is no such thread.
bool interrupt_wait(std::uint32_t thread, std::uint32_t number);

// For the handler: whether the signal has interrupted a wait for a futex without a limit of time,
// that is, whether the wait goes on when the handler returns. Sets the address of the futex and the
// stack pointer.
bool was_waiting(const void* context, ThreadWait* wait);

// Whether this is the instruction that makes a system call.
#if defined(__x86_64__)
inline constexpr std::size_t kSystemCallSize = 2;
#else
inline constexpr std::size_t kSystemCallSize = 4;
#endif
bool is_system_call(const unsigned char* code);

// The processor time that a thread of the process has used, in nanoseconds; 0 if there is no such
// thread.
std::uint64_t thread_time_ns(std::uint32_t thread);
// For the handler, too: that of the calling thread, and of the process.
std::uint64_t own_time_ns();
std::uint64_t process_time_ns();
// For the handler, too: the page faults of the calling thread.
std::uint64_t own_faults();
// Those of another thread; false if there is none.
bool find_faults(std::uint32_t thread, std::uint64_t* faults);

// The name of a thread of the process, zero-terminated; empty if there is none.
void read_name_of(std::uint32_t thread, char* name, std::size_t capacity);

}  // namespace corbel::os
