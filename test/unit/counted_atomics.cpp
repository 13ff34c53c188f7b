// SPDX-License-Identifier: Apache-2.0
#include "counted_atomics.hpp"

namespace corbel::test {
namespace {

thread_local constinit std::uint64_t count = 0;

}  // namespace

std::uint64_t read_modify_writes() { return count; }

// The names and arguments are those that gcc calls (https://gcc.gnu.org/wiki/Atomic/GCCMM/LIbrary).
// A missing name is a link error. The requested memory orders come last and are ignored: the
// strongest one satisfies them all.

#define CORBEL_CALLED(name) asm("__atomic_" #name)

#define CORBEL_COUNTED(name, builtin, T, bytes)                              \
  T name##_##bytes(volatile T*, T value, int) CORBEL_CALLED(name##_##bytes); \
  T name##_##bytes(volatile T* object, T value, int) {                       \
    ++count;                                                                 \
    return builtin(object, value, __ATOMIC_SEQ_CST);                         \
  }

#define CORBEL_ATOMICS(T, bytes)                                                           \
  T load_##bytes(const volatile T*, int) CORBEL_CALLED(load_##bytes);                      \
  T load_##bytes(const volatile T* object, int) {                                          \
    return __atomic_load_n(object, __ATOMIC_SEQ_CST);                                      \
  }                                                                                        \
  void store_##bytes(volatile T*, T, int) CORBEL_CALLED(store_##bytes);                    \
  void store_##bytes(volatile T* object, T value, int) {                                   \
    __atomic_store_n(object, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                        \
  bool compare_exchange_##bytes(volatile T*, T*, T, int, int)                              \
      CORBEL_CALLED(compare_exchange_##bytes);                                             \
  bool compare_exchange_##bytes(volatile T* object, T* expected, T desired, int, int) {    \
    ++count;                                                                               \
    return __atomic_compare_exchange_n(object, expected, desired, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST);                                  \
  }                                                                                        \
  CORBEL_COUNTED(exchange, __atomic_exchange_n, T, bytes)                                  \
  CORBEL_COUNTED(fetch_add, __atomic_fetch_add, T, bytes)                                  \
  CORBEL_COUNTED(fetch_sub, __atomic_fetch_sub, T, bytes)                                  \
  CORBEL_COUNTED(fetch_and, __atomic_fetch_and, T, bytes)                                  \
  CORBEL_COUNTED(fetch_or, __atomic_fetch_or, T, bytes)                                    \
  CORBEL_COUNTED(fetch_xor, __atomic_fetch_xor, T, bytes)

CORBEL_ATOMICS(std::uint8_t, 1)
CORBEL_ATOMICS(std::uint16_t, 2)
CORBEL_ATOMICS(std::uint32_t, 4)
CORBEL_ATOMICS(std::uint64_t, 8)

}  // namespace corbel::test
