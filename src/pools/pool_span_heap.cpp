// SPDX-License-Identifier: Apache-2.0
#include "pools/pool_span_heap.hpp"

#include <bit>

namespace corbel::pools {

void PoolSpanHeap::clear() {
  for (PoolSpan*& bin : bins_) bin = nullptr;
  for (std::uint64_t& word : filled_) word = 0;
}

void PoolSpanHeap::add_chunk(Pool* pool, PoolChunk* chunk) {
  PoolSpan* span = chunk->first;
  *span = PoolSpan{pool, chunk, chunk->bytes, 0, PoolSpan::kFree, 0, 0, nullptr, nullptr};
  *span->following() =
      PoolSpan{pool, chunk, 0, chunk->bytes, PoolSpan::kEnd, 0, 0, nullptr, nullptr};
  chunk->used = 0;
  insert(span);
}

unsigned PoolSpanHeap::bin_of(std::size_t pages) {
  if (pages < 32) return unsigned(pages);
  const unsigned power = log2_floor(pages);
  const unsigned bin = 32 + (power - 5) * 4 + unsigned((pages >> (power - 2)) & 3);
  return bin < kBins ? bin : kBins - 1;
}

void PoolSpanHeap::insert(PoolSpan* span) {
  const unsigned bin = bin_of(span->bytes / page_);
  span->state = PoolSpan::kFree;
  span->previous = nullptr;
  span->next = bins_[bin];
  if (span->next != nullptr) span->next->previous = span;
  bins_[bin] = span;
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
}

void PoolSpanHeap::remove(PoolSpan* span) {
  if (span->next != nullptr) span->next->previous = span->previous;
  if (span->previous != nullptr) {
    span->previous->next = span->next;
    return;
  }
  const unsigned bin = bin_of(span->bytes / page_);
  bins_[bin] = span->next;
  if (span->next == nullptr) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
}

PoolSpan* PoolSpanHeap::split(PoolSpan* span, std::size_t bytes) {
  PoolSpan* rest = static_cast<PoolSpan*>(pointer_to(span->address() + bytes));
  *rest = PoolSpan{span->pool, span->chunk, span->bytes - bytes, bytes, PoolSpan::kFree, 0, 0,
                   nullptr,    nullptr};
  rest->following()->before = rest->bytes;
  span->bytes = bytes;
  return rest;
}

PoolSpan* PoolSpanHeap::find(std::size_t bytes, std::size_t alignment, std::size_t* front) const {
  const unsigned smallest = bin_of(bytes / page_);
  for (unsigned word = smallest / 64; word < kBins / 64; ++word) {
    std::uint64_t bits = filled_[word];
    if (word == smallest / 64) bits &= ~std::uint64_t{0} << (smallest % 64);
    for (; bits != 0; bits &= bits - 1) {
      const unsigned bin = word * 64 + unsigned(std::countr_zero(bits));
      for (PoolSpan* span = bins_[bin]; span != nullptr; span = span->next) {
        const std::uintptr_t block = span->address() + kSpanHeader;
        *front = align_up(block, alignment) - block;
        if (span->bytes >= bytes && span->bytes - bytes >= *front) return span;
      }
    }
  }
  return nullptr;
}

PoolSpan* PoolSpanHeap::allocate(std::size_t bytes, std::size_t alignment) {
  std::size_t front = 0;
  PoolSpan* span = find(bytes, alignment, &front);
  if (span == nullptr) return nullptr;
  remove(span);
  if (front != 0) {
    PoolSpan* aligned = split(span, front);
    insert(span);
    span = aligned;
  }
  if (span->bytes > bytes) insert(split(span, bytes));
  span->chunk->untouched = false;
  ++span->chunk->used;
  return span;
}

void PoolSpanHeap::release(PoolSpan* span) {
  --span->chunk->used;
  PoolSpan* after = span->following();
  if (after->state == PoolSpan::kFree) {
    remove(after);
    span->bytes += after->bytes;
  }
  if (span->before != 0 && span->preceding()->state == PoolSpan::kFree) {
    PoolSpan* before = span->preceding();
    remove(before);
    before->bytes += span->bytes;
    span = before;
  }
  span->following()->before = span->bytes;
  insert(span);
}

bool PoolSpanHeap::resize(PoolSpan* span, std::size_t bytes) {
  PoolSpan* after = span->following();
  const std::size_t room = after->state == PoolSpan::kFree ? after->bytes : 0;
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

}  // namespace corbel::pools
