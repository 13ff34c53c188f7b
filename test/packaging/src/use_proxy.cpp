// SPDX-License-Identifier: Apache-2.0
// A C++ program that is linked with Corbel's proxy but calls no function of Corbel. It asks the
// running process, not the linker, whether malloc and new are Corbel's.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <new>

int main() {
  using Msize = std::size_t (*)(void*);
  const auto msize = reinterpret_cast<Msize>(dlsym(RTLD_DEFAULT, "scalable_msize"));
  if (msize == nullptr) {
    std::puts("proxy: scalable_msize is not in this process");
    return 1;
  }
  void* volatile by_malloc = std::malloc(100);
  void* volatile by_new = ::operator new(100);
  const bool ours = msize(by_malloc) >= 100 && msize(by_new) >= 100;
  std::free(by_malloc);
  ::operator delete(by_new);
  std::puts(ours ? "proxy: ok" : "proxy: malloc or new is not Corbel's");
  return ours ? 0 : 1;
}
