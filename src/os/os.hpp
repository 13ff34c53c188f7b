// SPDX-License-Identifier: Apache-2.0
// The whole contract with the operating system. A port writes these functions and nothing else;
// no other folder includes a system header for memory, threads or processes.
//
// None of them calls malloc, throws, or changes errno. All may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corbel::os {

// ---- memory ----------------------------------------------------------------------------------

// The unit in which memory can be given back. At most 64 KiB, a power of two.
std::size_t page_size();

// `size` bytes of zeroed, readable and writable memory at any address that is a multiple of
// `alignment`; both are multiples of 64 KiB. The bytes count towards the footprint only when they
// are touched. With a `hint` the memory lies there if that range is free, else anywhere.
// nullptr when the system refuses.
void* map(std::size_t size, std::size_t alignment, void* hint);

// Gives the range back, addresses and all. Part of a mapping, or several that lie side by side,
// will do. False when the system refuses (splitting a mapping can exhaust its table): then the
// range is still mapped and its content unspecified.
bool unmap(void* address, std::size_t size);

// Gives the memory back and keeps the addresses: the next read finds zeros. False when the system
// refuses; then the content is unchanged.
bool purge(void* address, std::size_t size);

// Makes every page of the range resident, as writing to each would, with one call. Does nothing
// where the system has no such call or no memory: then the pages come when they are written to.
void populate(void* address, std::size_t size);

// Whether the page that begins at `address`, which is mapped, is resident: touched, and neither
// given back nor swapped out since. False where the system does not tell, or cannot populate.
bool is_resident(void* address);

// Moves the content of one mapped range to another of the same size without copying; the old range
// stays mapped and reads as zeros. kUnchanged when the system cannot: the source is as it was, the
// content of the target unspecified. kTargetLost when the target range was lost over the attempt.
enum class Moved { kYes, kUnchanged, kTargetLost };
Moved move_pages(void* from, void* to, std::size_t size);

// Wishes, not promises. `dense` asks for huge pages in the range, `sparse` asks for none; the
// latter range may include memory that another thread is just giving back.
enum class HugePages { kSparse, kDense };
void advise(void* address, std::size_t size, HugePages wish);

// What the system grants this process, together with those it shares a container with.
struct MemoryGrant {
  std::size_t limit = SIZE_MAX;  // the smallest there is; SIZE_MAX: none below `physical`
  std::size_t physical = 0;      // memory of the machine; 0: not known
  bool knows_stalls = false;     // else `collisions` is all there is to go by
  std::uint64_t stalled_us = 0;  // so long some task has waited for memory, all in all
  std::uint64_t collisions = 0;  // so often the container has run into its limit
};

// Reads files. One thread at a time, which is for the caller to see to.
MemoryGrant read_memory_grant();

// ---- threads and time -------------------------------------------------------------------------

// Sleeps while `word` holds `expected`; may return early.
void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected);
void wake_one(std::atomic<std::uint32_t>& word);

// Wakes all of them.
void wake_all(std::atomic<std::uint32_t>& word);

// As wait, for so many milliseconds at most.
void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t ms);

// Lets another thread run.
void yield();

// Milliseconds of a clock that never goes back, cheap and as coarse as a scheduler tick.
std::uint64_t now_ms();

// Nanoseconds of a clock that never goes back.
std::uint64_t now_ns();

// Makes every running thread of this process pass a full fence before it returns; the calling
// thread passes one, too. Where the system has nothing of the kind it is a fence of the calling
// thread alone. The first call of enable_process_barrier decides which, and says it.
bool enable_process_barrier();
bool has_process_barrier();
void process_barrier();

// How many processors this process may use at once: as many as its affinity mask has, or fewer if
// the container's quota is smaller (rounded up). At least 1.
unsigned usable_processors();

// A set of processors, by the system's numbers.
struct ProcessorSet {
  static constexpr unsigned kMost = 8192;
  static constexpr unsigned kBits = 8 * sizeof(unsigned long);
  unsigned long words[kMost / kBits];

  bool has(unsigned p) const { return (words[p / kBits] >> p % kBits & 1) != 0; }
  void add(unsigned p) { words[p / kBits] |= 1UL << p % kBits; }
  void remove(unsigned p) { words[p / kBits] &= ~(1UL << p % kBits); }
  unsigned count() const {
    unsigned n = 0;
    for (const unsigned long w : words) n += unsigned(__builtin_popcountl(w));
    return n;
  }
};

// Those that the calling thread may run on; false where the system does not tell.
bool get_processors(ProcessorSet* set);
void set_processors(const ProcessorSet& set);

// The memory nodes that the machine has; and the kinds of cores, from the slowest: 0 where all are
// alike or the system does not tell. At most `most` are written.
unsigned read_memory_nodes(int* nodes, unsigned most);
unsigned count_core_types();

