// SPDX-License-Identifier: Apache-2.0
// What one traced thread has recorded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace corbel::sched::trace {

enum class Kind : std::uint8_t { kTask, kWait, kIdle, kSteal };

// The length of the critical path up to where the code on one stack of a thread is. Runs while that
// code runs; see critical_path_length().
struct PathClock {
  std::uint64_t length = 0;      // up to `since`
  std::uint64_t since = 0;       // 0: stopped
  std::uint64_t call_begin = 0;  // of the outermost parallel call

  // The forks that are not joined yet, with the length at each.
  struct Fork {
    std::uint64_t length = 0;
    bool outermost = false;
  };
  std::vector<Fork> forks;
  std::size_t forks_lost = 0;  // nested in `forks`, but not recorded: there was no memory

  bool begin_fork() noexcept;  // false: it is lost
};

struct TraceBuffer : PathClock {
  struct Event {
    std::uint64_t begin;  // ns
    std::uint64_t end;
    Kind kind;
    std::uint32_t victim;  // of a steal
  };

  void write(const Event& event);

  // Sums, in ns and events. Other threads read them at exit.
  std::atomic<std::uint64_t> work{0};
  std::atomic<std::uint64_t> span{0};   // of the outermost calls
  std::atomic<std::uint64_t> calls{0};  // elapsed time of the outermost calls
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> steals{0};
  std::atomic<std::uint64_t> dropped{0};

  // Only the thread appends; other threads may read the first `written`. Never moved.
  static constexpr std::size_t kMaxEvents = 1 << 18;
  std::unique_ptr<Event[]> events;
  std::atomic<std::size_t> written{0};

  unsigned number = 0;
  bool is_worker = false;
  TraceBuffer* next = nullptr;
};

// relaxed, both: only the thread itself adds, and the reader at exit takes what there is
inline void add(std::atomic<std::uint64_t>& sum, std::uint64_t n) {
  sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace corbel::sched::trace
