// SPDX-License-Identifier: Apache-2.0
// The whole contract with the operating system. A port implements these functions and nothing else;
// apart from src/proxy, no other folder includes a system header for memory, threads or processes.
//
// Unless its comment says otherwise, a function may be called from any thread at any time, calls no
// malloc, throws nothing and leaves errno unchanged.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "os/code.hpp"
#include "os/errno.hpp"
#include "os/exit.hpp"
#include "os/file.hpp"
#include "os/last_frame.hpp"
#include "os/optional.hpp"
#include "os/original.hpp"
#include "os/own_image.hpp"
#include "os/process_peaks.hpp"
#include "os/sampling.hpp"
#include "os/thread_exit.hpp"

// Whether the system counts memory when it is promised, so that commit() has something to do. One
// of the tests' fake systems counts in the same way.
#if !defined(CORBEL_OS_COMMITS)
#if defined(_WIN32)
#define CORBEL_OS_COMMITS 1
#else
#define CORBEL_OS_COMMITS 0
#endif
#endif

namespace corbel::os {

// ---- memory ----------------------------------------------------------------------------------

// The size in bytes of a page, the unit in which memory can be given back: a power of two, at most
// 64 KiB, the same at every call.
std::size_t page_size();

// Maps `size` bytes of readable, writable, zeroed memory and returns its address, a multiple of
// `alignment`. Requires: both are multiples of 64 KiB, not 0, and `alignment` is a power of two.
// The memory lies at `hint` if that range is free and aligned, else anywhere; nullptr is no hint.
// Nothing is resident until it is touched. Returns nullptr when the system refuses.
void* map(std::size_t size, std::size_t alignment, void* hint);

// Like map(), but no page may be used before commit() has returned true for it.
void* reserve(std::size_t size, std::size_t alignment, void* hint);

// Makes pages usable that reserve() has returned, or that decommit() has taken. Pages that are
// usable keep their content, the others read as zeros. Requires: the range consists of whole mapped
// pages. Returns false when the system has no memory left: then any of the pages may be usable.
// Where the system counts a page when it is touched, not when it is promised, every mapped page is
// usable: reserve() is map(), and commit() does nothing.
bool commit(void* address, std::size_t size);

#if !CORBEL_OS_COMMITS
inline void* reserve(std::size_t size, std::size_t alignment, void* hint) {
  return map(size, alignment, hint);
}
inline bool commit(void*, std::size_t) { return true; }
#endif

// Like map(), for a large table of which few pages will be used, after map() has refused it. Where
// the process locks its memory (mlockall) and its limit leaves no room for so much, the table is
// mapped in pieces and not locked. Returns nullptr if that is not the reason, or does not help.
void* map_unlocked(std::size_t size);

// Whether map() has ever been refused because the process locks its memory and its limit left no
// room.
bool lock_limit_has_refused();

// Locks the range no longer, where the process locks its memory: it may be swapped out, and counts
// in the limit no longer. Requires: the range consists of whole mapped pages.
void unlock(const void* address, std::size_t size);

// Gives the range back to the system, addresses included. Requires: the range consists of whole
// mapped pages; it may be part of a mapping, or span several adjacent ones. Returns false when the
// system refuses, as splitting a mapping can exhaust its table: then the range is still mapped and
// usable, and its content is unspecified.
bool unmap(void* address, std::size_t size);

// Decommits the range: gives its memory back and keeps its addresses. Requires: the range consists
// of whole mapped pages. Afterwards it may not be used before commit(), and then reads as zeros.
// Returns false when the system refuses: then the content is unchanged.
bool decommit(void* address, std::size_t size);

// Like decommit(), but the range stays usable and reads as zeros at once. Returns false, and the
// content is unchanged, also where the system cannot do that without the risk that it has no memory
// for the next use.
bool clear(void* address, std::size_t size);

// Makes a range inaccessible, or accessible again with its content. Requires: the range consists of
// whole mapped pages. Pages that are to be committed before they are used are left alone. Returns
// false when the system refuses, as it does when the process has too many mappings: then the access
// to some pages may have changed.
enum class Access { kNone, kAll };
bool protect(void* address, std::size_t size, Access access);

// Makes every page of the range resident with one call, as writing to each would; the content does
// not change. Requires: the range consists of whole mapped pages. Does nothing where the system
// lacks such a call or is out of memory: then each page becomes resident when it is written to.
void populate(void* address, std::size_t size);

// Whether a page is resident: touched, and neither given back nor swapped out since. Requires:
// `address` is the beginning of a mapped page. False where the system does not tell, or where
// populate() has no effect.
bool is_resident(void* address);

// Moves the content of one range to another without copying. Requires: both ranges consist of whole
// mapped pages, have `size` bytes, and do not overlap.
enum class Moved {
  kYes,         // the target has the content; the source is still mapped and reads as zeros
  kUnchanged,   // the system cannot: the source is unchanged, the target's content unspecified
  kTargetLost,  // the attempt lost the target range, which may be another mapping by now
};
Moved move_pages(void* from, void* to, std::size_t size);

// Asks for huge pages in the range (kDense) or for none (kSparse). A hint without effect on the
// content. kDense requires that the range is mapped. A kSparse range may include memory that
// another thread is unmapping at that moment.
enum class PageAdvice { kSparse, kDense };
void advise(void* address, std::size_t size, PageAdvice preference);

// How much memory the system grants this process and those that share its container.
struct MemoryGrant {
  std::size_t limit = SIZE_MAX;  // the lowest limit, in bytes; SIZE_MAX: none below `physical`
  std::size_t physical = 0;      // the machine's memory, in bytes; 0: not known
  bool knows_stalls = false;     // `stalled_us` is known; else there is only `collisions`
  std::uint64_t stalled_us = 0;  // total time in which some task waited for memory
  std::uint64_t collisions = 0;  // how often the container has run into its limit
};

// Reads the current grant from files, which takes system calls. Requires: no other thread is in
// this function.
MemoryGrant read_memory_grant();

// ---- threads and time -------------------------------------------------------------------------

// Sleeps until a wake-up, if `word` holds `expected`; else returns at once. Either a change of the
// word precedes that check, and the call returns, or the wake-up that follows the change finds this
// thread asleep. It may also return early: the caller checks its condition again.
void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected);

