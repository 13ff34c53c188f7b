// SPDX-License-Identifier: Apache-2.0
// Reaches a hard limit through every function that allocates. Each refuses as documented, existing
// blocks stay untouched, and freed memory can be allocated again at once.
#include <malloc.h>

#include <latch>
#include <new>
#include <thread>
#include <vector>

#include "heap_limit.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLimit = 64 * kMiB;
constexpr std::size_t kTooMuch = 2 * kLimit;

int handler_calls = 0;

void check_new(std::size_t size) {
  handler_calls = 0;
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  bool thrown = false;
  try {
    void* volatile block = ::operator new(size);
    ::operator delete(block);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(handler_calls == 3);
  thrown = false;
  try {
    void* volatile block = ::operator new[](size, std::align_val_t{256});
    ::operator delete[](block, std::align_val_t{256});
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  void* volatile none = ::operator new(size, std::nothrow);
  CHECK(none == nullptr);
  none = ::operator new(size, std::align_val_t{4096}, std::nothrow);
  CHECK(none == nullptr);
}

// `block` is live, and must be unchanged after each refusal to grow it.
void check_realloc(unsigned char* block, std::size_t from, std::size_t to) {
  const std::size_t usable = malloc_usable_size(block);
  errno = 0;
  CHECK(std::realloc(block, to) == nullptr);
  CHECK(errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(block, to / 8 + 1, 8) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(malloc_usable_size(block) == usable);
  for (std::size_t i = 0; i < from; ++i) CHECK(block[i] == (from & 0xff));
}

void check_others(std::size_t size) {
  errno = 0;
  CHECK(std::malloc(size) == nullptr);
  CHECK(errno == ENOMEM);
  errno = 0;
  CHECK(std::calloc(size / 16 + 1, 16) == nullptr);
  CHECK(errno == ENOMEM);
  errno = 0;
  CHECK(std::aligned_alloc(64, (size + 63) / 64 * 64) == nullptr);
  CHECK(errno == ENOMEM);
  errno = 0;
  CHECK(memalign(65536 * 4, size) == nullptr);
  CHECK(errno == ENOMEM);
  int mark = 0;
  void* untouched = &mark;
  errno = 0;
  CHECK(posix_memalign(&untouched, 4096, size) == ENOMEM);
  CHECK(untouched == &mark);
  CHECK(errno == 0);
  errno = 0;
  CHECK(valloc(size) == nullptr);
  CHECK(errno == ENOMEM);
}

// Fills the heap with blocks of one size. Freed blocks can be allocated again.
void check_exact(std::size_t size) {
  life::Hoard hoard;
  const std::size_t count = hoard.fill(size);
  // The rest is what the program already held, and the allocator's tables.
  CHECK(count * size <= kLimit);
  CHECK(count * size >= kLimit * 7 / 10);
  hoard.free_some(count / 2);
  // All but a few come back: tables may have taken their memory.
  CHECK(hoard.fill(size) + count / 200 + 4 >= count / 2);
  hoard.free_some(hoard.count());
  CHECK(life::status_kib("VmHWM") * 1024 <= kLimit + 16 * kMiB);
}

// Freed memory of one size serves every other size.
void check_any_size_after_another() {
  const std::size_t sizes[] = {64, 700, 5000, 40000, 300000, 3 * kMiB, 32};
  for (const std::size_t size : sizes) check_exact(size);
}

// Eight threads in turn allocate all the memory.
void check_threads() {
  constexpr std::size_t kThreads = 8;
  std::vector<std::thread> threads;
  std::latch all(kThreads);  // no thread can be started at the limit
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &all] {
      all.arrive_and_wait();
      life::Hoard hoard;
      for (int round = 0; round < 20;) {
        if (hoard.fill(200 + 1000 * i) > 0) ++round;
        hoard.free_some(hoard.count());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- the callback ------------------------------------------------------------------------------

// Compilers know malloc and assume that it has no visible effects. A callback has some.
void* (*volatile const take)(std::size_t) = std::malloc;

struct Cache {
  std::vector<unsigned char*> blocks;
  std::size_t calls = 0, asked = 0;
};

int give_one(void* context, std::size_t size) {
  auto& cache = *static_cast<Cache*>(context);
  ++cache.calls;
  cache.asked = size;
  // The callback may allocate. A request in it that reaches the limit is refused without another
  // callback.
  CHECK(take(kTooMuch) == nullptr);
  free(take(10));
  if (cache.blocks.empty()) return 0;
  life::free_block(cache.blocks.back(), kMiB);
  cache.blocks.pop_back();
  return 1;
}

void check_callback() {
  Cache cache;
  cache.blocks.reserve(100);
  for (int i = 0; i < 40; ++i) cache.blocks.push_back(life::make_block(kMiB));
  life::on_limit(give_one, &cache);
  // Fits once a part of the cache has been freed.
  auto* const block = static_cast<unsigned char*>(take(30 * kMiB));
  CHECK(block != nullptr);
  std::memset(block, 0, 30 * kMiB);
  CHECK(cache.calls >= 1);
  CHECK(cache.asked > 0 && cache.asked <= 2 * kLimit);
  CHECK(cache.blocks.size() < 40);
  // Never fits: the callback is called a few times, and then the request is refused.
  const std::size_t before = cache.calls;
  CHECK(take(kTooMuch) == nullptr);
  CHECK(cache.calls > before);
  CHECK(cache.calls <= before + 9);
  life::on_limit(nullptr, nullptr);
  const std::size_t calls = cache.calls;
  CHECK(take(kTooMuch) == nullptr);
  CHECK(cache.calls == calls);
  life::free_block(block, 30 * kMiB);
  for (unsigned char* kept : cache.blocks) life::free_block(kept, kMiB);
}

}  // namespace

int main() {
  life::check_replacement();
  life::give_up_after(200);
  life::use_malloc(3);
  life::set_hard_limit(kLimit);
  check_others(kTooMuch);
  check_new(kTooMuch);
  for (const std::size_t size : {100, 5000, 100000, 1000000}) {
    unsigned char* block = life::make_block(size);
    check_realloc(block, size, kTooMuch);
    life::free_block(block, size);
  }
  check_any_size_after_another();
  check_threads();
  check_callback();

  // The smallest limit: no new memory, but existing blocks can be freed.
  unsigned char* block = life::make_block(5000);
  std::latch limited(1);
  std::thread other([&limited] {  // has no heap yet and cannot get one
    limited.wait();
    CHECK(std::malloc(kMiB) == nullptr);
  });
  life::set_hard_limit(1);
  limited.count_down();
  other.join();
  check_others(kMiB);
  check_new(kMiB);
  check_realloc(block, 5000, kMiB);
  life::free_block(block, 5000);
  life::set_hard_limit(0);
  life::use_malloc(10);
  free(life::make_block(kTooMuch));
  return life::passed("hard-limit");
}
