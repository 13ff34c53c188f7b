// SPDX-License-Identifier: Apache-2.0
// Thread-local variables of Corbel's own: constant at the start of a thread, without a destructor,
// and read in a few instructions, since malloc reads one.
//
//   CORBEL_THREAD_VARIABLE(unsigned, forks) = 0;         // defines one
//   CORBEL_EXTERN_THREAD_VARIABLE(unsigned, forks);      // in a header: declares it
//   CORBEL_DECLARED_THREAD_VARIABLE(unsigned, forks) = 0;  // defines what a header declares
//   CORBEL_READ_THREAD_VARIABLE(forks)                   // the value of one of 8 bytes
//
// Like thread_local constinit, with three limits. No name of another library's variable can be used
// on Windows. No two variables of a library have the same name, whatever their namespaces. And a
// member of a variable is reached through a reference: `Two& t = two; t.a = 1;`. The type is one
// word or a name.
//
// gcc for Windows makes a call of each access to a thread_local, and the first one in a thread
// calls malloc. There the variable is an object without state, and each access does what other
// compilers do: the initial values lie in the section .tls, of which the loader makes a copy for
// each thread (Microsoft PE/COFF specification, 5.7).
#pragma once

#if defined(_WIN32) && !defined(__clang__)

#include <bit>
#include <cstdint>

extern "C" unsigned _tls_index;

namespace corbel {

// The calling thread's variables of this library. volatile: on a fiber, the thread may change
// between two accesses.
inline char* thread_area() {
  char* const* areas;
  std::uint64_t index;
  asm volatile(
      "movl _tls_index(%%rip), %k1\n\t"
      "movq %%gs:0x58, %0"
      : "=r"(areas), "=r"(index));
  return areas[index];
}

// Place::address() is that of the calling thread's copy.
template <class T, class Place>
struct ThreadVariable {
  // Its value, in one access less than by its address.
  static auto read() {
    static_assert(sizeof(T) == sizeof(std::uint64_t));
    return std::bit_cast<T>(Place::word());
  }

  operator T&() const { return *Place::address(); }
  T* operator&() const { return Place::address(); }
  template <class Value>
  T& operator=(Value value) const {
    return *Place::address() = value;
  }
  auto operator->() const { return *Place::address(); }
  template <class Value>
  T& operator+=(Value value) const {
    return *Place::address() += value;
  }
  template <class Value>
  T& operator-=(Value value) const {
    return *Place::address() -= value;
  }
  template <class Value>
  T& operator|=(Value value) const {
    return *Place::address() |= value;
  }
  template <class Value>
  T& operator&=(Value value) const {
    return *Place::address() &= value;
  }
};

}  // namespace corbel

#define CORBEL_READ_THREAD_VARIABLE(name) name.read()
// The assembly says the variable's name itself: as an operand, it would not be a constant to gcc
// where variables of other libraries may lie more than 2 GiB away. The second operand of movq tells
// the compiler that memory is read.
#define CORBEL_EXTERN_THREAD_VARIABLE(type, name)                      \
  extern type name##_at_start asm("corbel_thread_variable_" #name);    \
  struct name##_place {                                                \
    static type* address() {                                           \
      type* result;                                                    \
      asm("leaq corbel_thread_variable_" #name "@secrel32(%1), %0"     \
          : "=r"(result)                                               \
          : "r"(::corbel::thread_area()));                             \
      return result;                                                   \
    }                                                                  \
    static std::uint64_t word() {                                      \
      const char* const area = ::corbel::thread_area();                \
      std::uint64_t result;                                            \
      asm("movq corbel_thread_variable_" #name "@secrel32(%1), %0"     \
          : "=r"(result)                                               \
          : "r"(area), "m"(*reinterpret_cast<const char(*)[]>(area))); \
      return result;                                                   \
    }                                                                  \
  };                                                                   \
  inline constexpr ::corbel::ThreadVariable<type, name##_place> name {}
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
