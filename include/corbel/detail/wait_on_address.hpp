// SPDX-License-Identifier: Apache-2.0
// Sleeping until a word changes: the system-specific part of the locks that sleep, in libcorbel.
// Not for programs to include.
#ifndef CORBEL_DETAIL_WAIT_ON_ADDRESS_HPP
#define CORBEL_DETAIL_WAIT_ON_ADDRESS_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

extern "C++" {

// Sleeps while `word` holds `expected`; may return early. Reading the word and falling asleep are
// one atomic step: a wake-up that follows a change of the word is never missed.
CORBEL_EXPORT void wait_on_address(std::atomic<std::uint32_t>& word,
                                   std::uint32_t expected) noexcept;

// Wakes one thread that sleeps on `word`, or all of them. `word` is not read and may have been
// destroyed: a thread that sleeps on a new word at its address then wakes up early.
CORBEL_EXPORT void wake_one_by_address(std::atomic<std::uint32_t>& word) noexcept;
CORBEL_EXPORT void wake_all_by_address(std::atomic<std::uint32_t>& word) noexcept;
}

// The parameter of basic_mutex and basic_rw_mutex for a lock that spins first, then sleeps. A model
// checker replaces it.
struct sleeping_wait {
  // 111 pauses in total take two to five microseconds. That is about the cost of falling asleep and
  // being woken, so spinning at most doubles it.
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
