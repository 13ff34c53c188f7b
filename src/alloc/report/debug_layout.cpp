// SPDX-License-Identifier: Apache-2.0
// The allocator's debug layout (base/debug_layout.hpp).
#include "base/debug_layout.hpp"

#include <iterator>

#include "alloc/heap/borrowed.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/footprint.hpp"
#include "alloc/map/page_map.hpp"

// Members of classes with private ones: not portable, but both compilers do it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace corbel::alloc {

struct DebugAccess {
  static constexpr DebugNumber kNumbers[] = {
      {"unit_bits", kUnitBits},
      {"leaf_bits", kLeafBits},
      {"root_entries", kRootEntries},
      {"classes", kClasses},
      {"PageMap.distance", offsetof(PageMap, distance)},
      {"PageMap.absent", offsetof(PageMap, absent)},
      {"Span", sizeof(Span)},
      {"Span.tag", offsetof(Span, tag_word)},
      {"Span.freed", offsetof(Span, blocks) + offsetof(SlabBlocks, freed)},
      {"Span.used", offsetof(Span, blocks) + offsetof(SlabBlocks, used)},
      {"Span.carved", offsetof(Span, blocks) + offsetof(SlabBlocks, carved)},
      {"Span.units", offsetof(Span, units)},
      {"Span.head_distance", offsetof(Span, head_distance)},
      {"Span.committed", offsetof(Span, committed)},
      {"Span.tail", offsetof(Span, tail)},
      {"Span.decommitted_pages", offsetof(Span, decommitted) + offsetof(SlabDecommitted, pages)},
      {"Span.decommitted_blocks", offsetof(Span, decommitted) + offsetof(SlabDecommitted, blocks)},
      {"Span.size_class", offsetof(Span, size_class)},
      {"tag.foreign", span_tag::kForeign},
      {"tag.interior", span_tag::kInterior},
      {"tag.follower", span_tag::kFollower},
      {"tag.large", span_tag::kLarge},
      {"tag.free", span_tag::kFree},
      {"tag.guarded", span_tag::kGuarded},
      {"tag.first_heap", span_tag::kFirstHeap},
      {"tag.full", span_tag::kFull},
      {"SizeClass", sizeof(SizeClass)},
      {"SizeClass.block_size", offsetof(SizeClass, block_size)},
      {"SizeClass.capacity", offsetof(SizeClass, capacity)},
      {"Heap", sizeof(Heap)},
      {"Heap.bins", offsetof(Heap, bins)},
      {"Heap.next", offsetof(Heap, next)},
      {"Heap.owner_slot", offsetof(Heap, owner_slot)},
      {"Heap.thread", offsetof(Heap, thread)},
      {"Heap.inbox", offsetof(Heap, inbox)},
      {"Heap.outbox", offsetof(Heap, outbox)},
      {"Bin", sizeof(Bin)},
      {"Bin.list", offsetof(Bin, list)},
      {"Bin.current", offsetof(Bin, current)},
      {"Bin.list_is_borrowed", offsetof(Bin, list_is_borrowed)},
      {"Bin.own", offsetof(Bin, own)},
      {"max_borrowed", kMaxBorrowed},
      {"Inbox.chains", offsetof(sync::Inbox, chains_)},
      {"Inbox.state", offsetof(sync::Inbox, state_)},
      {"Inbox.kIdle", sync::Inbox::kIdle},
      {"Inbox.kLive", sync::Inbox::kLive},
      {"Inbox.kShared", sync::Inbox::kShared},
      {"Inbox.kLost", sync::Inbox::kLost},
      {"Outbox.batch_count", offsetof(Outbox, batch_count)},
      {"Outbox.batches", offsetof(Outbox, batches)},
      {"Outbox.kBatches", Outbox::kBatches},
      {"Outbox.kMaxBlocks", Outbox::kMaxBlocks},
      {"Batch", sizeof(Batch)},
      {"Batch.slab", offsetof(Batch, slab)},
      {"Batch.first", offsetof(Batch, first)},
      {"Batch.count", offsetof(Batch, count)},
      {"Footprint.bytes", offsetof(Footprint, bytes_)},
      {"Footprint.ceiling", offsetof(Footprint, ceiling_)},
  };
  static constexpr DebugAddress kAddresses[] = {
      {"page_map", &page_map},       {"size_classes", &kSizeClasses}, {"all_heaps", &all_heaps},
      {"orphan_heap", &orphan_heap}, {"unset_heap", &unset_heap},     {"footprint", &footprint},
  };
};

extern CORBEL_PRIVATE_API const
    DebugLayout<std::size(DebugAccess::kNumbers), std::size(DebugAccess::kAddresses)>
        debug_layout;
__attribute__((used, retain)) constinit const DebugLayout<std::size(DebugAccess::kNumbers),
                                                          std::size(DebugAccess::kAddresses)>
    debug_layout = debug_layout_of(DebugAccess::kNumbers, DebugAccess::kAddresses);

}  // namespace corbel::alloc