// Like wait(), for at most `ms` milliseconds.
void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t ms);

// Wake one thread, or all threads, that wait on `word`. The word's memory may already have been
// freed and reused: then threads that wait on another word at this address may wake up early.
void wake_one(std::atomic<std::uint32_t>& word);
void wake_all(std::atomic<std::uint32_t>& word);

// Lets another thread run on this processor.
void yield();

// Milliseconds of a monotonic clock; cheap, and as coarse as a scheduler tick.
std::uint64_t now_ms();

// Nanoseconds of a monotonic clock, at its full resolution.
std::uint64_t now_ns();

// The process barrier: a full fence that every running thread of this process passes.
//
// enable_process_barrier() asks the system for it and returns whether there is one. The first call
// decides for the life of the process; later calls return the same.
bool enable_process_barrier();

// Whether enable_process_barrier() has been called and there is a process barrier.
bool has_process_barrier();

// Returns after every running thread of the process, the calling one included, has passed a full
// fence. Where the system refuses the barrier later, as a sandbox may, it takes milliseconds, and
// it ends the process if no way is left. Without a process barrier only the calling thread passes
// one.
void process_barrier();

// How many processors this process may use at once, at least 1: the number in its affinity mask, or
// the container's quota, rounded up, if that is lower. Requires: no other thread is in this
// function.
unsigned usable_processors();

// A set of processors, by the system's numbers.
struct ProcessorSet {
  static constexpr unsigned kMax = 8192;
  static constexpr unsigned kBits = 64;
  std::uint64_t words[kMax / kBits];