// Takes away what is not of that node, that kind of core, or so many processors of each core; -1
// leaves everything. What the system does not tell takes nothing away.
void keep_processors(ProcessorSet* set, int node, int core_type, int threads_per_core);

// A number by which a ThreadWatch knows the calling thread.
std::uint32_t thread_id();

// Whether that is the thread that the process began with.
bool is_main_thread(std::uint32_t thread);

// Whether threads can be watched at all: the system may not show them, or under other numbers.
bool can_watch_threads();

// Finds out whether another thread of this process sleeps for certain.
//
// It does if the system says that it waits in a system call, one that programs wait in, and if it
// came there by calls alone: no signal handler is running in it that may have interrupted anything.
class ThreadWatch {
 public:
  // `local` is the address of a thread-local variable of that thread.
  ThreadWatch(std::uint32_t thread, const void* local);
  ~ThreadWatch();
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  // A first look, which proves nothing. kElsewhere: in a system call of another kind, or the system
  // does not tell.
  enum class Seems { kAwake, kAsleep, kElsewhere };
  Seems seems();

  // True if the thread sleeps at some moment during the call. All that it did before it fell asleep
  // happens before the return, and all that the caller did before the call happens before whatever
  // the thread does when it wakes up.
  bool is_asleep();

  // After is_asleep(): whether the thread has slept all the time since. So what was read of its
  // data in between was at rest.
  bool is_still_asleep();

 private:
  struct Sleep {
    static constexpr std::size_t kMost = 256;
    char line[kMost];  // as the system tells it
    std::size_t length = 0;
    std::uintptr_t stack_pointer = 0;
  };
  bool read(Sleep* sleep) const;
  bool look(Sleep* sleep) const;
  bool may_be_in_handler() const;

  int file_ = -1;
  const void* local_;
  Sleep found_;
};

// Calls `on_exit(argument)` in threads that end, after the destructors of thread-local objects. One
// object for each purpose, which lasts as long as the process.
class ThreadExit {
 public:
  explicit constexpr ThreadExit(void (*on_exit)(void*)) : on_exit_(on_exit) {}

  // For the calling thread, whose argument, not nullptr, replaces an earlier one. From `on_exit`,
  // too. May call malloc. False when the system has no room for it.
  bool hook(void* argument);

 private:
  void (*const on_exit_)(void*);
  std::atomic<std::uint32_t> key_{0};  // the system's, and 1; 0: none yet
};

// Starts a thread that the program notices as little of as may be: it takes no signals but those
// that a fault in it raises (which the program may want to report), and has no open files of the
// program's. May call malloc. False when the system refuses. There is one such thread at a time.
bool start_thread(const char* name, void (*run)());

// Waits until that thread has ended.
void join_thread();

// Starts a thread that nobody joins, with no signals but those of its own faults. A `stack_size` of
// 0, or less than a thread may have, is the system's choice. False when the system refuses.
bool start_detached(std::size_t stack_size, void* (*run)(void*), void* argument);

// The size of stacks whose size nobody says.
std::size_t default_stack_size();

// What the calling thread is called in debuggers and lists; at most 15 characters.
void name_thread(const char* name);

// A stack that code can run on instead of the thread's own. At any time a thread runs on one of
// them, or on its own, which a Fiber without a stack stands for. All functions are for one thread.
class Fiber {
 public:
  // The thread's own stack; or one of a `stack_size` as for start_detached. Check is_complete().
  Fiber();
  Fiber(std::size_t stack_size, void (*run)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // False when the system had no memory for it.
  bool is_complete() const { return saved_ != nullptr; }

  // Leaves `this`, on which the thread runs, and goes on with `other`, where it began or where it
  // was left. Returns when somebody switches back. `run` never returns.
  void switch_to(Fiber& other);

 private:
  struct Saved;
  void arrive(const Fiber* from);

  void* stack_ = nullptr;
  std::size_t stack_size_ = 0;
  Saved* saved_ = nullptr;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* sanitizer_ = nullptr;  // what the address or thread sanitizer knows this stack by
  const Fiber* from_ = nullptr;
};

// Registers the three for every later fork, once a process. May call malloc.
void at_fork(void (*prepare)(), void (*parent)(), void (*child)());

// ---- process ----------------------------------------------------------------------------------

// nullptr when the variable is not set. Safe before the C library has been initialised.
const char* environment(const char* name);

// Writes to standard error, all or as much as goes.
void write_error(const char* text, std::size_t size);

// Ends the process at once, abnormally (a core dump where the system makes one).
[[noreturn]] void abort();

// The peak resident memory of the process, in bytes; 0 where it cannot be had.
std::size_t peak_resident();

}  // namespace corbel::os
