// SPDX-License-Identifier: Apache-2.0
// The functions of glibc that report on malloc and tune it, answered from the allocator's figures.
//
// How the figures map onto glibc's words: "mmapped" are the blocks with a span of their own, the
// "arena" is the rest of the address space taken for blocks, so that, as in glibc,
// arena = uordblks + fordblks, and what the program holds is uordblks + hblkhd.
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>

#include "alloc/allocator.hpp"
#include "base/config.hpp"
#include "proxy/proxy.hpp"

namespace corbel::proxy {
namespace {

// The counters are read one after the other while threads go on: a difference may come out
// negative.
constexpr size_t difference(size_t a, size_t b) { return a > b ? a - b : 0; }

struct Summary {
  alloc::Stats stats;
  size_t arena;   // address space for blocks that share spans
  size_t in_use;  // of it, held by the program
  size_t free;    // of it, not held
};

Summary summary() {
  Summary s{};
  s.stats = alloc::stats();
  s.in_use = difference(s.stats.live, s.stats.large_live);
  s.free = difference(s.stats.mapped, s.stats.live);
  s.arena = s.in_use + s.free;
  return s;
}

struct mallinfo2 information() {
  const Summary s = summary();
  struct mallinfo2 info = {};
  info.arena = s.arena;
  info.hblks = s.stats.large_count;
  info.hblkhd = s.stats.large_live;
  info.fsmblks = s.stats.cached;  // free blocks kept at hand: glibc's fast bins
  info.uordblks = s.in_use;
  info.fordblks = s.free;
  info.keepcost = s.stats.free_spans;  // what malloc_trim could give back
  return info;
}

// glibc lets the old structure wrap around; a number that stays at the top misleads less.
int saturated(size_t n) { return n > INT_MAX ? INT_MAX : static_cast<int>(n); }

}  // namespace
}  // namespace corbel::proxy

extern "C" {

CORBEL_PROXY_API struct mallinfo2 mallinfo2() noexcept { return corbel::proxy::information(); }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CORBEL_PROXY_API struct mallinfo mallinfo() noexcept {
  using corbel::proxy::saturated;
  const struct mallinfo2 wide = corbel::proxy::information();
  struct mallinfo info = {};
  info.arena = saturated(wide.arena);
  info.hblks = saturated(wide.hblks);
  info.hblkhd = saturated(wide.hblkhd);
  info.fsmblks = saturated(wide.fsmblks);
  info.uordblks = saturated(wide.uordblks);
  info.fordblks = saturated(wide.fordblks);
  info.keepcost = saturated(wide.keepcost);
  return info;
}
#pragma GCC diagnostic pop

// 1 when memory was given back, else 0.
CORBEL_PROXY_API int malloc_trim(size_t pad) noexcept {
  return corbel::alloc::trim(pad) != 0 ? 1 : 0;
}

// 1 for the parameters that are hints to another design, which are accepted and have no effect;
// 0 for values that glibc refuses, for requests that change what a program can see, and for
// unknown parameters.
CORBEL_PROXY_API int mallopt(int parameter, int value) noexcept {
  constexpr int kArenaTest = -7;
  constexpr int kArenaMax = -8;
  switch (parameter) {
    case M_MXFAST:
      return value >= 0 && size_t(value) <= 80 * sizeof(size_t) / 4 ? 1 : 0;
    case kArenaTest:
    case kArenaMax:
      return value > 0 ? 1 : 0;
    case M_MMAP_THRESHOLD:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
      return 1;
    default:
      return 0;
  }
}

CORBEL_PROXY_API void malloc_stats() noexcept {
  const corbel::proxy::Summary s = corbel::proxy::summary();
  char text[512];
  const int n = snprintf(text, sizeof(text),
                         "Corbel %s\n"
                         "system bytes     = %10zu\n"
                         "in use bytes     = %10zu\n"
                         "cached bytes     = %10zu\n"
                         "purged bytes     = %10zu\n"
                         "metadata bytes   = %10zu\n"
                         "large blocks     = %10zu\n"
                         "large bytes      = %10zu\n"
                         "threads          = %10zu\n",
                         corbel::config::kVersion, s.stats.mapped, s.stats.live, s.stats.cached,
                         s.stats.purged, s.stats.metadata, s.stats.large_count, s.stats.large_live,
                         s.stats.threads);
  if (n > 0) fwrite(text, 1, static_cast<size_t>(n), stderr);
}

// The elements of glibc's version 1, with one heap, and one element of our own. -1 with EINVAL
// when `options` is not 0 (as the manual page says; glibc returns EINVAL itself).
CORBEL_PROXY_API int malloc_info(int options, FILE* stream) noexcept {
  if (options != 0) {
    errno = EINVAL;
    return -1;
  }
  const corbel::proxy::Summary s = corbel::proxy::summary();
  // Formatted first: printing to a stream may allocate, and the figures should agree.
  char heap[512];
  snprintf(heap, sizeof(heap),
           "<total type=\"fast\" count=\"0\" size=\"%zu\"/>\n"
           "<total type=\"rest\" count=\"0\" size=\"%zu\"/>\n",
           s.stats.cached, corbel::proxy::difference(s.free, s.stats.cached));
  const size_t system = s.stats.mapped + s.stats.metadata;
  const int n = fprintf(
      stream,
      "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n%s"
      "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n"
      "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n</heap>\n%s"
      "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
      "<system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n"
      "<aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n"
      "<corbel version=\"%s\" live=\"%zu\" purged=\"%zu\" metadata=\"%zu\" threads=\"%zu\"/>\n"
      "</malloc>\n",
      heap, s.arena, s.arena, s.arena, s.arena, heap, s.stats.large_count, s.stats.large_live,
      system, system, system, system, corbel::config::kVersion, s.stats.live, s.stats.purged,
      s.stats.metadata, s.stats.threads);
  return n < 0 ? -1 : 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wattribute-alias"
#pragma GCC diagnostic ignored "-Wmissing-attributes"
CORBEL_PROXY_API __attribute__((alias("mallopt"))) int __libc_mallopt(int, int) noexcept;
CORBEL_PROXY_API __attribute__((alias("mallinfo"))) struct mallinfo __libc_mallinfo() noexcept;

CORBEL_PROXY_DEFINE_SELF(malloc_trim)
CORBEL_PROXY_DEFINE_SELF(mallopt)
CORBEL_PROXY_DEFINE_SELF(mallinfo)
CORBEL_PROXY_DEFINE_SELF(mallinfo2)
CORBEL_PROXY_DEFINE_SELF(malloc_stats)
CORBEL_PROXY_DEFINE_SELF(malloc_info)
#pragma GCC diagnostic pop

}  // extern "C"

namespace corbel::proxy {

// In the static library: who takes a report takes malloc too.
__attribute__((used)) const Symbol* const kReportedFunctions = kFunctions;

}  // namespace corbel::proxy
