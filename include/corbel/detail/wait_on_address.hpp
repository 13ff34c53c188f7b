// SPDX-License-Identifier: Apache-2.0
// Sleeping until a word changes: what the locks that sleep need of libcorbel, which knows the
// system. Not for programs to include.
#ifndef CORBEL_DETAIL_WAIT_ON_ADDRESS_HPP
#define CORBEL_DETAIL_WAIT_ON_ADDRESS_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

extern "C++" {

// Sleeps while `word` holds `expected`; may return early. What it finds it has read atomically with
// falling asleep: a wake that follows a change is never missed.
CORBEL_EXPORT void wait_on_address(std::atomic<std::uint32_t>& word,
                                   std::uint32_t expected) noexcept;

// Wakes one thread that sleeps on `word`, or all of them. `word` is not read, and may be gone: then
// whoever sleeps at that address by now wakes up early.
CORBEL_EXPORT void wake_one_by_address(std::atomic<std::uint32_t>& word) noexcept;
CORBEL_EXPORT void wake_all_by_address(std::atomic<std::uint32_t>& word) noexcept;
}

// How a lock waits: a few looks first, then asleep. The parameter of basic_mutex and
// basic_rw_mutex that a model checker replaces.
struct sleeping_wait {
  // 111 pauses in all, two to five microseconds: about what falling asleep and being woken costs,
  // so that the spin at most doubles it.
  static constexpr int kSpins = 10;
  static constexpr bool kSleeps = true;

  static void pause(int round) noexcept {
    for (int i = 0; i < (round < 4 ? 1 << round : 16); ++i) cpu_pause();
  }
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    wait_on_address(word, expected);
  }
  static void wake_one(std::atomic<std::uint32_t>& word) noexcept { wake_one_by_address(word); }
  static void wake_all(std::atomic<std::uint32_t>& word) noexcept { wake_all_by_address(word); }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_WAIT_ON_ADDRESS_HPP
