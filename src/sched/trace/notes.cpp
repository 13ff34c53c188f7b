// SPDX-License-Identifier: Apache-2.0
#include "sched/trace/notes.hpp"

#include <corbel/detail/backoff.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <unordered_map>

#include "os/os.hpp"
#include "sched/core/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::sched::trace {
namespace {

// A map with a lock for each part of it.
template <typename Value>
class Notes {
 public:
  // Calls change(value), for a new value if there is none. If there is no memory for that, the note
  // is lost.
  template <typename F>
  void change(const void* address, const F& change) noexcept {
    Part& p = part(address);
    sync::LockGuard guard(p.lock);
    try {
      change(p.notes[address]);
    } catch (const std::bad_alloc&) {
      p.lost = true;
    }
  }

  bool take(const void* address, Value* value) noexcept {
    Part& p = part(address);
    sync::LockGuard guard(p.lock);
    const auto found = p.notes.find(address);
    if (found == p.notes.end()) return false;
    *value = found->second;
    p.notes.erase(found);
    return true;
  }

  // Whether there is a note, or was none to be had.
  bool is_settled(const void* address) noexcept {
    Part& p = part(address);
    sync::LockGuard guard(p.lock);
    return p.lost || p.notes.count(address) != 0;
  }

 private:
  struct alignas(64) Part {
    sync::Lock lock{kTrace};
    std::unordered_map<const void*, Value> notes;
    bool lost = false;
  };

  Part& part(const void* address) {
    // Objects are some cache lines long, and frames lie at any distance from each other.
    const auto number = reinterpret_cast<std::uintptr_t>(address) >> 4;
    return parts_[(number ^ (number >> 6)) % kParts];
  }

  static constexpr std::size_t kParts = 64;
  Part parts_[kParts];
};

Notes<PushNote>* pushes = nullptr;
Notes<std::uint64_t>* ends = nullptr;
constinit std::atomic<bool> have_ended{false};

}  // namespace

bool make_notes() {
  pushes = new (std::nothrow) Notes<PushNote>;
  ends = new (std::nothrow) Notes<std::uint64_t>;
  return pushes != nullptr && ends != nullptr;
}

void note_push(const detail::task_base& task, const PushNote& note) noexcept {
  pushes->change(&task, [&](PushNote& n) { n = note; });
}

void await_push(const detail::task_base& task) noexcept {
  // relaxed: a flag alone. It comes first: a thread that the fork has not copied may hold the lock.
  detail::spin_until([&] {
    return have_ended.load(std::memory_order_relaxed) || os::other_threads_are_gone() ||
           pushes->is_settled(&task);
  });
}

void end_notes() { have_ended.store(true, std::memory_order_relaxed); }  // relaxed: a flag alone

bool take_push(const detail::task_base& task, PushNote* note) noexcept {
  return pushes->take(&task, note);
}

void note_end(const void* key, std::uint64_t length) noexcept {
  ends->change(key, [&](std::uint64_t& longest) { longest = std::max(longest, length); });
}

std::uint64_t take_end(const void* key) noexcept {
  std::uint64_t length = 0;
  ends->take(key, &length);
  return length;
}

}  // namespace corbel::sched::trace
