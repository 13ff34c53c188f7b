// SPDX-License-Identifier: Apache-2.0
// Misuses that sampled guards find, each a small program: misuse_guards CASE. It prints the address
// of the block that the report must name, and what follows must end the program. guards.py knows
// the first line of the report. The other cases are right programs, which say "right".
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace {

// Volatile pointers, because the compiler would reject some of this, or remove it.
void* (*volatile allocate)(std::size_t) = std::malloc;
void* (*volatile allocate_zeroed)(std::size_t, std::size_t) = std::calloc;
void (*volatile release)(void*) = std::free;
void* (*volatile resize)(void*, std::size_t) = std::realloc;
void* (*volatile align)(std::size_t, std::size_t) = memalign;
void* (*volatile make)(std::size_t) = ::operator new;
void (*volatile destroy_sized)(void*, std::size_t) = ::operator delete;

volatile char sink;

volatile char* announce(void* pointer) {
  return static_cast<volatile char*>(misuse::announce(pointer));
}

volatile char* new_block(std::size_t size) { return announce(allocate(size)); }
void free_block(volatile char* block) { release(const_cast<char*>(block)); }

std::size_t in_page(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % std::size_t(sysconf(_SC_PAGESIZE));
}

// A guarded block of 48 bytes at the beginning or at the end of its slot, which is chosen at
// random.
enum class Place { kBeginning, kEnd };
volatile char* new_block_at(Place place) {
  for (;;) {
    void* const block = allocate(48);
    if (in_page(place == Place::kEnd ? static_cast<char*>(block) + 48 : block) == 0) {
      return announce(block);
    }
    release(block);
  }
}

const misuse::Case kMisuses[] = {
    {"overflow-1", [] { new_block_at(Place::kEnd)[48] = 0; }},
    {"overread-1", [] { sink = new_block_at(Place::kEnd)[48]; }},
    {"overflow-8", [] { new_block_at(Place::kEnd)[55] = 1; }},
    {"overflow-1-canary",
     [] {
       volatile char* block = new_block_at(Place::kBeginning);
       block[48] = 0;
       free_block(block);
     }},
    {"overflow-8-realloc",
     [] {
       volatile char* block = new_block_at(Place::kBeginning);
       block[55] = 1;
       resize(const_cast<char*>(block), 100);
     }},
    {"underflow", [] { new_block_at(Place::kBeginning)[-1] = 0; }},
    {"underflow-canary",
     [] {
       volatile char* block = new_block_at(Place::kEnd);
       block[-1] = 0;
       free_block(block);
     }},
    {"write-after-free",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       block[8] = 1;
     }},
    {"read-after-free",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       sink = block[8];
     }},
    {"read-after-free-far",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       for (int i = 0; i < 400; ++i) release(allocate(48));
       sink = block[8];
     }},
    {"read-after-realloc",
     [] {
       volatile char* block = new_block(48);
       resize(const_cast<char*>(block), 30);
       sink = block[8];
     }},
    {"double-free",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       free_block(block);
     }},
    {"double-free-threads",
     [] {
       volatile char* block = new_block(48);
       misuse::at_the_same_time([&] { free_block(block); });
     }},
    {"free-inside", [] { free_block(new_block(100) + 16); }},
    {"realloc-freed",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       resize(const_cast<char*>(block), 100);
     }},
    {"size-freed",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       malloc_usable_size(const_cast<char*>(block));
     }},
    {"sized-delete", [] { destroy_sized(const_cast<char*>(announce(make(48))), 400); }},
    {"child",
     [] {
       volatile char* block = new_block(48);
       free_block(block);
       const pid_t child = fork();
       if (child == 0) sink = block[8];
       int status = 0;
       waitpid(child, &status, 0);
       if (WIFSIGNALED(status)) raise(WTERMSIG(status));
     }},
};

// ---- right programs -----------------------------------------------------------------------------

bool is_right = true;
void expect(bool condition, const char* what) {
  if (condition) return;
  is_right = false;
  std::printf("wrong: %s\n", what);
}

// Whether the block is guarded: its size is known to the byte.
bool is_guarded(void* block, std::size_t size) { return malloc_usable_size(block) == size; }

