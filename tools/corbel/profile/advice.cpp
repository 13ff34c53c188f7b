// SPDX-License-Identifier: Apache-2.0
#include "profile/advice.hpp"

#include <fmt/core.h>

#include <cmath>

#include "profile/report.hpp"

namespace corbel::cli {
namespace {

// Above this share of the blocks of a place, what holds for them is what to act on.
bool most(std::int64_t part, std::int64_t whole) { return part > 0 && 2 * part >= whole; }

std::string bytes_text(std::int64_t bytes) { return amount(bytes, "bytes"); }

// "thread worker (12)", "3 other threads": what frees `count` blocks that others have allocated.
std::string receivers_text(const HotSpots& all, std::int64_t count) {
  std::map<std::string, std::int64_t> receivers;
  std::int64_t sum = 0;
  for (const Site& site : all.sites) {
    for (const auto& [thread, received] : site.counts.receivers) {
      receivers[thread] += received;
      sum += received;
    }
  }
  // Which thread freed the blocks of which place is not recorded. But where all others together
  // freed few, it was this one.
  for (const auto& [thread, received] : receivers) {
    if (100 * (sum - received) <= count) return "thread " + thread;
  }
  return receivers.empty() ? "another thread" : fmt::format("{} other threads", receivers.size());
}

std::string allocated_text(const Counts& counts) {
  return fmt::format("{} blocks of {} on average", rounded(counts.allocations),
                     bytes_text(counts.allocations > 0 ? counts.bytes / counts.allocations : 0));
}

// What the allocator does in most of the time; empty when that is nothing special.
std::string slow_work_text(const Spot& spot) {
  if (most(spot.merging, spot.cost)) {
    return fmt::format(
        "in {} of this time the allocator merges fragments that freed blocks have left",
        percent_text(spot.merging, spot.cost));
  }
  if (most(spot.system, spot.cost)) {
    return fmt::format("in {} of this time the allocator gets memory from the system or returns it",
                       percent_text(spot.system, spot.cost));
  }
  return {};
}

std::string about_allocation(const Spot& spot, const HotSpots& all) {
  const Counts& counts = spot.counts;
  if (const std::string slow = slow_work_text(spot); !slow.empty()) {
    return slow + (all.system_malloc ? ": replace it (corbel run), or free blocks in the order in "
                                       "which they were allocated"
                                     : ": keep blocks and use them again");
  }
  if (all.system_malloc) {
    return "allocate less often here, or with a faster malloc: see what corbel run saves";
  }
  if (all.sites.empty()) return "allocate less often here: reuse blocks, or allocate many at once";
  if (counts.allocations == 0) {
    return "few allocations, of which none was sampled, take this time: keep these blocks and use "
           "them again";
  }
  if (most(counts.brief, counts.allocations)) {
    return fmt::format(
        "{}, {} of them freed within 1 µs: keep them on the stack, or reuse one block",
        allocated_text(counts), percent_text(counts.brief, counts.allocations));
  }
  if (most(counts.handed_over, counts.allocations)) {
    return fmt::format(
        "{}, {} of them freed by {}: let the thread that frees them allocate them, or hand them "
        "back in batches",
        allocated_text(counts), percent_text(counts.handed_over, counts.allocations),
        receivers_text(all, counts.handed_over));
  }
  std::string rate;
  if (all.duration > 0) {
    rate = fmt::format(" ({} a second)",
                       rounded(std::llround(static_cast<double>(counts.allocations) * 1e9 /
                                            static_cast<double>(all.duration))));
  }
  return fmt::format("{}{}: reuse them, or allocate many at once", allocated_text(counts), rate);
}

std::string about_free(const Spot& spot, const HotSpots& all) {
  if (all.system_malloc) {
    const std::string slow = slow_work_text(spot);
    return slow.empty() ? "free less often here, or with a faster free: see what corbel run saves"
                        : slow + ": replace it (corbel run), or keep blocks and use them again";
  }
  if (spot.counts.received > 0) {
    return fmt::format(
        "{} blocks that other threads allocated are freed here: let this thread allocate them, or "
        "hand them back in batches",
        rounded(spot.counts.received));
  }
  return "keep blocks and use them again, or allocate them together so that one call frees them";
}

std::string about_realloc(const Spot& spot) {
  const Counts& counts = spot.counts;
  const std::string_view help =
      "request the final size at once, or make the block larger by a factor each time";
  if (counts.growths > 0) {
    return fmt::format("realloc made blocks larger {} times and copied {}: {}",
                       rounded(counts.growths), bytes_text(counts.copied), help);
  }
  return fmt::format("realloc {} here: {}",
                     spot.kind == Kind::kReallocCopy ? "copies blocks" : "changes sizes", help);
}

std::string about_growth(const Spot& spot) {
  std::string facts = fmt::format("this {} grows", spot.container);
  if (spot.counts.allocations > 0) {
    facts += fmt::format(" {} times in all, into {} of new blocks",
                         rounded(spot.counts.allocations), bytes_text(spot.counts.bytes));
  } else {
    facts += " step by step and moves its elements each time";
  }
  return facts + (spot.container == "deque" ? ": keep it instead of filling a new one"
                                            : ": call reserve() before it is filled");
}

std::string about_faults(const Spot& spot, const HotSpots& all) {
  const std::string facts =
      fmt::format("{} page faults, each the first use of fresh memory", rounded(spot.count));
  if (!spot.container.empty()) {
    return fmt::format("{}, while a {} grows: call reserve(), and keep it for the next use", facts,
                       spot.container);
  }
  return facts + ": keep buffers and use them again" +
         (all.system_malloc ? "" : ", or set CORBEL_HUGE_PAGES=always");
}

// "thread app (12) waits", "3 threads wait".
std::string waiters_text(const Spot& spot) {
  return spot.threads.size() == 1 ? fmt::format("thread {} waits", spot.threads.begin()->first)
                                  : fmt::format("{} threads wait", spot.threads.size());
}

std::string about_allocator_lock(const Spot& spot, const HotSpots& all) {
  const std::string facts = waiters_text(spot) + " here for a lock of the allocator";
  return facts + (all.system_malloc
                      ? ": replace it (corbel run); Corbel's malloc and free take no lock on the "
                        "usual path"
                      : ": allocate larger pieces at once, so that threads need fresh memory "
                        "less often");
}

std::string range_text(const Access& access) {
  return access.first == access.last ? fmt::format("byte {}", access.first)
                                     : fmt::format("bytes {} to {}", access.first, access.last);
}

std::string about_sharing(const Spot& spot) {
  const Access& one = spot.accesses.front();
  const Access* other = nullptr;
  for (const Access& each : spot.accesses) {
    if (each.thread != one.thread && (each.first > one.last || each.last < one.first)) {
      other = &each;
      break;
    }
  }
  std::string facts = spot.lines == 1 ? "one cache line"
                                      : fmt::format("{} cache lines",
                                                    rounded(static_cast<std::int64_t>(spot.lines)));
  if (other == nullptr) {
    facts = "several threads use " + facts + " and at least one writes";
  } else {
    facts = fmt::format("thread {} writes {} and thread {} {} {} of {}{}", one.thread,
                        range_text(one), other->thread, other->writes > 0 ? "writes" : "reads",
                        range_text(*other), facts, spot.lines == 1 ? "" : " (the first shown)");
  }
  return facts + (one.block > 0
                      ? fmt::format(" in blocks of {}: give each thread its own block "
                                    "(tbb::cache_aligned_allocator, tbb::enumerable_thread_"
                                    "specific), or pad to 64 bytes",
                                    bytes_text(one.block))
                      : ": align what each thread writes with "
                        "alignas(std::hardware_destructive_interference_size), which is 64 bytes");
}

}  // namespace

std::string verdict_on(const HotSpots& all) {
  const std::int64_t total = all.all.total();
  if (total <= 0) return {};
  std::string parts;
  const auto add = [&](std::int64_t part, std::string_view what) {
    if (100 * part < total) return;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", percent_text(part, total), what);
  };
  add(all.all.of(Kind::kAllocatorLock), "waiting for a lock of the allocator");
  add(all.merging, "merging fragments of freed blocks");
  add(all.system, "getting memory from the system and returning it");
  std::string text = fmt::format("memory management takes {} of the time{}{}{}",
                                 percent_text(all.all.memory(), total), parts.empty() ? "" : " (",
                                 parts, parts.empty() ? "" : ")");
  if (all.system_malloc) {
    text += ": see what corbel run saves, which replaces the allocator without a rebuild";
  }
  return text;
}

std::string rounded(std::int64_t count) {
  if (count < 1000000) return amount(count, "");
  const double value = static_cast<double>(count);
  return count < 1000000000 ? fmt::format("{:.1f} million", value / 1e6)
                            : fmt::format("{:.1f} billion", value / 1e9);
}

std::string duration_text(std::int64_t nanoseconds) {
  const double value = static_cast<double>(nanoseconds);
  if (nanoseconds >= 999500000) return fmt::format("{:.2f} s", value / 1e9);
  if (nanoseconds >= 99950000) return fmt::format("{:.0f} ms", value / 1e6);
  return nanoseconds >= 999500 ? fmt::format("{:.1f} ms", value / 1e6)
                               : fmt::format("{:.0f} µs", value / 1e3);
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  const double share = whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  return fmt::format("{:.1f} %", share);
}

std::string advice_for(const Spot& spot, const HotSpots& all) {
  switch (spot.kind) {
    case Kind::kAllocation:
      return about_allocation(spot, all);
    case Kind::kFree:
      return about_free(spot, all);
    case Kind::kRealloc:
    case Kind::kReallocCopy:
      return about_realloc(spot);
    case Kind::kGrowth:
      return about_growth(spot);
    case Kind::kPageFault:
      return about_faults(spot, all);
    case Kind::kAllocatorLock:
      return about_allocator_lock(spot, all);
    case Kind::kLock:
      return waiters_text(spot) +
             " here for a lock of the program: hold it for a shorter time, or give each thread "
             "data "
             "of its own";
    case Kind::kSharing:
      return about_sharing(spot);
    default:
      return {};
  }
}

}  // namespace corbel::cli