  bool has(unsigned p) const { return (words[p / kBits] >> p % kBits & 1) != 0; }
  void add(unsigned p) { words[p / kBits] |= std::uint64_t(1) << p % kBits; }
  void remove(unsigned p) { words[p / kBits] &= ~(std::uint64_t(1) << p % kBits); }
  unsigned count() const {
    unsigned n = 0;
    for (const std::uint64_t w : words) n += unsigned(std::popcount(w));
    return n;
  }
};

// Sets `*set` to the processors that the calling thread may run on. Returns false where the system
// does not tell: then the set is empty.
bool get_processors(ProcessorSet* set);

// Binds the calling thread to the set. Without effect when the system refuses.
void set_processors(const ProcessorSet& set);

// Writes the numbers of the machine's memory nodes that have processors, at most `max` of them, and
// returns how many it wrote. 0 where the system does not tell.
unsigned read_memory_nodes(int* nodes, unsigned max);

constexpr unsigned kMaxMemoryNodes = 1024;

// Maps `size` bytes of zeroed memory, of which `chunk` bytes at a time lie on nodes[0] to
// nodes[count - 1] in turn, where the system can do that: it may place them otherwise, above all
// where there are thousands of chunks. Returns nullptr when the system refuses. Requires: the nodes
// are from 0 to kMaxMemoryNodes - 1, at least one, and `chunk` is a multiple of
// page_size().
void* map_interleaved(std::size_t size, const int* nodes, std::size_t count, std::size_t chunk);
void unmap_interleaved(void* memory, std::size_t size);

// The number of kinds of cores. 0 where all cores are alike or the system does not tell. The kinds
// are numbered from 0, the slowest.
unsigned count_core_types();

// Removes from the set all processors that do not belong to memory node `node` or to core type
// `core_type`, and all but `threads_per_core` processors of each core. An argument of -1 imposes no
// restriction. Nor does one for which the system has no data.
void keep_processors(ProcessorSet* set, int node, int core_type, int threads_per_core);

// The file that was loaded with the code at `address`: sets its path, cut off where the room ends,
// and what to subtract from an address in it to get one as the file has it. Returns false if there
// is none.
bool find_module(const void* address, char* path, std::size_t room, std::uintptr_t* base);

// The system's number of the calling thread, by which a ThreadWatch finds it.
std::uint32_t thread_id();

// Whether `thread` is the thread that the process began with.
bool is_main_thread(std::uint32_t thread);

// Whether a ThreadWatch can work at all. False where the system does not show threads, or shows
// them under other numbers than thread_id().
bool can_watch_threads();

// Finds out whether another thread of this process is certainly asleep.
//
// The thread is certainly asleep if two conditions hold. The system reports that it waits in a
// system call, of a kind that programs wait in. And no signal handler runs in it, because a handler
// may have interrupted anything. Only one thread at a time may use an object.
class ThreadWatch {
 public:
  // `thread` is that thread's thread_id(), `local` the address of one of its thread-local
  // variables, and `own_local` that of the same variable of the calling thread. Where the system
  // does not show the thread, it never appears asleep. Nor does it if `thread` is another thread's
  // id by now, as in a process that was cloned without fork handlers, if the system tells.
  ThreadWatch(std::uint32_t thread, const void* local, const void* own_local);
  ~ThreadWatch();
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  // A cheap look that proves nothing. kElsewhere: the thread is in a system call of another kind,
  // or the system does not tell.
  enum class Seems { kAwake, kAsleep, kElsewhere };
  Seems seems();

  // Returns true only if the thread is asleep at some moment during the call. Then everything the
  // thread did before it fell asleep happens before the return, and everything the caller did
  // before the call happens before whatever the thread does when it wakes up.
  bool is_asleep();

  // Returns true only if the thread has slept without a break since is_asleep() returned true, so
  // that what the caller read of its data in between was at rest. Requires: is_asleep() returned
  // true.
  bool is_still_asleep();

