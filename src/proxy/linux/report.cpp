// SPDX-License-Identifier: Apache-2.0
// glibc's functions that report on malloc and tune it, answered from the allocator's statistics.
//
// The statistics map onto glibc's terms as follows. "mmapped" blocks are those with a span of their
// own. The "arena" is the rest of the address space for blocks. As in glibc, arena = uordblks +
// fordblks, and the program holds uordblks + hblkhd. "Fast" blocks are those in the caches of
// threads.
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>

#include "alloc/allocator.hpp"
#include "base/config.hpp"
#include "base/text.hpp"
#include "proxy/linux/proxy.hpp"

namespace corbel::proxy {
namespace {

struct Summary {
  alloc::Stats stats;
  size_t arena;        // address space for blocks that share spans
  size_t in_use;       // the part of the arena that the program holds
  size_t free;         // the rest of the arena
  size_t fast_blocks;  // free blocks in the caches of threads
  size_t rest_blocks;  // free blocks in slabs
};

Summary summary() {
  Summary s{};
  s.stats = alloc::stats();
  s.in_use = s.stats.live - s.stats.large_live;
  s.free = s.stats.mapped - s.stats.live;
  s.arena = s.in_use + s.free;
  for (const corbel_size_class_stats& c : s.stats.classes) {
    s.fast_blocks += c.cached_blocks;
    s.rest_blocks += c.free_blocks + c.purged_blocks;
  }
  return s;
}

struct mallinfo2 information() {
  const Summary s = summary();
  struct mallinfo2 info = {};
  info.arena = s.arena;
  info.ordblks = s.rest_blocks + s.stats.free_count;
  info.smblks = s.fast_blocks;
  info.hblks = s.stats.large_count;
  info.hblkhd = s.stats.large_live;
  info.fsmblks = s.stats.thread_cached;
  info.uordblks = s.in_use;
  info.fordblks = s.free;
  info.keepcost = s.stats.free_resident;  // what malloc_trim can give back
  return info;
}

// The free blocks by size. glibc calls memory that no block was cut from "unsorted".
void add_sizes(TextInto& text, const Summary& s) {
  text.add("<sizes>\n");
  size_t sorted = 0;
  size_t from = 0;
  for (size_t i = 0; i < s.stats.class_count; ++i) {
    const corbel_size_class_stats& c = s.stats.classes[i];
    const size_t count = c.cached_blocks + c.free_blocks + c.purged_blocks;
    if (count != 0) {
      text.add("  <size from=\"").add_decimal(from).add("\" to=\"").add_decimal(c.block_size);
      text.add("\" total=\"").add_decimal(count * c.block_size);
      text.add("\" count=\"").add_decimal(count).add("\"/>\n");
      sorted += count * c.block_size;
    }
    from = c.block_size + 1;
  }
  text.add("  <unsorted from=\"0\" to=\"").add_decimal(s.stats.largest_free);
  text.add("\" total=\"").add_decimal(s.free - sorted);
  text.add("\" count=\"").add_decimal(s.stats.free_count).add("\"/>\n</sizes>\n");
}

void add_totals(TextInto& text, const Summary& s) {
  text.add("<total type=\"fast\" count=\"").add_decimal(s.fast_blocks);
  text.add("\" size=\"").add_decimal(s.stats.thread_cached);
  text.add("\"/>\n<total type=\"rest\" count=\"");
  text.add_decimal(s.rest_blocks + s.stats.free_count);
  text.add("\" size=\"").add_decimal(s.free - s.stats.thread_cached).add("\"/>\n");
}

void add_system(TextInto& text, size_t current, size_t max) {
  text.add("<system type=\"current\" size=\"").add_decimal(current);
  text.add("\"/>\n<system type=\"max\" size=\"").add_decimal(max);
  text.add("\"/>\n<aspace type=\"total\" size=\"").add_decimal(current);
  text.add("\"/>\n<aspace type=\"mprotect\" size=\"").add_decimal(current).add("\"/>\n");
}

void add_xml(TextInto& text, const Summary& s) {
  text.add("<malloc version=\"1\">\n<heap nr=\"0\">\n");
  add_sizes(text, s);
  add_totals(text, s);
  add_system(text, s.arena, s.stats.peak_mapped);
  text.add("</heap>\n");
  add_totals(text, s);
  text.add("<total type=\"mmap\" count=\"").add_decimal(s.stats.large_count);
  text.add("\" size=\"").add_decimal(s.stats.large_live).add("\"/>\n");
  const size_t metadata = s.stats.metadata_mapped;
  add_system(text, s.stats.mapped + metadata, s.stats.peak_mapped + metadata);
  text.add("<corbel version=\"").add(config::kVersion);
  text.add("\" live=\"").add_decimal(s.stats.live);
  text.add("\" footprint=\"").add_decimal(s.stats.footprint);
  text.add("\" purged=\"").add_decimal(s.stats.free_purged + s.stats.slab_purged);
  text.add("\" metadata=\"").add_decimal(metadata);
  text.add("\" threads=\"").add_decimal(s.stats.threads).add("\"/>\n</malloc>\n");
}

// In glibc the fields of the old structure wrap around; a saturated number misleads less.
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

// Returns 1 when memory was given back, else 0.
CORBEL_PROXY_API int malloc_trim(size_t pad) noexcept {
  return corbel::alloc::trim(pad) != 0 ? 1 : 0;
}

// Answers as glibc does: 1 for parameters that tune a design other than ours, which have no effect,
// and for unknown parameters; 0 for values that glibc refuses. Also 0 for M_PERTURB, which would
// change visible behaviour.
CORBEL_PROXY_API int mallopt(int parameter, int value) noexcept {
  switch (parameter) {
    case M_MXFAST:
      return value >= 0 && size_t(value) <= 80 * sizeof(size_t) / 4 ? 1 : 0;
    case M_PERTURB:
      return 0;
    default:
      return 1;
  }
}

CORBEL_PROXY_API void malloc_stats() noexcept {
  const corbel::alloc::Stats s = corbel::alloc::stats();
  corbel::Text<1024> text;
  text.add("Corbel ").add(corbel::config::kVersion);
  text.add("\nsystem bytes     = ").add_decimal(s.mapped);
  text.add("\nfootprint bytes  = ").add_decimal(s.footprint);
  text.add("\nin use bytes     = ").add_decimal(s.live);
  text.add("\nlarge bytes      = ").add_decimal(s.large_live);
  text.add("\nlarge blocks     = ").add_decimal(s.large_count);
  text.add("\ncached bytes     = ").add_decimal(s.thread_cached);
  text.add("\nslab bytes       = ").add_decimal(s.slab_free + s.orphan_free);
  text.add("\nunused bytes     = ").add_decimal(s.uncarved);
  text.add("\nfree bytes       = ").add_decimal(s.free_resident);
  text.add("\npurged bytes     = ").add_decimal(s.free_purged + s.slab_purged);
  text.add("\nmetadata bytes   = ").add_decimal(s.metadata);
  text.add("\nthreads          = ").add_decimal(s.threads).add("\n");
  fwrite(text.data(), 1, text.size(), stderr);
}

// Prints the elements of glibc's version 1, with one heap, and one element of our own. Returns -1
// with EINVAL when `options` is not 0 (as the manual page says; glibc returns EINVAL itself).
CORBEL_PROXY_API int malloc_info(int options, FILE* stream) noexcept {
  // Not -1: glibc's returns the error.
  if (options != 0) return EINVAL;
  // The text is built first: printing to a stream may allocate, and the figures must agree.
  const corbel::proxy::Summary s = corbel::proxy::summary();
  char buffer[16 << 10];
  corbel::TextInto text(buffer, sizeof(buffer));
  corbel::proxy::add_xml(text, s);
  const size_t size = text.finish();
  return size < sizeof(buffer) && fwrite(buffer, 1, size, stream) == size ? 0 : -1;
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

// In the static library, a program that takes a report function takes malloc too.
__attribute__((used)) const Symbol* const kReportedFunctions = kFunctions;

}  // namespace corbel::proxy
