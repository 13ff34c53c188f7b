// SPDX-License-Identifier: Apache-2.0
// Replaces src/os/linux/container.cpp in the fault tests: the test sets the container's limits.
#include <atomic>

#include "os/fake/fake.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

constinit MemoryGrant current{};
constinit std::atomic<std::uint64_t> reads{0};
constinit std::atomic_flag locked{};

class GrantGuard {
 public:
  GrantGuard() {
    // (1) acquire: sees what the last holder wrote before (2)
    while (locked.test_and_set(std::memory_order_acquire)) yield();
  }
  ~GrantGuard() { locked.clear(std::memory_order_release); }  // (2) release: publishes it to (1)
  GrantGuard(const GrantGuard&) = delete;
  GrantGuard& operator=(const GrantGuard&) = delete;
};

}  // namespace

MemoryGrant read_memory_grant() {
  reads.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  GrantGuard guard;
  return current;
}

namespace fake {

void set_memory_grant(const MemoryGrant& grant) {
  GrantGuard guard;
  current = grant;
}

std::uint64_t memory_grant_reads() {
  return reads.load(std::memory_order_relaxed);  // relaxed: a statistic
}

}  // namespace fake
}  // namespace corbel::os
