// SPDX-License-Identifier: Apache-2.0
// What the environment and scalable_allocation_mode() ask of the allocator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/huge_pages.hpp"

namespace corbel::alloc {

// What is printed when the process ends.
enum class Report : std::uint8_t { kNone, kText, kJson };

// When the allocator may start a thread of its own (helper.hpp).
enum class HelperThread : std::uint8_t { kNever, kAuto, kAlways };

// All of them are read on slow paths only and may change while the program runs. relaxed
// everywhere: each stands for itself.
struct Options {
  // Free spans are purged this long after they became free, in milliseconds.
  std::atomic<std::uint32_t> purge_delay{1000};

  // Free spans of at least this many bytes are kept until trim() or the soft limit asks for them.
  std::atomic<std::size_t> huge_threshold{SIZE_MAX};

  // Of new chunks.
  std::atomic<HugePages> huge_pages{HugePages::kAuto};

  std::atomic<HelperThread> helper_thread{HelperThread::kAuto};

  std::atomic<Report> report_at_exit{Report::kNone};
};

extern Options options;

// Reads the environment; wrong values are named on stderr and ignored. Called once, before the
// first heap is made.
void read_options();

// What the program sets by a call overrides the environment, even before that was read.
void set_huge_pages(HugePages policy);
void set_huge_threshold(std::size_t bytes);

}  // namespace corbel::alloc
