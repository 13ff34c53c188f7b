// SPDX-License-Identifier: Apache-2.0
// Figures of the whole process, counted from the descriptors when somebody asks, so that nothing
// is counted on the paths of malloc and free.
#include "alloc/allocator.hpp"
#include "alloc/metadata.hpp"
#include "alloc/options.hpp"
#include "alloc/page_map.hpp"
#include "alloc/span_heap.hpp"
#include "alloc/thread.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

struct Count {
  Stats stats{};
  std::size_t slab_bytes = 0;
};

// Reads the descriptors while other threads change them. A field may be out of date or belong to
// the span that was there before, which makes the figures a little wrong and nothing else; the
// thread sanitizer cannot know that.
__attribute__((no_sanitize("thread"))) void count_span(void* context, const Span& span, void*) {
  auto& count = *static_cast<Count*>(context);
  const std::uintptr_t t = span.tag();
  if (t == span_tag::kLarge) {
    count.stats.large_live += std::size_t(span.units) * kUnit;
    ++count.stats.large_count;
  } else if (t >= span_tag::kFirstHeap) {
    const std::size_t used = span.blocks.used.peek();
    count.stats.live += used * span.layout().block_size;
    count.slab_bytes += std::size_t(span.layout().units) * kUnit;
  }
}

// Blocks on this thread's own lists count as used in their slabs; those of other threads cannot be
// read safely and stay in.
std::size_t bytes_on_lists(const Heap& heap) {
  std::size_t bytes = 0;
  for (const Bin& bin : heap.bins) {
    for (const Block* b = bin.list; b != nullptr; b = b->next) {
      bytes += bin.current->layout().block_size;
    }
  }
  return bytes + heap.outbox.bytes;
}

}  // namespace

Stats stats() noexcept {
  Count count;
  visit_spans(count_span, &count);
  Stats& s = count.stats;
  const std::size_t listed = bytes_on_lists(*this_heap);
  s.live -= listed < s.live ? listed : s.live;
  s.cached = count.slab_bytes > s.live ? count.slab_bytes - s.live : 0;
  s.live += s.large_live;
  const SpanFigures spans = span_heap.figures();
  s.mapped = spans.mapped_units * kUnit;
  s.free_spans = spans.dirty_units * kUnit;
  s.purged = (spans.free_units - spans.dirty_units) * kUnit;
  s.metadata = metadata_bytes() + page_map_bytes();
  s.threads = live_heaps();
  s.os_map_calls = spans.map_calls;
  s.os_purge_calls = spans.purge_calls;
  return s;
}

namespace {

__attribute__((destructor)) void report_at_exit() {
  if (!options.report_at_exit.load(std::memory_order_relaxed)) return;  // relaxed: options.hpp
  const Stats s = stats();
  Text<1024> report;
  report.add("corbel: live ").add_mebibytes(s.live).add(" (large blocks ");
  report.add_mebibytes(s.large_live).add("), free in slabs ").add_mebibytes(s.cached);
  report.add(", free spans ").add_mebibytes(s.free_spans).add(" resident and ");
  report.add_mebibytes(s.purged).add(" not\n");
  report.add("corbel: mapped ").add_mebibytes(s.mapped).add(" in ").add_decimal(s.os_map_calls);
  report.add(" calls, given back in ").add_decimal(s.os_purge_calls).add(" calls, metadata ");
  report.add_mebibytes(s.metadata).add(" of address space\n");
  report.add("corbel: threads with a heap ").add_decimal(s.threads).add(", peak resident ");
  report.add_mebibytes(os::peak_resident()).add("\n");
  os::write_error(report.data(), report.size());
}

}  // namespace
}  // namespace corbel::alloc