void see_blocks() {
  // 4,090 is no size of an ordinary block.
  void* const page = allocate(4090);
  expect(is_guarded(page, 4090), "a block of almost a page is guarded");
  void* const aligned = align(256, 200);
  expect(is_guarded(aligned, 200) && in_page(aligned) % 256 == 0, "memalign");
  for (std::size_t size = 1; size < 40; ++size) {
    void* const block = allocate(size);
    expect(is_guarded(block, size), "the size is known to the byte");
    expect(in_page(block) % (size <= 8 ? 8 : 16) == 0, "the alignment");
    release(block);
  }
  auto* const zeros = static_cast<char*>(allocate_zeroed(10, 10));
  for (int i = 0; i < 100; ++i) expect(zeros[i] == 0, "calloc");
  auto* grown = static_cast<char*>(allocate(10));
  std::memcpy(grown, "abcdefghi", 10);
  grown = static_cast<char*>(resize(grown, 500));
  expect(is_guarded(grown, 500) && std::strcmp(grown, "abcdefghi") == 0, "realloc");
  for (void* block : {page, aligned, static_cast<void*>(zeros), static_cast<void*>(grown)}) {
    release(block);
  }
  void* const large = allocate(300000);
  std::memset(large, 1, 300000);
  release(large);
}

// With four slots: the fifth block is an ordinary one, and a free makes room again.
void use_up() {
  void* blocks[64];
  for (void*& block : blocks) block = allocate(50);
  int guarded = 0;
  for (void* block : blocks) guarded += is_guarded(block, 50);
  expect(guarded <= 4, "no more blocks are guarded than there are slots");
  for (void* block : blocks) release(block);
  void* const block = allocate(50);
  expect(is_guarded(block, 50), "a free makes room");
  release(block);
}

void run_threads() {
  constexpr int kThreads = 4;
  std::mutex lock;
  std::vector<unsigned char*> shared(256, nullptr);
  std::atomic<bool> intact{true};
  const auto body = [&](unsigned seed) {
    unsigned x = seed * 2654435761U + 1;
    for (int i = 0; i < 20000; ++i) {
      x = x * 1664525 + 1013904223;
      auto size = std::uint32_t(8 + (x >> 8) % 2000);
      auto* block = static_cast<unsigned char*>(allocate(size));
      if (x >> 28 == 0) {
        size += 100;
        block = static_cast<unsigned char*>(resize(block, size));
      }
      std::memset(block, int(size % 251), size);
      std::memcpy(block, &size, sizeof size);
      {
        const std::lock_guard<std::mutex> guard(lock);
        std::swap(block, shared[(x >> 16) % shared.size()]);
      }
      if (block == nullptr) continue;
      // The first bytes of a block hold its size.
      std::uint32_t size_there;
      std::memcpy(&size_there, block, sizeof size_there);
      if (block[size_there - 1] != static_cast<unsigned char>(size_there % 251)) intact = false;
      release(block);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
  for (unsigned char* block : shared) release(block);
  expect(intact, "the content");
}

sigjmp_buf back;
void* volatile fault_address;
void jump_back(int, siginfo_t* info, void*) {
  fault_address = info->si_addr;
  siglongjmp(back, 1);
}

// The program's own handler gets the faults of the program, whatever memory they are in.
void handle_faults() {
  release(allocate(48));
  struct sigaction action = {};
  action.sa_sigaction = jump_back;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(back, 1) == 0) {
    sink = *static_cast<volatile char*>(page);
    expect(false, "the page is not accessible");
  }
  expect(fault_address == page, "the program's handler gets the address");
  release(allocate(48));
}

void fork_and_go_on() {
  void* const block = allocate(48);
  const pid_t child = fork();
  release(block);
  for (int i = 0; i < 1000; ++i) release(allocate(100));
  if (child == 0) _exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "the child");
}

// A child is made while other threads are in the middle of allocating and freeing guarded blocks.
void fork_among_threads() {
  static void* blocks[16];
  for (void*& block : blocks) block = allocate(100);
  const auto use = [] {
    for (void* block : blocks) release(block);
    for (int i = 0; i < 200; ++i) release(allocate(100));
    void* const block = allocate(4090);
    if (!is_guarded(block, 4090)) _exit(1);
    release(block);
  };
  expect(misuse::fork_while_busy(40, [] { release(allocate(48)); }, use), "the children");
  use();
}

// Ends with SIGSEGV, not with a report: the address has nothing to do with the pool.
void crash() {
  release(allocate(48));
  sink = *reinterpret_cast<volatile char*>(16);
}

const misuse::Case kRight[] = {
    {"blocks", see_blocks},   {"use-up", use_up},
    {"threads", run_threads}, {"own-handler", handle_faults},
    {"fork", fork_and_go_on}, {"fork-among-threads", fork_among_threads},
    {"crash", crash},
};

}  // namespace

int main(int argc, char** argv) {
  const char* const name = argc == 2 ? argv[1] : "";
  for (const misuse::Case& c : kMisuses) {
    if (std::strcmp(name, c.name) != 0) continue;
    c.body();
    return 0;
  }
  for (const misuse::Case& c : kRight) {
    if (std::strcmp(name, c.name) != 0) continue;
    c.body();
    if (is_right) std::puts("right");
    return 0;
  }
  for (const misuse::Case& c : kMisuses) std::puts(c.name);
  return 2;
}
