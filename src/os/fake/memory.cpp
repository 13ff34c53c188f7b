// SPDX-License-Identifier: Apache-2.0
// Replaces src/os/linux/memory.cpp in the fault tests; see fake.hpp.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "base/bits.hpp"
#include "os/fake/fake.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace corbel::os {
namespace {

constexpr std::size_t kUnit = 64 << 10;  // sizes and alignments of map() are multiples of it
constexpr bool kCommits = CORBEL_OS_COMMITS;

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

// The mapped ranges in ascending order; adjacent ranges are merged.
class Ranges {
 public:
  bool covers(std::uintptr_t begin, std::uintptr_t end) const {
    const std::size_t i = first_ending_after(begin);
    return i < count_ && ranges_[i].begin <= begin && end <= ranges_[i].end;
  }

  bool meets(std::uintptr_t begin, std::uintptr_t end) const {
    const std::size_t i = first_ending_after(begin);
    return i < count_ && ranges_[i].begin < end;
  }

  std::size_t count() const { return count_; }

  // Whether remove() would leave a part of a range at both ends.
  bool would_split(std::uintptr_t begin, std::uintptr_t end) const {
    const Range& whole = ranges_[first_ending_after(begin)];
    return whole.begin < begin && end < whole.end;
  }

  // False when the table is full.
  bool add(std::uintptr_t begin, std::uintptr_t end) {
    std::size_t i = first_ending_after(begin);
    if (i > 0 && ranges_[i - 1].end == begin) {
      begin = ranges_[--i].begin;
      erase(i);
    }
    if (i < count_ && ranges_[i].begin == end) {
      end = ranges_[i].end;
      erase(i);
    }
    return insert(i, Range{begin, end});
  }

  template <class Visit>
  void visit(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) visit(ranges_[i]);
  }

  // Adds what of the range is missing. False when the table is full.
  bool add_missing(std::uintptr_t begin, std::uintptr_t end) {
    return remove_any(begin, end) && add(begin, end);
  }

  // Removes what is there of the range. False when the table is full.
  bool remove_any(std::uintptr_t begin, std::uintptr_t end) {
    for (std::size_t i = first_ending_after(begin); i < count_ && ranges_[i].begin < end;) {
      const Range whole = ranges_[i];
      erase(i);
      if (end < whole.end && !insert(i, Range{end, whole.end})) return false;
      if (whole.begin < begin && !insert(i++, Range{whole.begin, begin})) return false;
    }
    return true;
  }

  // Calls `visit` for each part of the range that is there.
  template <class Visit>
  void visit_in(std::uintptr_t begin, std::uintptr_t end, Visit visit) const {
    for (std::size_t i = first_ending_after(begin); i < count_ && ranges_[i].begin < end; ++i) {
      const Range& r = ranges_[i];
      visit(Range{r.begin > begin ? r.begin : begin, r.end < end ? r.end : end});
    }
  }

  // Requires: covers() is true of the range. False when the table is full.
  bool remove(std::uintptr_t begin, std::uintptr_t end) {
    const std::size_t i = first_ending_after(begin);
    const Range whole = ranges_[i];
    erase(i);
    if (end < whole.end && !insert(i, Range{end, whole.end})) return false;
    return whole.begin == begin || insert(i, Range{whole.begin, begin});
  }

 private:
  static constexpr std::size_t kCapacity = 1 << 16;

