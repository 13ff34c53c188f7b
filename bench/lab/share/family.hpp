// SPDX-License-Identifier: Apache-2.0
// A preload library before an allocator: it defines the allocation functions of C and C++ and
// forwards each to the next library that has it, which is the contestant. The including file
// defines hooks:
//
//   void entering();                      before the call
//   void leaving();                       after it
//   template <typename T> T on_the_way(T) to the first argument; must not change its value
//
// Functions that are missing here (malloc_usable_size, malloc_trim, ...) reach the contestant
// directly. An exception from operator new skips leaving(). <stdlib.h> is not included: its
// declarations differ from ours in details that the macro below cannot express.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

namespace family {

// dlsym itself may allocate before malloc is resolved. Those blocks come from here and are never
// freed.
alignas(64) inline char start_up[1 << 16];
inline std::atomic<size_t> start_up_used{0};
inline __thread bool resolving __attribute__((tls_model("initial-exec")));

inline bool from_start_up(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(start_up) <
         sizeof start_up;
}

inline void* take_start_up(size_t size, size_t alignment = 16) {
  const size_t room = (size + alignment + 63) & ~size_t{63};
  const size_t at = start_up_used.fetch_add(room, std::memory_order_relaxed);
  if (size > sizeof start_up || alignment > 4096 || at + room > sizeof start_up) __builtin_trap();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(start_up) + at;
  return reinterpret_cast<void*>((begin + alignment - 1) & ~(alignment - 1));
}

// A function of the next library; nullptr while dlsym runs in this thread, or if no later library
// has it.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Function* get() {
    Function* const function = function_.load(std::memory_order_relaxed);
    return __builtin_expect(function != nullptr, 1) ? function : resolve();
  }

 private:
  __attribute__((noinline)) Function* resolve() {
    if (resolving) return nullptr;
    resolving = true;
    auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    resolving = false;
    function_.store(function, std::memory_order_relaxed);
    return function;
  }
  std::atomic<Function*> function_{nullptr};
  const char* name_;
};

}  // namespace family

static inline void entering();
static inline void leaving();
template <typename T>
static inline T on_the_way(T value);

namespace family {

template <typename Return, typename First, typename... Rest>
inline Return pass(Return (*function)(First, Rest...), First first, Rest... rest) {
  entering();
  if constexpr (__is_same(Return, void)) {
    function(on_the_way(first), rest...);
    leaving();
  } else {
    const Return result = function(on_the_way(first), rest...);
    leaving();
    return result;
  }
}

}  // namespace family

// A forwarded function; the first argument is passed through on_the_way().
#define BENCH_FORWARD(Return, name, parameters, otherwise, ...)              \
  namespace family {                                                         \
  inline Next<Return parameters> next_##name(#name);                         \
  }                                                                          \
  extern "C" __attribute__((visibility("default"))) Return name parameters { \
    auto* const next = family::next_##name.get();                            \
    return next ? family::pass(next, __VA_ARGS__) : otherwise;               \
  }

BENCH_FORWARD(void*, malloc, (size_t size), family::take_start_up(size), size)
BENCH_FORWARD(void*, calloc, (size_t count, size_t size), family::take_start_up(count* size), count,
              size)
BENCH_FORWARD(void*, aligned_alloc, (size_t alignment, size_t size),
              family::take_start_up(size, alignment), alignment, size)
BENCH_FORWARD(void*, memalign, (size_t alignment, size_t size),
              family::take_start_up(size, alignment), alignment, size)
BENCH_FORWARD(void*, valloc, (size_t size), family::take_start_up(size, 4096), size)
BENCH_FORWARD(void*, pvalloc, (size_t size), family::take_start_up(size, 4096), size)
BENCH_FORWARD(int, posix_memalign, (void** place, size_t alignment, size_t size),
              (*place = family::take_start_up(size, alignment), 0), place, alignment, size)

namespace family {
inline Next<void(void*)> next_free("free");
inline Next<void*(void*, size_t)> next_realloc("realloc");
inline Next<void*(void*, size_t, size_t)> next_reallocarray("reallocarray");
}  // namespace family

extern "C" __attribute__((visibility("default"))) void free(void* block) {
  if (family::from_start_up(block)) return;
  if (auto* const next = family::next_free.get()) family::pass(next, block);
}

extern "C" __attribute__((visibility("default"))) void* realloc(void* block, size_t size) {
  auto* const next = family::next_realloc.get();
  if (next && !family::from_start_up(block)) return family::pass(next, block, size);
  void* const moved = malloc(size);
  if (moved && block) {
    const auto rest =
        static_cast<size_t>(family::start_up + sizeof family::start_up - static_cast<char*>(block));
    __builtin_memcpy(moved, block, size < rest ? size : rest);
  }
  return moved;
}

extern "C" __attribute__((visibility("default"))) void* reallocarray(void* block, size_t count,
                                                                     size_t size) {
  auto* const next = family::next_reallocarray.get();
  if (next && !family::from_start_up(block)) return family::pass(next, block, count, size);
  return realloc(block, count * size);  // only during start-up
}

// The operators of C++ by their mangled names on 64-bit machines: new and new[] (plain, nothrow,
// aligned, both), delete and delete[] (the same and sized). A program that calls them has them; the
// alternatives only satisfy the compiler.
#define BENCH_NEW(name)                                                                           \
  BENCH_FORWARD(void*, name, (size_t size), malloc(size), size)                                   \
  BENCH_FORWARD(void*, name##RKSt9nothrow_t, (size_t size, const void* tag), malloc(size), size,  \
                tag)                                                                              \
  BENCH_FORWARD(void*, name##St11align_val_t, (size_t size, size_t alignment),                    \
                aligned_alloc(alignment, size), size, alignment)                                  \
  BENCH_FORWARD(void*, name##St11align_val_tRKSt9nothrow_t,                                       \
                (size_t size, size_t alignment, const void* tag), aligned_alloc(alignment, size), \
                size, alignment, tag)
#define BENCH_DELETE(name)                                                                        \
  BENCH_FORWARD(void, name, (void* block), free(block), block)                                    \
  BENCH_FORWARD(void, name##m, (void* block, size_t size), free(block), block, size)              \
  BENCH_FORWARD(void, name##RKSt9nothrow_t, (void* block, const void* tag), free(block), block,   \
                tag)                                                                              \
  BENCH_FORWARD(void, name##St11align_val_t, (void* block, size_t alignment), free(block), block, \
                alignment)                                                                        \
  BENCH_FORWARD(void, name##mSt11align_val_t, (void* block, size_t size, size_t alignment),       \
                free(block), block, size, alignment)                                              \
  BENCH_FORWARD(void, name##St11align_val_tRKSt9nothrow_t,                                        \
                (void* block, size_t alignment, const void* tag), free(block), block, alignment,  \
                tag)
BENCH_NEW(_Znwm)
BENCH_NEW(_Znam)
BENCH_DELETE(_ZdlPv)
BENCH_DELETE(_ZdaPv)

// Runs before the program's own constructors, so that later calls find everything resolved.
__attribute__((constructor)) static void resolve_the_family() {
  family::next_malloc.get();
  family::next_calloc.get();
  family::next_realloc.get();
  family::next_free.get();
  family::next__Znwm.get();
  family::next__ZdlPv.get();
  family::next__ZdlPvm.get();
}
