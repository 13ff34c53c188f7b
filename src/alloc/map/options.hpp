// SPDX-License-Identifier: Apache-2.0
// The allocator's options, which policy/environment.cpp sets from the environment and from
// scalable_allocation_mode().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// Which memory may have huge pages (CORBEL_HUGE_PAGES).
enum class HugePages : std::uint8_t { kNever, kAuto, kAlways };

// What is printed when the process ends.
enum class Report : std::uint8_t { kNone, kText, kJson };

// When the allocator may start a thread of its own (helper.hpp).
enum class HelperThread : std::uint8_t { kNever, kAuto, kAlways };

// The options are read only on slow paths and may change while the program runs. relaxed
// everywhere: each option is independent of all other data.
struct Options {
  // The purge delay, in milliseconds: free spans are due for purging this long after their freeing.
  std::atomic<std::uint32_t> purge_delay{1000};

  // Free spans of at least this many bytes are kept until trim() or the soft limit asks for them.
  std::atomic<std::size_t> huge_threshold{SIZE_MAX};

  // Which new chunks may have huge pages.
  std::atomic<HugePages> huge_pages{HugePages::kAuto};

  std::atomic<HelperThread> helper_thread{HelperThread::kAuto};

  std::atomic<Report> report_at_exit{Report::kNone};
};

extern Options options;

}  // namespace corbel::alloc
