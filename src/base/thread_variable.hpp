// SPDX-License-Identifier: Apache-2.0
// Thread-local variables of Corbel's own: constant at the start of a thread, without a destructor,
// and read in a few instructions, since malloc reads one.
//
//   CORBEL_THREAD_VARIABLE(unsigned, forks) = 0;         // defines one
//   CORBEL_EXTERN_THREAD_VARIABLE(unsigned, forks);      // in a header: declares it
//   CORBEL_DECLARED_THREAD_VARIABLE(unsigned, forks) = 0;  // defines what a header declares
//   CORBEL_READ_THREAD_VARIABLE(forks)                   // the value of one of 8 bytes
//
// Like thread_local constinit, with two limits. No name of another library's variable can be used
// on Windows. And a member of a variable is reached through a reference: `Two& t = two; t.a = 1;`.
// The type is one word or a name.
//
// gcc for Windows makes a call of each access to a thread_local, and the first one in a thread
// calls malloc. There the variable is an object without state, and each access does what other
// compilers do: the initial values lie in the section .tls, of which the loader makes a copy for
// each thread (Microsoft PE/COFF specification, 5.7).
#pragma once

#if defined(_WIN32) && !defined(__clang__)

#include <cstdint>

extern "C" unsigned _tls_index;

namespace corbel {

template <class T, T* kInitial>
struct ThreadVariable {
  static T* address() {
    // volatile: on a fiber, the thread may change between two accesses
    char* const* areas;
    std::uint64_t index;
    asm volatile(
        "movl _tls_index(%%rip), %k1\n\t"
        "movq %%gs:0x58, %0"
        : "=r"(areas), "=r"(index));
    T* result;
    asm("leaq %c2@secrel32(%1), %0" : "=r"(result) : "r"(areas[index]), "i"(kInitial));
    return result;
  }

  // Its value in one access less than by its address. The second operand of the asm tells the
  // compiler that memory is read.
  static auto read() {
    static_assert(sizeof(T) == 8);
    char* const* areas;
    std::uint64_t index;
    asm volatile(
        "movl _tls_index(%%rip), %k1\n\t"
        "movq %%gs:0x58, %0"
        : "=r"(areas), "=r"(index));
    const char* const area = areas[index];
    T value;
    asm("movq %c2@secrel32(%1), %0"
        : "=r"(value)
        : "r"(area), "i"(kInitial), "m"(*reinterpret_cast<const char(*)[]>(area)));
    return value;
  }

  operator T&() const { return *address(); }
  T* operator&() const { return address(); }
  template <class Value>
  T& operator=(Value value) const {
    return *address() = value;
  }
  auto operator->() const { return *address(); }
  template <class Value>
  T& operator+=(Value value) const {
    return *address() += value;
  }
  template <class Value>
  T& operator-=(Value value) const {
    return *address() -= value;
  }
  template <class Value>
  T& operator|=(Value value) const {
    return *address() |= value;
  }
  template <class Value>
  T& operator&=(Value value) const {
    return *address() &= value;
  }
};

}  // namespace corbel

#define CORBEL_READ_THREAD_VARIABLE(name) name.read()
#define CORBEL_EXTERN_THREAD_VARIABLE(type, name) \
  extern type name##_at_start;                    \
  inline constexpr ::corbel::ThreadVariable<type, &name##_at_start> name {}
#define CORBEL_DECLARED_THREAD_VARIABLE(type, name) \
  __attribute__((section(".tls$CRB"), used)) constinit type name##_at_start
#define CORBEL_THREAD_VARIABLE(type, name)   \
  CORBEL_EXTERN_THREAD_VARIABLE(type, name); \
  CORBEL_DECLARED_THREAD_VARIABLE(type, name)

#else

#define CORBEL_READ_THREAD_VARIABLE(name) name
#define CORBEL_EXTERN_THREAD_VARIABLE(type, name) extern thread_local constinit type name
#define CORBEL_DECLARED_THREAD_VARIABLE(type, name) thread_local constinit type name
#define CORBEL_THREAD_VARIABLE(type, name) thread_local constinit type name

#endif

// Defines what a public header declares by CORBEL_LIBRARY_THREAD_VARIABLE.
#if defined(_WIN32)
#define CORBEL_EXPORTED_THREAD_VARIABLE(type, name, function) \
  CORBEL_EXTERN_THREAD_VARIABLE(type, name);                  \
  type& function() noexcept { return name; }                  \
  CORBEL_DECLARED_THREAD_VARIABLE(type, name)
#else
#define CORBEL_EXPORTED_THREAD_VARIABLE(type, name, function) __thread type name
#endif
