// SPDX-License-Identifier: Apache-2.0
// This file alone is compiled with exceptions, for the one try block of the proxy.
//
// In the shared library all names of the C++ run-time library are weak: null in a process that has
// none when it starts. Such a process may still load one later (a Python module written in C++,
// say), whose names are then not in sight of weak references; it is asked for by its file name.
#include "proxy/cxx_runtime.hpp"

#include <initializer_list>
#include <new>

#if !defined(CORBEL_STATIC)

#include <dlfcn.h>
#include <errno.h>

#include "alloc/allocator.hpp"

// What the compiler itself refers to for the try block cannot be declared weak in C++.
asm(".weak __gxx_personality_v0\n"
    ".weak __cxa_begin_catch\n"
    ".weak __cxa_end_catch\n"
    ".weak _Unwind_Resume\n"
    ".weak _ZSt9terminatev\n"
    ".weak __cxa_call_terminate\n");

#pragma weak _ZSt15get_new_handlerv
#pragma weak _ZSt17__throw_bad_allocv
#pragma weak __cxa_allocate_exception
#pragma weak __cxa_throw
#pragma weak _ZTISt9bad_alloc
#pragma weak _ZTVSt9bad_alloc
#pragma weak _ZNSt9bad_allocD1Ev

extern "C" {
corbel::proxy::NewHandler _ZSt15get_new_handlerv();
void _ZSt17__throw_bad_allocv();
void* __cxa_allocate_exception(std::size_t) noexcept;
void __cxa_throw(void*, void*, void (*)(void*));
extern char _ZTISt9bad_alloc[];
extern char _ZTVSt9bad_alloc[];
void _ZNSt9bad_allocD1Ev(void*);
}

namespace corbel::proxy {
namespace {

// The parts of the run-time library that every implementation of the C++ ABI has.
struct Runtime {
  NewHandler (*get_new_handler)();
  void (*throw_bad_alloc)();  // libstdc++ alone
  void* (*allocate_exception)(std::size_t);
  void (*throw_exception)(void*, void*, void (*)(void*));
  void* bad_alloc_type;
  char* bad_alloc_table;
  void (*bad_alloc_destroy)(void*);
};

Runtime visible_runtime() {
  return {
      &_ZSt15get_new_handlerv, &_ZSt17__throw_bad_allocv, &__cxa_allocate_exception, &__cxa_throw,
      _ZTISt9bad_alloc,        _ZTVSt9bad_alloc,          &_ZNSt9bad_allocD1Ev};
}

template <typename Function>
void look_up_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

// A library loaded since, and kept from now on.
void* loaded_library() {
  const int saved = errno;
  void* library = nullptr;
  for (const char* name : {"libstdc++.so.6", "libc++.so.1"}) {
    if (library == nullptr) library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  }
  errno = saved;
  return library;
}

Runtime loaded_runtime() {
  Runtime found{};
  void* library = loaded_library();
  if (library != nullptr) {
    look_up_in(library, "_ZSt15get_new_handlerv", found.get_new_handler);
    look_up_in(library, "_ZSt17__throw_bad_allocv", found.throw_bad_alloc);
    look_up_in(library, "__cxa_allocate_exception", found.allocate_exception);
    look_up_in(library, "__cxa_throw", found.throw_exception);
    look_up_in(library, "_ZTISt9bad_alloc", found.bad_alloc_type);
    look_up_in(library, "_ZTVSt9bad_alloc", found.bad_alloc_table);
    look_up_in(library, "_ZNSt9bad_allocD1Ev", found.bad_alloc_destroy);
  }
  return found;
}

// Passed by reference and never looked at; std::nothrow itself lies in the run-time library.
constexpr std::nothrow_t kNothrow{};

// The nothrow form of the loaded library calls the visible operator new, and can catch what that
// throws.
void* late_new_or_null(std::size_t size, std::size_t alignment, bool array) noexcept {
  void* library = loaded_library();
  if (library == nullptr) return nullptr;
  if (alignment == 0) {
    void* (*plain)(std::size_t, const std::nothrow_t&);
    look_up_in(library, array ? "_ZnamRKSt9nothrow_t" : "_ZnwmRKSt9nothrow_t", plain);
    return plain != nullptr ? plain(size, kNothrow) : nullptr;
  }
  void* (*aligned)(std::size_t, std::align_val_t, const std::nothrow_t&);
  look_up_in(library,
             array ? "_ZnamSt11align_val_tRKSt9nothrow_t" : "_ZnwmSt11align_val_tRKSt9nothrow_t",
             aligned);
  return aligned != nullptr ? aligned(size, std::align_val_t{alignment}, kNothrow) : nullptr;
}

void throw_from(const Runtime& runtime) {
  if (runtime.throw_bad_alloc != nullptr) runtime.throw_bad_alloc();
  if (runtime.allocate_exception == nullptr || runtime.throw_exception == nullptr ||
      runtime.bad_alloc_type == nullptr || runtime.bad_alloc_table == nullptr) {
    return;
  }
  void* exception = runtime.allocate_exception(sizeof(std::bad_alloc));
  // The object is a pointer into the table of its virtual functions, past the two words that the
  // C++ ABI puts first. Its constructor is inline, and mostly nowhere to be found.
  static_assert(sizeof(std::bad_alloc) == sizeof(void*));
  *static_cast<char**>(exception) = runtime.bad_alloc_table + 2 * sizeof(void*);
  runtime.throw_exception(exception, runtime.bad_alloc_type, runtime.bad_alloc_destroy);
}

}  // namespace

NewHandler current_new_handler() noexcept {
  if (&_ZSt15get_new_handlerv != nullptr) return _ZSt15get_new_handlerv();
  const Runtime loaded = loaded_runtime();
  return loaded.get_new_handler != nullptr ? loaded.get_new_handler() : nullptr;
}

void throw_bad_alloc() {
  throw_from(visible_runtime());
  throw_from(loaded_runtime());
  alloc::die("operator new", "out of memory, and no C++ run-time library to throw bad_alloc",
             nullptr);
}

}  // namespace corbel::proxy

#else  // CORBEL_STATIC

namespace corbel::proxy {

NewHandler current_new_handler() noexcept { return std::get_new_handler(); }

void throw_bad_alloc() { throw std::bad_alloc(); }

}  // namespace corbel::proxy

#endif

namespace corbel::proxy {

void* new_or_null(const BasicForms& forms, std::size_t size, std::size_t alignment,
                  bool array) noexcept {
#if !defined(CORBEL_STATIC)
  // Asked of a name that the try block does not use, which the compiler would take for granted.
  if (&__cxa_throw == nullptr) return late_new_or_null(size, alignment, array);
#endif
  try {
    if (alignment == 0) return array ? forms.new_array(size) : forms.new_one(size);
    const auto align = std::align_val_t{alignment};
    return array ? forms.new_aligned_array(size, align) : forms.new_aligned(size, align);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace corbel::proxy
