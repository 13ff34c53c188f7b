// SPDX-License-Identifier: Apache-2.0
// What one traced thread has recorded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <corbel/detail/trace.hpp>

namespace corbel::sched::trace {

enum class Kind : std::uint8_t { kTask, kWait, kIdle, kSteal, kCall };

// The length of the critical path up to where the code on one stack of a thread is. Runs while that
// code runs; see critical_path_length().
struct PathClock {
  std::uint64_t length = 0;               // up to `since`
  std::uint64_t since = 0;                // ns; 0: stopped
  std::uint64_t call_begin = 0;           // ns; of the outermost parallel call; 0: there is none
  detail::chunk_frame* chunks = nullptr;  // the innermost ones of the running task
  unsigned open = 0;                      // calls, forks and waits that have not ended
  unsigned tasks = 0;                     // that are running, nested in each other
};

struct TraceBuffer : PathClock {
  struct Event {
    std::uint64_t begin;  // ns
    std::uint64_t end;
    Kind kind;
    // Of a steal, which lasts from the push to the beginning of the task: the number of the thread
    // that pushed the task.
    std::uint32_t from = 0;
    const void* function = nullptr;  // of a task: what runs it
  };

  void write(const Event& event);
  // Empties it for another thread.
  void reset();

  // Sums, in ns and events. Other threads read them at exit.
  std::atomic<std::uint64_t> work{0};
  std::atomic<std::uint64_t> taken_up{0};
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