  std::size_t first_ending_after(std::uintptr_t address) const {
    std::size_t low = 0;
    std::size_t high = count_;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (ranges_[middle].end <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  bool insert(std::size_t i, Range range) {
    if (count_ == kCapacity) return false;
    memmove(&ranges_[i + 1], &ranges_[i], (count_ - i) * sizeof(Range));
    ranges_[i] = range;
    ++count_;
    return true;
  }

  void erase(std::size_t i) {
    --count_;
    memmove(&ranges_[i], &ranges_[i + 1], (count_ - i) * sizeof(Range));
  }

  std::size_t count_ = 0;
  Range ranges_[kCapacity + 1] = {};
};

struct State {
  fake::Refusals refusals;
  fake::Figures figures = {};
  std::uint64_t maps_since_set = 0;
  std::uint64_t commits_since_set = 0;
  std::uint64_t random = 0;
};

constinit Ranges ranges{};
// What of them may be used; the rest is to be committed before, and faults. Without commits, all.
constinit Ranges committed{};
constexpr Ranges& usable = kCommits ? committed : ranges;
constinit State state{};
constinit std::atomic_flag locked{};
constinit std::atomic<std::size_t> pretended_page_size{0};
constinit std::atomic<void (*)(std::size_t)> map_hook{nullptr};
constinit std::atomic<void (*)(void*, std::size_t)> decommit_hook{nullptr};
constinit std::atomic<bool (*)()> must_not_call{nullptr};
constinit std::atomic<const char*> breach{nullptr};

// Guards all of the state. It spins, because the allocator's own lock is built on this layer.
class StateGuard {
 public:
  StateGuard() {
    // (1) acquire: sees what the last holder wrote before (2)
    while (locked.test_and_set(std::memory_order_acquire)) yield();
  }
  ~StateGuard() { locked.clear(std::memory_order_release); }  // (2) release: publishes it to (1)
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  ErrnoGuard errno_guard_;
};

bool keeps_contract(bool kept, const char* otherwise) {
  if (!kept) fake::note_breach(otherwise);
  return kept;
}

// Guards a call of this layer and checks that it is allowed.
class Call : StateGuard {
 public:
  explicit Call(const char* breach_under_lock) {
    // relaxed: a test sets it while no other thread calls this layer
    const auto must_not = must_not_call.load(std::memory_order_relaxed);
    keeps_contract(must_not == nullptr || !must_not(), breach_under_lock);
  }
};

bool drawn(std::uint64_t in_1000) {
  if (in_1000 == 0) return false;
  state.random = state.random * 6364136223846793005U + 1442695040888963407U;
  return (state.random >> 33) % 1000 < in_1000;
}

bool make_usable(std::uintptr_t begin, std::uintptr_t end) {
  if (!kCommits) return true;
  if (mprotect(pointer_to(begin), end - begin, PROT_READ | PROT_WRITE) != 0) return false;
  return keeps_contract(usable.add_missing(begin, end), "too many ranges");
}

void make_unusable(std::uintptr_t begin, std::uintptr_t end) {
  if (!kCommits) return;
  keeps_contract(usable.remove_any(begin, end), "too many ranges");
}

// Whether call number `number` is one of the `count` calls from `first` on.
bool is_among(std::uint64_t number, std::uint64_t first, std::uint64_t count) {
  return first != 0 && number >= first && number - first < count;
}

bool map_refused(std::size_t size) {
  const fake::Refusals& refusals = state.refusals;
  return is_among(++state.maps_since_set, refusals.first_map, refusals.maps) ||
         drawn(refusals.maps_in_1000) || size > refusals.mapped_limit ||
         state.figures.mapped_bytes > refusals.mapped_limit - size;
}

#if CORBEL_OS_COMMITS
bool commit_refused(std::size_t size) {
  const fake::Refusals& refusals = state.refusals;
  return is_among(++state.commits_since_set, refusals.first_commit, refusals.commits) ||
         size > refusals.largest_commit || drawn(refusals.commits_in_1000);
}
#endif

void* map_aligned(std::size_t size, std::size_t alignment, void* hint) {
  const int protection = kCommits ? PROT_NONE : PROT_READ | PROT_WRITE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (hint != nullptr) {
    void* p = mmap(hint, size, protection, flags, -1, 0);
    if (p != MAP_FAILED && address_of(p) % alignment == 0) return p;
    if (p != MAP_FAILED) munmap(p, size);
  }
  if (size + alignment < size) return nullptr;
  void* p = mmap(nullptr, size + alignment, protection, flags, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  const std::uintptr_t start = address_of(p);
  const std::uintptr_t aligned = align_up(start, alignment);
  if (aligned != start) munmap(p, aligned - start);
  munmap(pointer_to(aligned + size), start + alignment - aligned);
  return pointer_to(aligned);
}

// With commits, nothing of it is committed yet.
void* take_range(std::size_t size, std::size_t alignment, void* hint) {
  // relaxed: a test sets it while no other thread calls this layer
  if (auto* hook = map_hook.load(std::memory_order_relaxed)) hook(size);
  const Call call("map while a lock is held");
  ++state.figures.map_calls;
  keeps_contract(size != 0 && size % kUnit == 0, "map of a size that is no multiple of 64 KiB");
  keeps_contract(is_power_of_two(alignment) && alignment % kUnit == 0,
                 "map with an alignment that is no multiple of 64 KiB");
  void* p = map_refused(size) ? nullptr : map_aligned(size, alignment, hint);
  if (p == nullptr) {
    ++state.figures.maps_refused;
    return nullptr;
  }
  keeps_contract(!ranges.meets(address_of(p), address_of(p) + size),
                 "memory was unmapped without a call of this layer");
  keeps_contract(ranges.add(address_of(p), address_of(p) + size), "too many ranges");
  if (ranges.count() > state.refusals.max_ranges) {
    ranges.remove(address_of(p), address_of(p) + size);
    munmap(p, size);
    ++state.figures.maps_refused;
    return nullptr;
  }
  state.figures.mapped_bytes += size;
  if (state.figures.mapped_bytes > state.figures.peak_bytes) {
    state.figures.peak_bytes = state.figures.mapped_bytes;
  }
  return p;
}

}  // namespace

std::size_t page_size() {
  // relaxed: a test sets it while no other thread calls this layer
  const std::size_t size = pretended_page_size.load(std::memory_order_relaxed);
  return size != 0 ? size : std::size_t(sysconf(_SC_PAGESIZE));
}

#if CORBEL_OS_COMMITS

void* reserve(std::size_t size, std::size_t alignment, void* hint) {
  return take_range(size, alignment, hint);
}

void* map(std::size_t size, std::size_t alignment, void* hint) {
  void* const p = reserve(size, alignment, hint);
  if (p == nullptr) return nullptr;
  {
    const StateGuard guard;
    if (make_usable(address_of(p), address_of(p) + size)) return p;
  }
  unmap(p, size);
  return nullptr;
}

#else

void* map(std::size_t size, std::size_t alignment, void* hint) {
  return take_range(size, alignment, hint);
}

#endif

bool unmap(void* address, std::size_t size) {
  const Call call("unmap while a lock is held");
  ++state.figures.unmap_calls;
  const std::uintptr_t begin = address_of(address);
  keeps_contract(size != 0 && size % page_size() == 0 && begin % page_size() == 0,
                 "unmap of a part of a page");
  if (!keeps_contract(ranges.covers(begin, begin + size), "unmap of memory that is not mapped")) {
    return false;
  }
  const bool has_no_room =
      ranges.count() >= state.refusals.max_ranges && ranges.would_split(begin, begin + size);
  if ((has_no_room || drawn(state.refusals.unmaps_in_1000)) && make_usable(begin, begin + size)) {
    memset(address, 0xdd, size < (1U << 20) ? size : 1U << 20);
    return false;
  }
  keeps_contract(ranges.remove(begin, begin + size), "too many ranges");
  make_unusable(begin, begin + size);
  state.figures.mapped_bytes -= size;
  return munmap(address, size) == 0;
}

#if CORBEL_OS_COMMITS
bool commit(void* address, std::size_t size) {
  const Call call("commit while a lock is held");
  ++state.figures.commit_calls;
  const std::uintptr_t begin = address_of(address);
  keeps_contract(size != 0 && size % page_size() == 0 && begin % page_size() == 0,
                 "commit of a part of a page");
  if (!keeps_contract(ranges.covers(begin, begin + size), "commit of memory that is not mapped")) {
    return false;
  }
  if (commit_refused(size)) {
    const std::size_t half = align_down(size / 2, page_size());
    if (half != 0) make_usable(begin, begin + half);
    return false;
  }
  return usable.covers(begin, begin + size) || make_usable(begin, begin + size);
}
#endif

// The fake system locks no memory.
void* map_unlocked(std::size_t) { return nullptr; }
bool lock_limit_has_refused() { return false; }
void unlock(const void*, std::size_t) {}

bool clear(void* address, std::size_t size) {
  // relaxed: a test sets it while no other thread calls this layer
  if (auto* hook = decommit_hook.load(std::memory_order_relaxed)) hook(address, size);
  const Call call("decommit while a lock is held");
  ++state.figures.decommit_calls;
  const std::uintptr_t begin = address_of(address);
  keeps_contract(size != 0 && size % page_size() == 0 && begin % page_size() == 0,
                 "decommit of a part of a page");
  if (!keeps_contract(ranges.covers(begin, begin + size),
                      "decommit of memory that is not mapped")) {
    return false;
  }
  return !drawn(state.refusals.decommits_in_1000) && madvise(address, size, MADV_DONTNEED) == 0;
}

bool decommit(void* address, std::size_t size) {
  if (!clear(address, size)) return false;
  if (!kCommits) return true;
  const StateGuard guard;
  make_unusable(address_of(address), address_of(address) + size);
  return mprotect(address, size, PROT_NONE) == 0;
}

bool protect(void* address, std::size_t size, Access access) {
  const Call call("protect while a lock is held");
  const std::uintptr_t begin = address_of(address);
  keeps_contract(size != 0 && size % page_size() == 0 && begin % page_size() == 0,
                 "protect of a part of a page");
  if (!keeps_contract(ranges.covers(begin, begin + size), "protect of memory that is not mapped")) {
    return false;
  }
  const int protection = access == Access::kAll ? PROT_READ | PROT_WRITE : PROT_NONE;
  bool done = true;
  usable.visit_in(begin, begin + size, [&](const Range& r) {
    done = mprotect(pointer_to(r.begin), r.end - r.begin, protection) == 0 && done;
  });
  return done;
}

void populate(void* address, std::size_t size) {
  const Call call("populate while a lock is held");
  const std::uintptr_t begin = address_of(address);
  keeps_contract(size != 0 && size % page_size() == 0 && begin % page_size() == 0,
                 "populate of a part of a page");
  if (!keeps_contract(usable.covers(begin, begin + size),
                      "populate of memory that is not committed")) {
    return;
  }
  madvise(address, size, MADV_POPULATE_WRITE);
}

bool is_resident(void* address) {
  const Call call("is_resident while a lock is held");
  const std::uintptr_t begin = address_of(address);
  keeps_contract(begin % page_size() == 0, "is_resident inside a page");
  keeps_contract(ranges.covers(begin, begin + page_size()),
                 "is_resident of memory that is not mapped");
  unsigned char in_core[16] = {};
  return mincore(address, 1, in_core) == 0 && (in_core[0] & 1) != 0;
}

Moved move_pages(void* from, void* to, std::size_t size) {
  const Call call("move while a lock is held");
  ++state.figures.move_calls;
  const std::uintptr_t source = address_of(from);
  const std::uintptr_t target = address_of(to);
  keeps_contract(size != 0 && size % page_size() == 0 && source % page_size() == 0 &&
                     target % page_size() == 0,
                 "move of a part of a page");
  if (!keeps_contract(usable.covers(source, source + size) && usable.covers(target, target + size),
                      "move of memory that is not committed") ||
      !keeps_contract(source + size <= target || target + size <= source,
                      "move of memory onto itself")) {
    return Moved::kUnchanged;
  }
  if (drawn(state.refusals.moves_in_1000)) return Moved::kUnchanged;
  if (drawn(state.refusals.lost_targets_in_1000)) {
    keeps_contract(ranges.remove(target, target + size), "too many ranges");
    make_unusable(target, target + size);
    state.figures.mapped_bytes -= size;
    // Simulate another thread's mapping in the lost range: touching it faults.
    mmap(to, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return Moved::kTargetLost;
  }
  const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (mremap(from, size, size, flags, to) == to) return Moved::kYes;
  // This kernel cannot move pages, and may have unmapped the target: emulate the move.
  mmap(to, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memcpy(to, from, size);
  memset(from, 0, size);
  return Moved::kYes;
}

void advise(void* address, std::size_t size, PageAdvice preference) {
  const Call call("advice while a lock is held");
  const std::uintptr_t begin = address_of(address);
  keeps_contract(preference == PageAdvice::kSparse || ranges.covers(begin, begin + size),
                 "advice on memory that is not mapped");
  madvise(address, size, preference == PageAdvice::kDense ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

namespace fake {

void refuse(const Refusals& refusals) {
  StateGuard guard;
  state.refusals = refusals;
  state.maps_since_set = 0;
  state.commits_since_set = 0;
  state.random = refusals.seed;
}

void at_map(void (*hook)(std::size_t size)) {
  map_hook.store(hook,
                 std::memory_order_relaxed);  // relaxed: no other thread calls this layer meanwhile
}

void at_decommit(void (*hook)(void* address, std::size_t size)) {
  // relaxed: no other thread calls this layer meanwhile
  decommit_hook.store(hook, std::memory_order_relaxed);
}

void forbid_calls_if(bool (*forbidden)()) {
  // relaxed: no other thread calls this layer meanwhile
  must_not_call.store(forbidden, std::memory_order_relaxed);
}

void pretend_page_size(std::size_t size) {
  // relaxed: no other thread calls this layer meanwhile
  pretended_page_size.store(size, std::memory_order_relaxed);
}

Figures figures() {
  StateGuard guard;
  state.figures.ranges = ranges.count();
  return state.figures;
}

void note_breach(const char* what) {
  const char* none = nullptr;
  // relaxed, both: the text is a constant, so nothing else is published
  breach.compare_exchange_strong(none, what, std::memory_order_relaxed, std::memory_order_relaxed);
}

const char* first_breach() {
  // relaxed: the text is a constant, nothing else is read
  return breach.load(std::memory_order_relaxed);
}

bool is_mapped(const void* address, std::size_t size) {
  StateGuard guard;
  return ranges.covers(address_of(address), address_of(address) + size);
}

std::size_t usable_bytes() {
  StateGuard guard;
  std::size_t bytes = 0;
  usable.visit([&](const Range& range) { bytes += range.end - range.begin; });
  return bytes;
}

std::size_t resident_bytes() {
  StateGuard guard;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t pages = 0;
  ranges.visit([&](const Range& range) {
    std::uint64_t entries[512];
    const std::uintptr_t end = range.end / page_size();
    for (std::uintptr_t page = range.begin / page_size(); page < end;) {
      const std::size_t wanted = std::size_t(end - page) < 512 ? std::size_t(end - page) : 512;
      const ssize_t size = pread(file, entries, wanted * 8, off_t(page * 8));
      if (size <= 0) break;
      for (std::size_t i = 0; i < std::size_t(size) / 8; ++i) {
        // Bit 63: the page is present. Bit 56: only this process maps it, which is not true of the
        // system's page of zeros.
        constexpr std::uint64_t kOurs = std::uint64_t(1) << 63 | std::uint64_t(1) << 56;
        if ((entries[i] & kOurs) == kOurs) ++pages;
      }
      page += std::size_t(size) / 8;
    }
  });
  close(file);
  return pages * page_size();
}

}  // namespace fake
}  // namespace corbel::os
