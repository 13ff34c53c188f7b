// SPDX-License-Identifier: Apache-2.0
#include "alloc/pages/huge_pages.hpp"

#include "alloc/map/options.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "os/os.hpp"

namespace corbel::alloc {
namespace {

// The result of may_have_huge_pages(). relaxed: it changes once, before that chunk is used
constinit std::atomic<bool> some_may_be_huge{false};

bool is_ours(std::uintptr_t address) {
  return find_span(pointer_to(address))->tag() != span_tag::kForeign;
}

}  // namespace

void advise_chunk(void* chunk, std::size_t bytes, std::size_t wanted, std::size_t mapped) {
  // relaxed: see options.hpp
  const HugePages policy = options.huge_pages.load(std::memory_order_relaxed);
  if (policy == HugePages::kAlways) {
    os::advise(chunk, bytes, os::PageAdvice::kDense);
  } else if (policy == HugePages::kAuto && chunk_may_be_huge(bytes, wanted, mapped)) {
    some_may_be_huge.store(true, std::memory_order_relaxed);  // relaxed: as declared
  } else {
    os::advise(chunk, bytes, os::PageAdvice::kSparse);
  }
}

// relaxed: as declared
bool may_have_huge_pages() { return some_may_be_huge.load(std::memory_order_relaxed); }

void keep_decommitted(void* start, std::size_t bytes) {
  if (!may_have_huge_pages()) return;
  // Advise whole huge pages, as far as they are ours: advice on each part of one would split the
  // mapping again and again.
  std::uintptr_t low = align_down(address_of(start), kUnit);
  std::uintptr_t high = align_up(address_of(start) + bytes, kUnit);
  while (low % kHugePage != 0 && is_ours(low - kUnit)) low -= kUnit;
  while (high % kHugePage != 0 && is_ours(high)) high += kUnit;
  os::advise(pointer_to(low), high - low, os::PageAdvice::kSparse);
}

}  // namespace corbel::alloc
