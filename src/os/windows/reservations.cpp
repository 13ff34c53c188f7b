// SPDX-License-Identifier: Apache-2.0
#include "os/windows/reservations.hpp"

#include <algorithm>
#include <bit>

#include "base/bits.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"
#include "os/windows/exit_lock.hpp"

namespace corbel::os {
namespace {

constexpr std::size_t kUnit = std::size_t(64) << 10;  // the system's granularity of reservations

// A quarter of what is reserved already, within these bounds: a small process reserves little, and
// a large one has few regions.
constexpr std::size_t kMinRegion = std::size_t(64) << 20;
constexpr std::size_t kMaxRegion = std::size_t(1) << 30;

// Which units of a region are in use, a bit each.
class UnitMap {
 public:
  static constexpr std::size_t kBits = 64;
  static std::size_t words_for(std::size_t units) { return divide_up(units, kBits); }

  explicit UnitMap(std::uint64_t* words) : words_(words) {}

  bool has_any(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end;) {
      const std::size_t stop = std::min(end, align_down(i, kBits) + kBits);
      if ((words_[i / kBits] & mask(i, stop)) != 0) return true;
      i = stop;
    }
    return false;
  }

  // Sets the bits, or clears them. Returns how many have changed.
  std::size_t set(std::size_t begin, std::size_t end, bool value) {
    std::size_t changed = 0;
    for (std::size_t i = begin; i < end;) {
      const std::size_t stop = std::min(end, align_down(i, kBits) + kBits);
      std::uint64_t& word = words_[i / kBits];
      const std::uint64_t bits = mask(i, stop);
      changed += std::size_t(std::popcount(bits & (value ? ~word : word)));
      word = value ? word | bits : word & ~bits;
      i = stop;
    }
    return changed;
  }

  // The highest bit that is set, of those below `end`, plus 1; 0 if none is.
  std::size_t end_of_last(std::size_t end) const {
    while (end != 0) {
      const std::size_t begin = align_down(end - 1, kBits);
      const std::uint64_t word = words_[begin / kBits] & mask(begin, end);
      if (word != 0) return begin + std::size_t(std::bit_width(word));
      end = begin;
    }
    return 0;
  }

 private:
  // Requires: both are in the same word, and `begin` is less than `end`.
  static std::uint64_t mask(std::size_t begin, std::size_t end) {
    return (~std::uint64_t(0) >> (kBits - (end - begin))) << begin % kBits;
  }

  std::uint64_t* words_;
};

struct Region {
  std::uintptr_t start;
  std::size_t units;
  std::size_t used;  // units
  std::uint64_t* words;