 private:
  struct Sleep {
    static constexpr std::size_t kMaxLine = 256;
    char line[kMaxLine];  // the system's report
    std::size_t length = 0;
    std::uintptr_t stack_pointer = 0;
  };
  bool read(Sleep* sleep) const;
  bool look(Sleep* sleep) const;
  bool may_be_in_handler() const;
  bool is_other_thread() const;

  int file_ = -1;
  // What the system knows of file_, by which the destructor recognises it.
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint32_t thread_;
  const void* local_;
  const void* own_local_;
  Sleep found_;
};

// A call that the first thread makes, and for which the others wait. If it throws, the next thread
// makes it; if the process forks during it, the child makes it again. Unlike std::call_once it uses
// no thread-local variable of the C++ library: a library that does, with the thread-local model of
// this one, cannot be loaded by dlopen after other libraries have used that variable.
class OnceCall {
 public:
  void run(void (*function)());

 private:
  int state_ = 0;  // the system's
};

// Starts a thread that interferes as little as possible with the program. It blocks all signals but
// those that its own faults raise, which the program may want to report. It runs on the main
// thread's processors, at ordinary priority, and, if the system supports that, shares no open files
// with the program. At most one such thread exists at a time. May call malloc. Returns false when
// the system refuses.
bool start_thread(const char* name, void (*run)());

// Waits until that thread has ended. Requires: kExitHooksMayWait, start_thread() returned true, and
// no other thread joins. Returns at once in the child of a fork, which does not have the thread.
void join_thread();

// Starts a detached thread. It blocks all signals but those of its own faults (kNone), or those
// that the calling thread blocks (kAsHere). A `stack_size` of 0, or below the system's minimum,
// selects the system's default. May call malloc. Returns false when the system refuses.
enum class TakesSignals { kNone, kAsHere };
bool start_detached(std::size_t stack_size, void* (*run)(void*), void* argument,
                    TakesSignals signals = TakesSignals::kNone);

// Starts a thread that the C library does not know of: a program with one thread keeps the C
// library's ways for one thread, a change of the user does not concern it, and the process ends
// with the last other thread. It blocks all signals but those of its own faults. `run` may only use
// functions that need no thread-local variables but errno and Corbel's: no malloc, no locale, no
// function of pthreads. Its stack is never unmapped. Returns false when the system refuses.
bool start_unlisted(std::size_t stack_size, int (*run)(void*));

// The addresses of a stack, without its guard pages. Empty where the system does not tell.
struct StackRange {
  std::uintptr_t low = 0, high = 0;
};

// The range of the stack that the calling thread was started with. For the main thread that is what
// its limit lets it grow to. May call malloc.
StackRange own_stack();

// The system's default stack size in bytes; 0 where it does not tell.
std::size_t default_stack_size();

// Names the calling thread in debuggers and process lists. At most 15 characters are kept.
void name_thread(const char* name);

// A stack that code can run on instead of the thread's own. At any time a thread runs on one Fiber.
// A Fiber without a stack represents the thread's own stack. Fibers that switch to each other may
// be used by only one thread at a time.
class Fiber {
 public:
  // A Fiber for the calling thread's own stack. May call malloc. Check is_complete().
  Fiber();

  // A Fiber that runs `run(argument)` on a new stack; `stack_size` as for start_detached(). `run`
  // must never return. May call malloc. Check is_complete().
  Fiber(std::size_t stack_size, void (*run)(void*), void* argument);

  // Requires: no thread runs on it.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // False when there was no memory: then only the destructor may be called.
  bool is_complete() const { return saved_ != nullptr; }

  // The range of the new stack; empty for the thread's own.
  StackRange stack() const;

  // The next switch to this fiber, which no thread is on, keeps the calling thread's signal mask.
  void take_signal_mask();
  // Leaves `this` and continues `other` where it was left, or at the beginning of its `run`.
  // Returns when a thread switches back to `this`. Requires: the calling thread runs on `this`, no
  // thread runs on `other`, and both are complete.
  void switch_to(Fiber& other);

