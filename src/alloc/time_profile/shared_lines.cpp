// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/shared_lines.hpp"

#include <algorithm>
#include <atomic>

#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr std::uint32_t kRecently = 100;  // ms

using Clock = std::uint64_t (*)();
constinit Clock lines_clock = os::now_ms;

using ByteMask = std::uint64_t;  // a bit for each byte of a line

struct LineUser {
  std::uint32_t thread;  // 0: none
  std::uint32_t last;    // ms, cut to 32 bits
  std::uint32_t count;   // of samples, since it was last absent for long
  ByteMask bytes;        // that it has used since then
  bool writes;

  bool is_recent(std::uint32_t now) const { return thread != 0 && now - last <= kRecently; }
};

// Threads beyond these replace the ones that have been absent for longest.
constexpr unsigned kMaxUsers = 4;

struct Line {
  // 1: a thread is at it. Others do not wait: their sample of it is left out.
  std::atomic<std::uint32_t> is_busy;
  std::atomic<std::uint32_t> used_at;  // relaxed: a hint
  std::atomic<std::uintptr_t> number;  // address / kLineSize; relaxed: checked with the line held
  LineUser users[kMaxUsers];
};

constexpr unsigned kLineBits = 12;
constexpr unsigned kLineWindow = 4;
constinit std::atomic<Line*> shared_lines{nullptr};

// The line of this number, or else the one in its window that has been unused for longest.
Line& line_for(Line* all, std::uintptr_t number) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
  constexpr std::size_t kMask = (std::size_t(1) << kLineBits) - 1;
  const std::size_t home = std::size_t(number * kFactor >> (64 - kLineBits));
  const auto now = std::uint32_t(lines_clock());
  Line* oldest = nullptr;
  std::uint32_t age = 0;
  for (unsigned i = 0; i < kLineWindow; ++i) {
    Line& line = all[(home + i) & kMask];
    const std::uintptr_t found = line.number.load(std::memory_order_relaxed);
    if (found == number) return line;
    const std::uint32_t unused =
        found == 0 ? UINT32_MAX : now - line.used_at.load(std::memory_order_relaxed);
    if (oldest == nullptr || unused > age) {
      oldest = &line;
      age = unused;
    }
  }
  return *oldest;
}

LineUser& user_for(Line& line, std::uint32_t thread, std::uint32_t now) {
  LineUser* oldest = line.users;
  for (LineUser& user : line.users) {
    if (user.thread == thread) {
      if (!user.is_recent(now)) user = {thread, now, 0, 0, false};
      return user;
    }
    const auto age = [now](const LineUser& u) { return u.thread == 0 ? UINT32_MAX : now - u.last; };
    if (age(user) > age(*oldest)) oldest = &user;
  }
  *oldest = {thread, now, 0, 0, false};
  return *oldest;
}

bool note_in(Line& line, std::uintptr_t number, std::uint32_t thread, ByteMask bytes, bool writes) {
  const auto now = std::uint32_t(lines_clock());
  if (line.number.load(std::memory_order_relaxed) != number) {
    for (LineUser& user : line.users) user = {};
    line.number.store(number, std::memory_order_relaxed);
  }
  line.used_at.store(now, std::memory_order_relaxed);
  LineUser& own = user_for(line, thread, now);
  own.last = now;
  ++own.count;
  own.bytes |= bytes;
  own.writes |= writes;
  bool is_in_vain = false;
  for (const LineUser& other : line.users) {
    if (&other == &own || !other.is_recent(now)) continue;
    if ((other.bytes & bytes) != 0) return false;
    is_in_vain |= other.count > 1 && own.count > 1 && (writes || other.writes);
  }
  return is_in_vain;
}

}  // namespace

void reserve_lines() {
  if (shared_lines.load(std::memory_order_relaxed) != nullptr)
    return;  // relaxed: only one thread sets it
  void* const memory = allocate_metadata(sizeof(Line) << kLineBits);
  shared_lines.store(static_cast<Line*>(memory),
                     std::memory_order_release);  // (1) publishes to (2)
}

bool note_access(std::uint32_t thread, const arch::MemoryAccess& access) {
  // (2) acquire: sees the zeroed lines published by (1)
  Line* const all = shared_lines.load(std::memory_order_acquire);
  if (all == nullptr) return false;
  const std::uintptr_t number = access.address / kLineSize;
  const auto first = unsigned(access.address % kLineSize);
  const unsigned count = std::min(access.size, unsigned(kLineSize) - first);
  const ByteMask bytes = (count == kLineSize ? ~ByteMask(0) : (ByteMask(1) << count) - 1) << first;
  Line& line = line_for(all, number);
  // (4) acquire: sees what (3) of the thread that was at it before has published
  if (line.is_busy.exchange(1, std::memory_order_acquire) != 0) return false;
  const bool is_in_vain = note_in(line, number, thread, bytes, access.writes);
  line.is_busy.store(0, std::memory_order_release);  // (3)
  return is_in_vain;
}

void set_lines_clock(std::uint64_t (*clock)()) { lines_clock = clock; }

std::uint64_t block_size_at(std::uintptr_t address) {
  constexpr unsigned kMaxUnits = 4096;
  const Span* span = slab_head(find_span(reinterpret_cast<const void*>(address)));
  // In a large block, only the first unit tells.
  for (unsigned i = 0; i < kMaxUnits && span->tag() == span_tag::kInterior; ++i) {
    span = find_span(reinterpret_cast<const void*>(address - i * kUnit));
  }
  const std::uintptr_t tag = span->tag();
  if (tag == span_tag::kLarge) return span->bytes() - span->tail;
  if (tag != span_tag::kSampled && tag < span_tag::kFirstHeap) return 0;
  return span->size_class < kClasses ? span->layout().block_size : 0;
}

}  // namespace corbel::alloc
