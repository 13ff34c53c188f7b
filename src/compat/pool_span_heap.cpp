// SPDX-License-Identifier: Apache-2.0
#include "compat/pool_span_heap.hpp"

#include <bit>

namespace corbel::compat {

void PoolSpanHeap::clear() {
  for (Span*& bin : bins_) bin = nullptr;
  for (std::uint64_t& word : filled_) word = 0;
}

void PoolSpanHeap::add_region(Pool* pool, Region* region) {
  Span* span = region->first;
  *span = Span{pool, region, region->bytes, 0, Span::kFree, 0, 0, nullptr, nullptr};
  *span->following() = Span{pool, region, 0, region->bytes, Span::kEnd, 0, 0, nullptr, nullptr};
  region->used = 0;
  insert(span);
}

unsigned PoolSpanHeap::bin_of(std::size_t pages) {
  if (pages < 32) return unsigned(pages);
  const unsigned power = log2_floor(pages);
  const unsigned bin = 32 + (power - 5) * 4 + unsigned((pages >> (power - 2)) & 3);
  return bin < kBins ? bin : kBins - 1;
}

void PoolSpanHeap::insert(Span* span) {
  const unsigned bin = bin_of(span->bytes / page_);
  span->state = Span::kFree;
  span->previous = nullptr;
  span->next = bins_[bin];
  if (span->next != nullptr) span->next->previous = span;
  bins_[bin] = span;
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
}

void PoolSpanHeap::remove(Span* span) {
  if (span->next != nullptr) span->next->previous = span->previous;
  if (span->previous != nullptr) {
    span->previous->next = span->next;
    return;
  }
  const unsigned bin = bin_of(span->bytes / page_);
  bins_[bin] = span->next;
  if (span->next == nullptr) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
}

Span* PoolSpanHeap::split(Span* span, std::size_t bytes) {
  Span* rest = static_cast<Span*>(pointer_to(span->address() + bytes));
  *rest = Span{span->pool, span->region, span->bytes - bytes, bytes, Span::kFree, 0, 0,
               nullptr,    nullptr};
  rest->following()->before = rest->bytes;
  span->bytes = bytes;
  return rest;
}

Span* PoolSpanHeap::find(std::size_t bytes, std::size_t alignment, std::size_t* front) const {
  const unsigned smallest = bin_of(bytes / page_);
  for (unsigned word = smallest / 64; word < kBins / 64; ++word) {
    std::uint64_t bits = filled_[word];
    if (word == smallest / 64) bits &= ~std::uint64_t{0} << (smallest % 64);
    for (; bits != 0; bits &= bits - 1) {
      const unsigned bin = word * 64 + unsigned(std::countr_zero(bits));
      for (Span* span = bins_[bin]; span != nullptr; span = span->next) {
        const std::uintptr_t block = span->address() + kSpanHeader;
        *front = align_up(block, alignment) - block;
        if (span->bytes >= bytes && span->bytes - bytes >= *front) return span;
      }
    }
  }
  return nullptr;
}

Span* PoolSpanHeap::allocate(std::size_t bytes, std::size_t alignment) {
  std::size_t front = 0;
  Span* span = find(bytes, alignment, &front);
  if (span == nullptr) return nullptr;
  remove(span);
  if (front != 0) {
    Span* aligned = split(span, front);
    insert(span);
    span = aligned;
  }
  if (span->bytes > bytes) insert(split(span, bytes));
  span->region->untouched = false;
  ++span->region->used;
  return span;
}

void PoolSpanHeap::release(Span* span) {
  --span->region->used;
  Span* after = span->following();
  if (after->state == Span::kFree) {
    remove(after);
    span->bytes += after->bytes;
  }
  if (span->before != 0 && span->preceding()->state == Span::kFree) {
    Span* before = span->preceding();
    remove(before);
    before->bytes += span->bytes;
    span = before;
  }
  span->following()->before = span->bytes;
  insert(span);
}

bool PoolSpanHeap::resize(Span* span, std::size_t bytes) {
  Span* after = span->following();
  const std::size_t room = after->state == Span::kFree ? after->bytes : 0;
  if (bytes > span->bytes + room) return false;
  if (bytes == span->bytes) return true;
  if (room != 0) {
    remove(after);
    span->bytes += room;
    span->following()->before = span->bytes;
  }
  if (span->bytes > bytes) insert(split(span, bytes));
  return true;
}

}  // namespace corbel::compat
