// SPDX-License-Identifier: Apache-2.0
// An allocator that fails when a test says so. It replaces operator new: for one source of a
// program.
#ifndef CORBEL_TEST_FLOW_FAILING_ALLOCATOR_HPP
#define CORBEL_TEST_FLOW_FAILING_ALLOCATOR_HPP

#include <tbb/flow_graph.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "system.hpp"

namespace {
std::atomic<long> allocations_left{-1};  // negative: no failure
std::atomic<bool> fails_once{false};     // otherwise, until it is told to stop
}  // namespace

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {
bool may_allocate() {
  long left = allocations_left.load();
  long next = left;
  do {
    next = left > 0 || fails_once ? left - 1 : left;
  } while (left >= 0 && !allocations_left.compare_exchange_weak(left, next));
  return left != 0;
}
}  // namespace

void* operator new(std::size_t size) {
  void* const block = may_allocate() ? std::malloc(size) : nullptr;
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const std::size_t unit = std::size_t(alignment);
  void* const block =
      may_allocate() ? test::aligned_block(unit, (size + unit - 1) / unit * unit) : nullptr;
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { test::free_aligned(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  test::free_aligned(block);
}
constexpr bool kCanFail = true;
#else
constexpr bool kCanFail = false;
#endif

namespace {

void arm(int n) { allocations_left = n; }

// Holds the blocks that the library has kept for later, so that it asks for memory again.
class no_spare_blocks {
 public:
  no_spare_blocks() {
    if (!kCanFail) return;
    const bool once = fails_once.exchange(false);
    arm(0);
    for (std::size_t bytes = 64; bytes <= 1024; bytes += 64) {
      try {
        for (;;) {
          held_ = ::new (corbel::detail::allocate_block(bytes)) block{held_, bytes};
        }
      } catch (const std::bad_alloc&) {
      }
    }
    arm(-1);
    fails_once = once;
  }
  ~no_spare_blocks() {
    while (block* const b = held_) {
      held_ = b->next;
      corbel::detail::deallocate_block(b, b->bytes);
    }
  }
  no_spare_blocks(const no_spare_blocks&) = delete;
  no_spare_blocks& operator=(const no_spare_blocks&) = delete;

 private:
  struct block {
    block* next;
    std::size_t bytes;
  };
  block* held_ = nullptr;
};

}  // namespace

#endif  // CORBEL_TEST_FLOW_FAILING_ALLOCATOR_HPP