 private:
  struct Saved;
  void arrive(const Fiber* from);

  void* stack_ = nullptr;
  std::size_t stack_size_ = 0;
  Saved* saved_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* sanitizer_ = nullptr;  // the thread sanitizer's handle of this stack
  const Fiber* from_ = nullptr;
};

// Registers handlers for every later fork: `prepare` runs before it, `parent` and `child` after it,
// each in the process of its name. To be called once. May call malloc.
void at_fork(void (*prepare)(), void (*parent)(), void (*child)());

// ---- the address space, and the process at rest -----------------------------------------------

// A mapping of the process.
struct MemoryArea {
  enum class Kind : std::uint8_t {
    kPrivate,       // memory of the process: without a file, or what it has changed of one
    kSharedMemory,  // memory that other processes may have, without a file on a disk
    kSharedFile,    // a file on a disk, and what other processes write to it
    kDevice,        // anything else: a read may have an effect
  };
  std::uintptr_t start = 0, end = 0;
  std::uint64_t offset = 0;  // in the file
  Kind kind = Kind::kDevice;
  bool readable = false, writable = false;
  bool has_file = false;  // kPrivate: `name` is the path of a file
  bool is_stack = false;  // the main thread's stack
  const char* name = "";  // the path of the file, or the system's name; valid during the visit
};

// Calls `visit` for each mapping of the process, by increasing address. Returns false where the
// system does not tell: then it has made no call.
bool for_each_memory_area(void (*visit)(void* context, const MemoryArea& mapping), void* context);

// Calls `visit` for the parts of the range that may have other content than zeros, or than the file
// that is mapped there: those that are resident or swapped out; and for what the system does not
// tell of. Requires: the range consists of whole mapped pages.
void for_each_touched(std::uintptr_t start, std::uintptr_t end,
                      void (*visit)(void* context, std::uintptr_t start, std::uintptr_t end),
                      void* context);

// A thread at rest.
struct StoppedThread {
  std::uint32_t id;
  std::uintptr_t stack_pointer;
  // What its registers hold; none for the thread that called with_threads_stopped(), which has them
  // on its stack.
  const std::uintptr_t* registers;
  std::size_t register_count;
};

// The threads of the process while they are at rest, all of them.
class StoppedThreads {
 public:
  // The thread that called with_threads_stopped() comes first.
  void for_each(void (*visit)(void* context, const StoppedThread& thread), void* context) const;

  // The stack on which `run` itself runs: no thread's.
  StackRange scratch_stack() const;
};

// What came of with_threads_stopped(). `number` tells more.
struct StopOutcome {
  enum class Kind : std::uint8_t {
    kDone,
    kNoProcess,  // no process could be made for it: an error number
    kNoList,     // the system does not show the threads
    kTraced,     // another process traces this one, as a debugger does: its id
    kForbidden,  // the system does not let a process stop the threads: an error number
    kRestless,   // for ten seconds no thread was stopped, and there were more: the id of one
    kCrashed,    // `run` crashed: the signal
  };
  Kind kind = Kind::kDone;
  std::uint32_t number = 0;
};

// Stops all other threads of the process, calls `run`, and lets them go on. `run` runs in a process
// of its own that shares the memory, while the calling thread waits: it may not take a lock that a
// thread of the program may hold, and it may call only the functions above, map(), unmap() and
// write_error(). `run` has been called if the outcome is kDone or kCrashed. A system call in which
// a thread waits may end early (EINTR), as after a stop by job control. Requires: no other thread
// is in this function.
StopOutcome with_threads_stopped(void (*run)(void* context, const StoppedThreads& threads),
                                 void* context);

// ---- process ----------------------------------------------------------------------------------

// The value of an environment variable; nullptr when it is not set, or when the process has more
// privileges than the user who set it (set-user-ID). May be called before the C library has been
// initialised. The text is valid until the program changes its environment.
const char* environment(const char* name);

