// SPDX-License-Identifier: Apache-2.0
// dlopen and dlclose of the allocator's library a hundred times, with threads that use it and end
// after it was closed. Usage: open_again LIBRARY
#include <malloc.h>

#include <atomic>
#include <thread>
#include <vector>

#include "life.hpp"

namespace {

using Malloc = void* (*)(std::size_t);
using Free = void (*)(void*);

template <class Function>
Function look_up(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  CHECK(symbol != nullptr);
  return reinterpret_cast<Function>(symbol);
}

void use(Malloc allocate, Free release, std::size_t size) {
  unsigned char* blocks[20];
  for (unsigned char*& block : blocks) {
    block = static_cast<unsigned char*>(allocate(size));
    CHECK(block != nullptr);
    std::memset(block, 0x5a, size);
  }
  for (unsigned char* block : blocks) {
    CHECK(block[size - 1] == 0x5a);
    release(block);
  }
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(120);
  CHECK(argc == 2);
  // The system's malloc would sometimes take 64 MiB of addresses for a thread.
  CHECK(mallopt(M_ARENA_MAX, 1) == 1);
  std::size_t early = 0;
  for (int round = 0; round < 100; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    CHECK(library != nullptr);
    const auto allocate = look_up<Malloc>(library, "scalable_malloc");
    const auto release = look_up<Free>(library, "scalable_free");
    use(allocate, release, 100);
    use(allocate, release, 100000);
    std::atomic<int> used{0};
    std::atomic<bool> closed{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        use(allocate, release, 64);
        used.fetch_add(1, std::memory_order_release);
        while (!closed.load(std::memory_order_acquire)) std::this_thread::yield();
      });
    }
    while (used.load(std::memory_order_acquire) < 3) std::this_thread::yield();
    dlclose(library);
    closed.store(true, std::memory_order_release);
    for (std::thread& thread : threads) thread.join();
    if (round == 10) early = life::status_kib("VmSize");
  }
  const std::size_t late = life::status_kib("VmSize");
  std::printf("virtual size %zu KiB after 10 rounds, %zu KiB after 100\n", early, late);
  CHECK(late < early + 16384);
  return life::passed("open again");
}
