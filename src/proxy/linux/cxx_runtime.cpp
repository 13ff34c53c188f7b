// SPDX-License-Identifier: Apache-2.0
// This file alone is compiled with exceptions, for the proxy's only try block.
//
// In the shared library all references to the C++ run-time library are weak: null in a process that
// starts without one. Such a process may still load one later, for example with a Python module
// written in C++. Weak references do not see its symbols, so we find the library by file name.
#include "proxy/linux/cxx_runtime.hpp"

#include <initializer_list>
#include <new>

#if !defined(CORBEL_STATIC)

#include <dlfcn.h>
#include <errno.h>

#include "alloc/allocator.hpp"

// The symbols that the compiler refers to for the try block; C++ cannot declare them weak.
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
  void (*throw_bad_alloc)();  // only in libstdc++
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

// A run-time library that was loaded after the start, or nullptr. The handle keeps it loaded.
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

// Passed by reference and never read. std::nothrow itself is part of the run-time library.
constexpr std::nothrow_t kNothrow{};

// Calls the loaded library's nothrow form, which calls the operator new that the process sees and
// can catch what it throws.
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
  // The object consists of a pointer to its virtual table, past the two words that the C++ ABI puts
  // first. We build it by hand, because the constructor is inline and usually not exported.
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
  // Tests a symbol that the try block does not use: the compiler assumes that those exist.
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
