// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/page_map.hpp"

#include "alloc/map/footprint.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit PageMap page_map{};

namespace {

constinit std::atomic<std::size_t> leaf_bytes{0};
constinit std::atomic<std::size_t> committed_bytes{0};

// The part of a table that has ever been used, so that a walk need not read all of it. All zero if
// no entry has been used.
struct Used {
  std::atomic<std::uint32_t> before_first;  // size of the table - index of the first entry
  std::atomic<std::uint32_t> end;           // index after the last entry
};
constinit Used used_of_root{};

// The last part of a leaf.
struct Covered {
  Used used;
  // A bit for each page of masks that is in the footprint, and one for the page that this is on.
  std::atomic<std::uint32_t> pages;
};
constexpr std::uint32_t kOwnPage = std::uint32_t(1) << 31;

constexpr std::size_t kMasksEnd = kLeafEntries * (sizeof(Span) + sizeof(PageMask));
constexpr std::size_t kLeafSize = align_up(kMasksEnd + sizeof(Covered), kUnit);

Covered& covered(Span* leaf) {
  return *reinterpret_cast<Covered*>(reinterpret_cast<char*>(leaf) + kMasksEnd);
}

// The whole pages between two addresses.
struct Pages {
  Pages(const void* first, const void* last)
      : begin(align_up(address_of(first), os::page_size())),
        size(align_down(address_of(last), os::page_size()) - begin) {}

