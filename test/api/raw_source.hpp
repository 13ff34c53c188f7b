// SPDX-License-Identifier: Apache-2.0
// Provides raw memory to pools under test, and records requests and returns. Its address is the
// pool's id.
#pragma once

#include <corbel/raw_pool.hpp>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

class RawSource {
 public:
  std::size_t granularity = 1;    // every request must be a multiple of it
  std::size_t misalignment = 0;   // added to the returned addresses
  std::size_t budget = SIZE_MAX;  // total bytes, never refilled
  std::size_t fixed_size = 0;     // if not 0, every request gets this size
  int free_result = 0;            // the result of give()

  std::size_t calls = 0, refused = 0, given_back = 0, wrong = 0, largest = 0;

  ~RawSource() {
    for (const auto& each : live_) std::free(each.second.base);
  }

  std::size_t live() {
    std::lock_guard<std::mutex> guard(mutex_);
    return live_.size();
  }

  rml::MemPoolPolicy policy() { return rml::MemPoolPolicy(take, give, granularity_of_policy()); }
  rml::MemPoolPolicy fixed_policy() {
    return rml::MemPoolPolicy(take, nullptr, granularity_of_policy(), true);
  }
  std::intptr_t id() { return reinterpret_cast<std::intptr_t>(this); }

  static void* take(std::intptr_t id, std::size_t& bytes) {
    return reinterpret_cast<RawSource*>(id)->take_one(bytes);
  }
  static int give(std::intptr_t id, void* raw, std::size_t bytes) {
    return reinterpret_cast<RawSource*>(id)->give_one(raw, bytes);
  }

 private:
  struct Piece {
    void* base;
    std::size_t bytes;
  };

  std::size_t granularity_of_policy() const { return granularity == 1 ? 0 : granularity; }

  void* take_one(std::size_t& bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    ++calls;
    if (bytes == 0 || bytes % granularity != 0) ++wrong;
    if (bytes > largest) largest = bytes;
    if (fixed_size != 0) bytes = fixed_size;
    if (bytes > budget) {
      ++refused;
      return nullptr;
    }
    if (budget != SIZE_MAX) budget -= bytes;
    char* base = static_cast<char*>(std::malloc(bytes + misalignment));
    if (base == nullptr) return nullptr;
    live_[base + misalignment] = Piece{base, bytes};
    return base + misalignment;
  }

  int give_one(void* raw, std::size_t bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = live_.find(raw);
    if (found == live_.end() || found->second.bytes != bytes) {
      ++wrong;
      return 1;
    }
    ++given_back;
    std::free(found->second.base);
    live_.erase(found);
    return free_result;
  }

  std::mutex mutex_;
  std::map<void*, Piece> live_;
};

// A pool that is destroyed at the end of the scope.
class ScopedPool {
 public:
  ScopedPool(RawSource& source, const rml::MemPoolPolicy& policy) {
    rml::pool_create_v1(source.id(), &policy, &pool_);
  }
  explicit ScopedPool(RawSource& source) : ScopedPool(source, source.policy()) {}
  ~ScopedPool() { rml::pool_destroy(pool_); }
  ScopedPool(const ScopedPool&) = delete;
  ScopedPool& operator=(const ScopedPool&) = delete;
  operator rml::MemoryPool*() const { return pool_; }

 private:
  rml::MemoryPool* pool_ = nullptr;
};
