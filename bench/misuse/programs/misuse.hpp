// SPDX-License-Identifier: Apache-2.0
// What the programs of the misuse table share. A program commits one kind of misuse once, uses the
// heap on, and says what came of it: one line on standard output that begins with
//
//   MISSED   nothing happened that the program could see
//   DEFUSED  the allocator made the misuse harmless or visible: a fill pattern in place of old data
//   HARMED   the program was harmed: two live blocks overlap, a block changed that it did not touch
//
// An allocator that finds the misuse ends the program before, or writes a message. Every call of an
// allocation function goes through a function here that hides pointers from the compiler, which may
// otherwise remove or refuse what is undefined.
#pragma once

#include <cstddef>
#include <cstdint>

namespace misuse {

struct Run {
  std::size_t size;  // of the blocks, in bytes
  std::size_t far;   // how many other allocations lie between the cause and the misuse
  std::uint64_t seed;
};

// The fault that a message must name; the words are in lab/misuse/judge.py.
enum class Fault {
  kNone,
  kDoubleFree,
  kInvalidFree,
  kOverflow,
  kUnderflow,
  kUseAfterFree,
  kWrongSize,
  kMismatch,
  kLeak,
  kUninitialised,
};

// What the runner needs to know. kByChance: the outcome depends on threads or on where blocks
// happen to lie. kAnySize: the size of a block does not matter. kFar: makes Run::far allocations.
enum : unsigned { kByChance = 1, kAnySize = 2, kFar = 4 };

struct Kind {
  Kind(const char* kind, Fault its_fault, unsigned its_traits, const char* says,
       void (*commits)(const Run&)) noexcept;

  const char* name;
  Fault fault;
  unsigned traits;
  const char* what;  // one sentence for the table
  void (*commit)(const Run&);
  Kind* next;
};

// Each ends the program: the run's outcome.
[[noreturn]] void harmed(const char* how) noexcept;
// At once, without exit handlers, because nothing may follow that could change the outcome.
[[noreturn]] void defused(const char* how) noexcept;
// The misuse was not possible here; the runner leaves the run out.
[[noreturn]] void impossible(const char* why) noexcept;

// Words for the line that begins with MISSED; "nothing happened" if it is not called.
void remark(const char* what) noexcept;

// The pointer, of which the compiler now knows nothing.
template <class T>
T* hide(T* pointer) noexcept {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// malloc, free and their relatives as the program calls them. `take` never returns nullptr.
char* take(std::size_t size) noexcept;
void release(void* block) noexcept;
// Where a stale pointer is used: eight bytes inside a block, where no allocator keeps its lists.
constexpr std::size_t inside(const Run& run) noexcept { return run.size * 2 / 3 / 8 * 8; }
// Writes and reads that the compiler neither removes nor refuses.
void put(char* address, char value) noexcept;
char get(const char* address) noexcept;

// Blocks that the program owns and does not misuse. Each is filled with a value of its own; they
// are verified, and `harmed` is called if one has changed. Kept in static storage.
class Blocks {
 public:
  static constexpr std::size_t kMost = 1024;

  // One more block, filled. The oldest is verified and freed when there are kMost.
  char* add(std::size_t size) noexcept;
  void verify() noexcept;
  bool unchanged() const noexcept;
  void free_all() noexcept;

 private:
  struct Block {
    char* start;
    std::size_t size;
    char value;
  };
  static bool unchanged(const Block& block) noexcept;

  Block blocks_[kMost];
  std::size_t oldest_, count_;
  unsigned char next_value_;
};

// Makes `count` allocations of mixed sizes, every thousandth of run.size; up to Blocks::kMost of
// them live at a time. These blocks belong to the program and are verified.
void other_allocations(const Run& run, std::size_t count) noexcept;

// What a program does after a misuse: blocks of the same size from malloc and calloc, mixed blocks.
// Any of them may overlap another or hold what it must not.
void go_on(const Run& run) noexcept;

// A run of equally large neighbours, as an array of nodes would be. `victim` is in the middle.
class Neighbours {
 public:
  explicit Neighbours(const Run& run) noexcept;
  char* victim() const noexcept { return victim_; }
  // Verifies the others and frees all, the victim last.
  void finish() noexcept;
  // The same after a stray write, which may have changed a neighbour: an allocator that checks a
  // block when it is freed, or later, has its chance before `harmed` is called.
  void finish_after_stray_write(const Run& run) noexcept;

 private:
  char* victim_;
};

}  // namespace misuse