  std::uintptr_t begin;
  std::size_t size;
};

bool add_leaf(std::size_t index) {
  // The leaf exists, perhaps because another thread has just added it.
  if (page_map.leaf(index) != nullptr) return true;
  void* memory = os::map(kLeafSize, kUnit, nullptr);
  if (memory == nullptr && unlock_page_map()) memory = os::map_unlocked(kLeafSize);
  if (memory == nullptr) return false;
  // A huge page would be too large: one page of descriptors covers 4 MiB of heap, a huge page of
  // them 2 GiB.
  os::advise(memory, kLeafSize, os::PageAdvice::kSparse);
  const auto distance = std::ptrdiff_t(address_of(memory) - address_of(page_map.absent));
  std::ptrdiff_t expected = 0;
  // (2) release: publishes the zeroed leaf to (1) in page_map.hpp; relaxed on failure: the
  // winner's leaf is not used here
  if (!page_map.distance[index].compare_exchange_strong(
          expected, distance, std::memory_order_release, std::memory_order_relaxed)) {
    os::unmap(memory, kLeafSize);
    return true;
  }
  leaf_bytes.fetch_add(kLeafSize, std::memory_order_relaxed);  // relaxed: a statistic
  return true;
}

void raise_to(std::atomic<std::uint32_t>& bound, std::uint32_t value) {
  // relaxed throughout: a walk may miss what is being mapped at that moment
  std::uint32_t old = bound.load(std::memory_order_relaxed);
  while (old < value && !bound.compare_exchange_weak(old, value, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
  }
}

// Whether the hard limit is checked before a page is counted.
enum class Ask { kNo, kYes };

// Counts a page of the map in the footprint, unless it is already counted. `counted` is a first
// look at the page's flag, `test_and_set` the decision: it returns whether the flag was set before.
// False when the hard limit leaves no room.
template <class TestAndSet>
bool count_page(Ask ask, bool counted, TestAndSet test_and_set) {
  if (counted) return true;
  if (ask == Ask::kNo) {
    footprint.commit(os::page_size());
  } else if (!footprint.try_commit_table(os::page_size())) {
    return false;
  }
  // Another thread may have counted it meanwhile.
  if (test_and_set()) {
    footprint.release(os::page_size());
  } else {
    committed_bytes.fetch_add(os::page_size(), std::memory_order_relaxed);  // relaxed: a statistic
  }
  return true;
}

// Counts the pages of the map that the units `low` to `high` of a leaf need. False when the hard
// limit leaves no room for one of them.
bool count_pages(Ask ask, std::size_t leaf, std::size_t low, std::size_t high) {
  Span* const spans = page_map.leaf(leaf);
  // relaxed throughout: a flag decides which thread counts, and orders nothing
  const std::size_t spans_in_page = os::page_size() / sizeof(Span);
  for (std::size_t i = align_down(low, spans_in_page); i <= high; i += spans_in_page) {
    std::atomic<bool>& flag = spans[i].page_is_counted;
    if (!count_page(ask, flag.load(std::memory_order_relaxed),
                    [&] { return flag.exchange(true, std::memory_order_relaxed); })) {
      return false;
    }
  }
  std::atomic<std::uint32_t>& counted = covered(spans).pages;
  const auto count_bit = [&](std::uint32_t bit) {
    return count_page(ask, (counted.load(std::memory_order_relaxed) & bit) != 0, [&] {
      return (counted.fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
    });
  };
  const std::size_t masks_in_page = os::page_size() / sizeof(PageMask);
  for (std::size_t i = low / masks_in_page; i <= high / masks_in_page; ++i) {
    if (!count_bit(1U << i)) return false;
  }
  return count_bit(kOwnPage);
}

Cover cover(Ask ask, const void* address, std::size_t size) {
  const std::uintptr_t first = address_of(address) >> kUnitBits;
  const std::uintptr_t last = (address_of(address) + size - 1) >> kUnitBits;
  if (last / kLeafEntries >= kRootEntries) return Cover::kNone;
  for (std::size_t i = first / kLeafEntries; i <= last / kLeafEntries; ++i) {
    if (!add_leaf(i)) return Cover::kNone;
    const std::size_t low = i == first / kLeafEntries ? first % kLeafEntries : 0;
    const std::size_t high = i == last / kLeafEntries ? last % kLeafEntries : kLeafEntries - 1;
    if (!count_pages(ask, i, low, high)) return Cover::kShort;
    Used& used = covered(page_map.leaf(i)).used;
    raise_to(used.before_first, std::uint32_t(kLeafEntries - low));
    raise_to(used.end, std::uint32_t(high + 1));
    raise_to(used_of_root.before_first, std::uint32_t(kRootEntries - i));
    raise_to(used_of_root.end, std::uint32_t(i + 1));
  }
  return Cover::kDone;
}

}  // namespace

void set_up_page_map() {
  const Pages all(&page_map, &page_map + 1);
  os::advise(pointer_to(all.begin), all.size, os::PageAdvice::kSparse);
}

Cover cover_with_spans(const void* address, std::size_t size) {
  return cover(Ask::kYes, address, size);
}

void cover_again(const void* address, std::size_t size) { cover(Ask::kNo, address, size); }

void forget_spans(const void* address, std::size_t size) {
  // A page of zeros means kForeign too; only whole pages of descriptors are worth a call.
  const std::size_t page = os::page_size();
  std::uintptr_t unit = address_of(address) >> kUnitBits;
  const std::uintptr_t end = (address_of(address) + size) >> kUnitBits;
  while (unit < end) {
    const std::uintptr_t leaf_end = align_up(unit + 1, kLeafEntries);
    const std::uintptr_t stop = leaf_end < end ? leaf_end : end;
    Span* first = find_span(pointer_to(unit << kUnitBits));
    const std::uintptr_t low = align_up(address_of(first), page);
    const std::uintptr_t high = align_down(address_of(first + (stop - unit)), page);
    // This clears the flags page_is_counted, which are stored in these pages.
    if (low < high && os::clear(pointer_to(low), high - low)) {
      footprint.release(high - low);
      committed_bytes.fetch_sub(high - low, std::memory_order_relaxed);  // relaxed: a statistic
    }
    unit = stop;
  }
}

void walk_spans(std::size_t (*visit)(void* context, const Span& span, void* address),
                void* context) {
  // relaxed throughout: see raise_to
  const std::size_t last_leaf = used_of_root.end.load(std::memory_order_relaxed);
  std::size_t i = kRootEntries - used_of_root.before_first.load(std::memory_order_relaxed);
  std::uintptr_t unit = 0;  // declared out here because a visited span may end in another leaf
  for (; i < last_leaf; ++i) {
    Span* const leaf = page_map.leaf(i);
    if (leaf == nullptr) continue;
    const Used& used = covered(leaf).used;
    const std::uintptr_t base = std::uintptr_t(i) * kLeafEntries;
    const std::uintptr_t end = base + used.end.load(std::memory_order_relaxed);
    const std::uintptr_t first =
        base + kLeafEntries - used.before_first.load(std::memory_order_relaxed);
    if (unit < first) unit = first;
    while (unit < end) unit += visit(context, leaf[unit - base], pointer_to(unit << kUnitBits));
  }
}

bool unlock_page_map() {
  if (!os::lock_limit_has_refused()) return false;
  const Pages all(&page_map, &page_map + 1);
  os::unlock(pointer_to(all.begin), all.size);
  // These two are never written, so they need no memory of their own.
  const Pages zeros(page_map.absent, &page_map + 1);
  os::clear(pointer_to(zeros.begin), zeros.size);
  // relaxed both: a leaf that is added meanwhile is unlocked the next time
  const std::size_t last_leaf = used_of_root.end.load(std::memory_order_relaxed);
  std::size_t i = kRootEntries - used_of_root.before_first.load(std::memory_order_relaxed);
  for (; i < last_leaf; ++i) {
    if (const Span* leaf = page_map.leaf(i)) os::unlock(leaf, kLeafSize);
  }
  return true;
}

// relaxed both: statistics
std::size_t page_map_bytes() { return leaf_bytes.load(std::memory_order_relaxed); }
std::size_t page_map_committed() { return committed_bytes.load(std::memory_order_relaxed); }

}  // namespace corbel::alloc
