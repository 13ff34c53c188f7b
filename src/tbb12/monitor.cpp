// SPDX-License-Identifier: Apache-2.0
// Waiting for words that the program's locks change, and for tickets of its bounded queues.
#include "tbb12/monitor.hpp"

#include <corbel/malloc.h>
#include <corbel/detail/allocate.hpp>

#include <new>

#include "tbb12/layout.hpp"

namespace tbb::detail::r1 {

using corbel::tbb12::Monitor;

namespace {

constexpr std::size_t kMonitors = 256;
constinit Monitor monitors[kMonitors];

Monitor& monitor_of(const void* address) {
  const std::uintptr_t a = reinterpret_cast<std::uintptr_t>(address);
  return monitors[(a >> 4 ^ a >> 12) % kMonitors];
}

bool always(std::uintptr_t) { return true; }

Monitor& monitor_of(concurrent_monitor* of_queue, std::size_t which) {
  return reinterpret_cast<Monitor*>(of_queue)[which];
}
constexpr std::size_t kOfQueue = 2;  // for places and for items

}  // namespace

CORBEL_TBB12 void wait_on_address(void* address, d1::delegate_base& is_true,
                                  std::uintptr_t context) {
  monitor_of(address).wait(address, context, is_true);
}

CORBEL_TBB12 void notify_by_address(void* address, std::uintptr_t context) {
  monitor_of(address).notify(address, true, [=](std::uintptr_t c) { return c == context; });
}
CORBEL_TBB12 void notify_by_address_one(void* address) {
  monitor_of(address).notify(address, false, &always);
}
CORBEL_TBB12 void notify_by_address_all(void* address) {
  monitor_of(address).notify(address, true, &always);
}

// ---- bounded queues: the program's part of `bytes` bytes, then the monitors

CORBEL_TBB12 std::uint8_t* allocate_bounded_queue_rep(std::size_t bytes) {
  static_assert(alignof(Monitor) <= 8);
  void* const block = corbel::detail::allocate_or_throw(
      corbel_allocate, bytes + kOfQueue * sizeof(Monitor), 2 * corbel::detail::kCacheLine);
  std::uint8_t* const rep = static_cast<std::uint8_t*>(block);
  for (std::size_t i = 0; i < kOfQueue; ++i) {
    ::new (static_cast<void*>(rep + bytes + i * sizeof(Monitor))) Monitor;
  }
  return rep;
}

CORBEL_TBB12 void deallocate_bounded_queue_rep(std::uint8_t* rep, std::size_t) {
  corbel_deallocate(rep);
}

CORBEL_TBB12 void wait_bounded_queue_monitor(concurrent_monitor* of_queue, std::size_t which,
                                             std::ptrdiff_t ticket, d1::delegate_base& must_wait) {
  bool goes_on = must_wait();
  while (goes_on) {
    monitor_of(of_queue, which).wait(nullptr, static_cast<std::uintptr_t>(ticket), [&] {
      goes_on = must_wait();
      return !goes_on;
    });
    if (goes_on) goes_on = must_wait();
  }
}

CORBEL_TBB12 void notify_bounded_queue_monitor(concurrent_monitor* of_queue, std::size_t which,
                                               std::size_t ticket) {
  monitor_of(of_queue, which).notify(nullptr, true, [=](std::uintptr_t waits_for) {
    return static_cast<std::ptrdiff_t>(waits_for) <= static_cast<std::ptrdiff_t>(ticket);
  });
}

CORBEL_TBB12 void abort_bounded_queue_monitors(concurrent_monitor* of_queue) {
  for (std::size_t i = 0; i < kOfQueue; ++i) monitor_of(of_queue, i).notify(nullptr, true, &always);
}

}  // namespace tbb::detail::r1