  std::uintptr_t end() const { return start + units * kUnit; }
  UnitMap map() const { return UnitMap(words); }
};

// The regions by address. Under `lock`.
constexpr std::size_t kMaxRegions = 2048;
constinit Region regions[kMaxRegions]{};
constinit std::size_t region_count = 0;
// In bytes. relaxed all: without the lock it is an estimate
constinit std::atomic<std::size_t> reserved_bytes{0};
constinit ExitLock lock{};

// The index of the first region that ends above the address.
std::size_t region_above(std::uintptr_t address) {
  return std::size_t(
      std::upper_bound(regions, regions + region_count, address,
                       [](std::uintptr_t a, const Region& r) { return a < r.end(); }) -
      regions);
}

// Takes the units at an address, if all of them are free and in one region.
bool take_at(std::uintptr_t start, std::size_t size) {
  const std::size_t i = region_above(start);
  if (i == region_count) return false;
  Region& r = regions[i];
  if (start < r.start || size > r.end() - start) return false;
  const std::size_t first = (start - r.start) / kUnit;
  if (r.map().has_any(first, first + size / kUnit)) return false;
  r.used += r.map().set(first, first + size / kUnit, true);
  return true;
}

// The highest aligned range of a region that is free: the heap grows downwards. 0: there is none.
std::uintptr_t find_in(const Region& r, std::size_t size, std::size_t alignment) {
  const std::size_t units = size / kUnit;
  if (r.units - r.used < units) return 0;
  for (std::size_t end = r.units; end >= units;) {
    const std::uintptr_t start = align_down(r.start + (end - units) * kUnit, alignment);
    if (start < r.start) return 0;
    const std::size_t first = (start - r.start) / kUnit;
    const std::size_t taken = r.map().end_of_last(first + units);
    if (taken <= first) return start;
    // The range must end below the run of units in use that this one belongs to.
    end = taken - 1;
  }
  return 0;
}

void* take_anywhere(std::size_t size, std::size_t alignment) {
  for (std::size_t i = region_count; i-- > 0;) {
    const std::uintptr_t start = find_in(regions[i], size, alignment);
    if (start != 0 && take_at(start, size)) return pointer_to(start);
  }
  return nullptr;
}

// Whether the system could ever commit so much: its page file may grow, to three times the memory.
// A reservation that cannot be committed would still cost page tables, and in Wine a byte a page.
bool is_plausible(std::size_t size) {
  if (size <= kMaxRegion) return true;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return !GlobalMemoryStatusEx(&status) || size / 4 <= status.ullTotalPageFile;
}

// Without an address: the highest that is free. The heap grows downwards, so that what is free
// below serves it.
void* system_reserve(std::uintptr_t address, std::size_t size) {
  const DWORD kind = MEM_RESERVE | (address == 0 ? MEM_TOP_DOWN : 0);
  return VirtualAlloc(pointer_to(address), size, kind, PAGE_NOACCESS);
}

// Reserves a region for the request: one that ends where the hint does, so that the heap stays
// contiguous, or, without a hint, one anywhere. False if the system refuses.
bool reserve_region(std::size_t size, std::size_t alignment, std::uintptr_t hint, Region* r) {
  const std::size_t room = hint == 0 && alignment > kUnit ? size + alignment : size;
  if (room < size || !is_plausible(size)) return false;
  const std::size_t quarter = reserved_bytes.load(std::memory_order_relaxed) / 4;
  const std::size_t usual = align_up(std::clamp(quarter, kMinRegion, kMaxRegion), kMinRegion);
  for (const std::size_t bytes : {std::max(room, usual), room}) {
    if (hint != 0 && hint + size <= bytes) continue;
    void* const memory = system_reserve(hint != 0 ? hint + size - bytes : 0, bytes);
    if (memory == nullptr) continue;
    const std::size_t units = bytes / kUnit;
    void* const words = VirtualAlloc(nullptr, UnitMap::words_for(units) * sizeof(std::uint64_t),
                                     MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (words != nullptr) {
      *r = {address_of(memory), units, 0, static_cast<std::uint64_t*>(words)};
      return true;
    }
    VirtualFree(memory, 0, MEM_RELEASE);
  }
  return false;
}

void release_region(const Region& r) {
  VirtualFree(pointer_to(r.start), 0, MEM_RELEASE);
  VirtualFree(r.words, 0, MEM_RELEASE);
}

bool add_region(const Region& r) {
  if (region_count == kMaxRegions) return false;
  Region* const place = regions + region_above(r.start);
  std::copy_backward(place, regions + region_count, regions + region_count + 1);
  *place = r;
  ++region_count;
  reserved_bytes.fetch_add(r.units * kUnit, std::memory_order_relaxed);
  return true;
}

void remove_region(std::size_t i) {
  reserved_bytes.fetch_sub(regions[i].units * kUnit, std::memory_order_relaxed);
  std::copy(regions + i + 1, regions + region_count, regions + i);
  --region_count;
}

// Whether a part of the range is in a region.
bool meets_region(std::uintptr_t start, std::size_t size) {
  const std::size_t i = region_above(start);
  return i != region_count && regions[i].start < start + size;
}

// Takes the request from a new region. `hint` as for reserve_region().
void* take_from_new(std::size_t size, std::size_t alignment, std::uintptr_t hint) {
  Region fresh;
  if (!reserve_region(size, alignment, hint, &fresh)) return nullptr;
  if (!lock.lock()) return nullptr;
  const bool added = add_region(fresh);
  std::uintptr_t start = 0;
  if (added) {
    start = hint != 0 ? hint : find_in(regions[region_above(fresh.start)], size, alignment);
    // Nothing else can be there yet.
    take_at(start, size);
  }
  lock.unlock();
  if (!added) release_region(fresh);
  return pointer_to(start);
}

}  // namespace

void* take_addresses(std::size_t size, std::size_t alignment, void* hint) {
  const std::uintptr_t wanted = address_of(hint) % alignment == 0 ? address_of(hint) : 0;
  const auto from_regions = [=]() -> void* {
    if (wanted != 0 && take_at(wanted, size)) return hint;
    return take_anywhere(size, alignment);
  };
  if (!lock.lock()) return alignment == kUnit ? system_reserve(0, size) : nullptr;
  // A hint where no region is leads to a new one.
  const bool extends = wanted != 0 && !meets_region(wanted, size);
  void* found = extends ? nullptr : from_regions();
  lock.unlock();
  if (found == nullptr && extends) {
    found = take_from_new(size, alignment, wanted);
    if (found == nullptr && lock.lock()) {
      found = from_regions();
      lock.unlock();
    }
  }
  return found != nullptr ? found : take_from_new(size, alignment, 0);
}

void give_addresses(void* address, std::size_t size) {
  std::uintptr_t at = align_up(address_of(address), kUnit);
  const std::uintptr_t end = align_down(address_of(address) + size, kUnit);
  while (at < end) {
    if (!lock.lock()) return;
    const std::size_t i = region_above(at);
    if (i == region_count || regions[i].start > at) {
      lock.unlock();
      return;
    }
    Region& r = regions[i];
    const std::uintptr_t stop = std::min(end, r.end());
    r.used -= r.map().set((at - r.start) / kUnit, (stop - r.start) / kUnit, false);
    const Region left = r;
    if (left.used == 0) remove_region(i);
    lock.unlock();
    if (left.used == 0) release_region(left);
    at = stop;
  }
}

RegionFigures region_figures() {
  RegionFigures figures{};
  if (!lock.lock()) return figures;
  figures.regions = region_count;
  figures.reserved = reserved_bytes.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < region_count; ++i) figures.used += regions[i].used * kUnit;
  lock.unlock();
  return figures;
}

}  // namespace corbel::os
