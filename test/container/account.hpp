// SPDX-License-Identifier: Apache-2.0
// The server's account: it counts every byte requested from malloc, also by containers, so that the
// live bytes do not depend on the allocator that serves them.
#pragma once

#include <unistd.h>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "../stress/block.hpp"

namespace corbel::container {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "server: FAILED: %s\n", what);
  std::fflush(stderr);
  _exit(1);
}

class Account {
 public:
  // relaxed, all of them: figures that steer and report; they order nothing
  static void add(std::size_t bytes) {
    const std::size_t now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t most = most_.load(std::memory_order_relaxed);
    while (most < now && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
  static void subtract(std::size_t bytes) { live_.fetch_sub(bytes, std::memory_order_relaxed); }
  static std::size_t live() { return live_.load(std::memory_order_relaxed); }
  static std::size_t most() { return most_.load(std::memory_order_relaxed); }

 private:
  static inline std::atomic<std::size_t> live_{0};
  static inline std::atomic<std::size_t> most_{0};  // the maximum so far
};

// The allocator of the server's containers.
template <class T>
struct Counted {
  using value_type = T;
  Counted() = default;
  template <class U>
  Counted(const Counted<U>&) {}
  T* allocate(std::size_t n) {
    void* const block = std::malloc(n * sizeof(T));
    if (block == nullptr) fail("malloc gave NULL");
    Account::add(n * sizeof(T));
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t n) {
    Account::subtract(n * sizeof(T));
    std::free(block);
  }
  bool operator==(const Counted&) const { return true; }
};

// A block with known content, which is checked before the block is freed.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size, bool zeroed = false) {
    block_.address = static_cast<unsigned char*>(zeroed ? std::calloc(1, size) : std::malloc(size));
    if (block_.address == nullptr) fail("malloc gave NULL");
    if (zeroed && stress::check_zero(block_.address, size) != stress::kAllGood) {
      fail("calloc gave a block that is not zero");
    }
    settle(size);
    Account::add(size);
  }
  Bytes(Bytes&& other) noexcept : block_(other.block_) { other.block_ = {}; }
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (block_.address == nullptr) return;
    check();
    Account::subtract(block_.size);
    std::free(block_.address);
  }

  void check() const {
    if (stress::check(block_, block_.size) != stress::kAllGood) fail("a block has changed");
  }

  void resize(std::size_t size) {
    const stress::Block old = block_;
    void* const moved = std::realloc(old.address, size);
    if (moved == nullptr) fail("realloc gave NULL");
    block_.address = static_cast<unsigned char*>(moved);
    const std::size_t kept = old.size < size ? old.size : size;
    if (stress::check_moved(old, block_.address, kept) != stress::kAllGood) {
      fail("realloc lost content");
    }
    Account::add(size);
    Account::subtract(old.size);
    settle(size);
  }

  std::size_t size() const { return block_.size; }
  const unsigned char* data() const { return block_.address; }

 private:
  void settle(std::size_t size) {
    // relaxed: numbers only have to differ
    block_.number = next_number_.fetch_add(1, std::memory_order_relaxed);
    block_.size = size;
    stress::fill(block_);
  }

  static inline std::atomic<std::uint64_t> next_number_{1};
  stress::Block block_;
};

}  // namespace corbel::container