// The beginning of the C library's exit(), and more bytes of code than it has.
const void* exit_function();
inline constexpr std::size_t kExitFunctionSize = 64;

// Writes `size` bytes to standard error, or as many as the system accepts. Errors are ignored.
void write_error(const char* text, std::size_t size);

// Ends the process at once and abnormally, with a core dump where the system makes one.
[[noreturn]] void abort();

// The number of the process. In the child of a fork, the child's.
std::uint32_t process_id();

// Nanoseconds since 1970 UTC.
std::uint64_t wall_ns();

// Write a zero-terminated text of at most `capacity` bytes, cut off where it is longer, and empty
// where the system does not tell. All are async-signal-safe.
void read_thread_name(char* name, std::size_t capacity);  // of the calling thread
void read_command(char* command, std::size_t capacity);   // with its arguments, between blanks
// The current folder. Also empty if its name has `capacity` bytes or more.
void read_current_folder(char* path, std::size_t capacity);

// Whether a path means the same in any current folder.
bool is_absolute(const char* path);

// A word that cannot be guessed, another one at each call.
std::uint64_t random_word();

// An access of the program to memory that it may not access.
struct Fault {
  enum class Kind { kUnknown, kRead, kWrite };
  const void* address;
  Kind kind;
  void* context;  // of the signal
};

// Calls `handler` for each fault, in the thread and in the signal handler that it raises. If it
// returns, the process goes on as if there were no handler: with the program's own handler, if it
// had one before this call, or with its end. A handler that the program sets later replaces this
// one. To be called once. False if the system refuses.
bool on_fault(void (*handler)(const Fault& fault));

// Whether the process has a thread with this thread_id().
bool has_thread(std::uint32_t thread);

// ---- requests of other processes --------------------------------------------------------------

struct Request {
  std::uint64_t number;  // names the socket on which the other side listens
  // From here on, the interrupted thread's stack is the program's; 0: nothing is known of it,
  // because the thread ran on a stack for signal handlers.
  std::uintptr_t program_stack;
  // What the registers of the interrupted thread were, in any order.
  const std::uintptr_t* registers;
  std::size_t register_count;
};

// From now on calls `answer` when the corbel command asks something of this process. The call comes
// in a signal handler, in any thread, and anywhere in the program's or this library's code, on a
// stack of its own of kRequestStack bytes; all signals but those of the thread's own faults are
// blocked meanwhile. Returns false, and changes nothing, where the process has more privileges than
// the user who started it, where what the signal does has been chosen already, by the program or by
// the one that started it, or where there is no such way to ask.
bool take_requests(void (*answer)(const Request& request));
constexpr std::size_t kRequestStack = std::size_t(128) << 10;

// For the thread of start_thread(), in which no code of the program is interrupted: lets requests
// in for some seconds after the last one. Otherwise keeps them out, and always when the program has
// replaced the handler, which is not for this thread to run. Returns whether it lets them in; then
// call it again within kRequestsLast milliseconds.
bool attend_requests();
constexpr std::uint32_t kRequestsLast = 10000;

// The connection to the process that asks. No call waits for more than half a second without
// progress. Not for several threads at a time.
class RequestSocket {
 public:
  // Connects. Check is_open(): the other side may have gone, or may have no right to ask.
  explicit RequestSocket(std::uint64_t number);
  ~RequestSocket();
  RequestSocket(const RequestSocket&) = delete;
  RequestSocket& operator=(const RequestSocket&) = delete;

  bool is_open() const { return file_ >= 0; }

  // Reads a line, ends it with a zero instead of the line end, and returns true. False: none of
  // less than `capacity` bytes has come.
  bool read_line(char* line, std::size_t capacity);

  // False if the other side does not read. What it has read of the bytes is unspecified then.
  bool write(const void* data, std::size_t size);

 private:
  bool wait(short events);

  int file_ = -1;
};

}  // namespace corbel::os
