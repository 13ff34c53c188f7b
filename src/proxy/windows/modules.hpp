// SPDX-License-Identifier: Apache-2.0
// The libraries of the process, read from the loader's list: the loader's functions might wait for
// its lock, or see a library before it is complete.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proxy/windows/image.hpp"

namespace corbel::proxy {

// A library's name in characters of a byte; others become '?'.
class ModuleName {
 public:
  ModuleName(const wchar_t* name, std::size_t bytes);
  const char* text() const { return text_; }

 private:
  char text_[64];
};

// strncmp of `text` in lower case.
int strncmp_lower(const char* text, const char* lower, std::size_t size);

// While one lives, no other thread starts or ends a library. From Windows 8 on another may map one.
class LoaderLock {
 public:
  LoaderLock();
  ~LoaderLock();
  LoaderLock(const LoaderLock&) = delete;
  LoaderLock& operator=(const LoaderLock&) = delete;

 private:
  std::uintptr_t cookie_ = 0;
};

using VisitModule = void (*)(void* context, const Image& image, const char* name);
// In the order in which they were loaded, the program first. Requires: the loader's lock, which a
// thread has, too, while it starts a library; or that the system is just telling the thread of a
// library that it loads or unloads.
void visit_modules(VisitModule visit, void* context);

template <class Visit>
void for_each_module(Visit visit) {
  visit_modules([](void* context, const Image& image,
                   const char* name) { (*static_cast<Visit*>(context))(image, name); },
                &visit);
}

}  // namespace corbel::proxy
