// SPDX-License-Identifier: Apache-2.0
// The memory of the model checker: an execution as the C++20 memory model sees it, built one atomic
// operation at a time, with every outcome that the model allows for the next one.
//
// Each location has a modification order, a list of the events that wrote to it. Each event has a
// vector clock, which records what happens before it. They decide what an operation may do:
//  - Coherence: a read may return any write that is not older than one the thread knows of, that
//    is, than one written or read by an event that happens before. A write may go to any position
//    after those, not only to the end.
//  - Atomicity: a read-modify-write stays directly after the write that it reads.
//  - Synchronisation: an acquiring read learns the clock of the release that heads the release
//    sequence it reads from.
//  - Sequential consistency: the seq_cst operations have one total order that agrees with "strongly
//    happens before" and, on each location, with "coherence-ordered before". An outcome that would
//    close a cycle is not allowed.
// An operation reads only what has already been written. Since the explorer tries the threads'
// steps in every order, this excludes only load buffering, in which each of two threads reads what
// the other writes later (and with it values out of thin air). The only fences are those described
// below; memory_order_consume is missing.
//
// Fences. A full fence of a thread (atomic_thread_fence(seq_cst)) learns what all earlier full
// fences knew, and passes what its thread knows on to later ones.
//
// membarrier(2) promises that every running thread of the process passes a full fence somewhere
// between the start and the end of the call, and that the caller passes one at both. A thread that
// is not running passed one when it was taken off its processor. So the call is a fence of the
// caller, then one in each other thread, in any order and with other steps in between, then one of
// the caller. In an interrupted thread the fence lies between two instructions of the compiled
// program, and the compiler may have reordered the operations between two compiler barriers: what
// the thread has done since its last compiler barrier need not precede the fence, and what it does
// before its next one need not follow it. This is the pair of fences of D. Goldblatt, "Asymmetric
// Fences" (P1202), except that here the interruptions, being full fences, are ordered with one
// another.
//
// Knowledge from fences counts as "happens before", also for plain variables. The standard requires
// an atomic operation that is read after the fence for that. Processors do not, and compilers
// cannot tell.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace corbel::model {

inline constexpr int kMaxThreads = 5;  // thread 0 sets the test up and checks the result

// How many events of each thread are known.
using Clock = std::array<int, kMaxThreads>;

inline void join(Clock& clock, const Clock& other) {
  for (int t = 0; t < kMaxThreads; ++t) clock[t] = std::max(clock[t], other[t]);
}

inline bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

inline bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

// One possible outcome of an operation.
struct Outcome {
  static constexpr int kNone = -1;
  int source = kNone;  // the event whose value is read
  int place = kNone;   // the new value's position in the modification order
  std::uint64_t value = 0;
  std::memory_order order = std::memory_order_relaxed;
};

struct Event {
  int thread;
  int index;  // position among the thread's events, from 1
  int location;
  Outcome outcome;
  Clock before;   // the thread's clock before the event
  Clock release;  // what a thread that acquires from it learns

  bool reads() const { return outcome.source != Outcome::kNone; }
  bool writes() const { return outcome.place != Outcome::kNone; }
  bool is_seq_cst() const { return outcome.order == std::memory_order_seq_cst; }
  // The same in all executions that differ only in the order of independent steps.
  std::uint64_t name() const { return std::uint64_t(thread) * 4096 + std::uint64_t(index); }
};

class Memory {
 public:
  void clear() {
    events_.clear();
    orders_.clear();
    clocks_ = {};
    fences_ = {};
    told_ = {};
    pending_ = {};
  }

  int add_location() {
    orders_.emplace_back();
    return int(orders_.size()) - 1;
  }

  const std::vector<Event>& events() const { return events_; }
  const Event& event(int id) const { return events_[std::size_t(id)]; }
  // The events that wrote to the location, in modification order.
  const std::vector<int>& writes(int location) const { return orders_[std::size_t(location)]; }
  std::uint64_t value(int location, int place) const {
    return event(writes(location)[std::size_t(place)]).outcome.value;
  }
  int place(int location, int write) const {
    const auto& order = writes(location);
    return int(std::find(order.begin(), order.end(), write) - order.begin());
  }
  int newest(int location) const { return int(writes(location).size()) - 1; }

  Clock& clock(int thread) { return clocks_[std::size_t(thread)]; }

  // The position of the newest write to the location that the thread knows of; -1 before the first.
  int oldest_visible(int thread, int location) const {
    const Clock& known = clocks_[std::size_t(thread)];
    int place = -1;
    for (int id = 0; id < int(events_.size()); ++id) {
      const Event& e = event(id);
      if (e.location != location || known[std::size_t(e.thread)] < e.index) continue;
      if (e.reads() || e.writes()) place = std::max(place, place_of(id));
    }
    return place;
  }

  // Whether a write may come directly after the one at `place` in the modification order.
  bool has_room_after(int location, int place) const {
    return place == newest(location) || !event(writes(location)[std::size_t(place) + 1]).reads();
  }

  // Whether the seq_cst operations still have a total order after this outcome.
  bool allows(int thread, int location, const Outcome& outcome) {
    if (outcome.order != std::memory_order_seq_cst) return true;
    const Clock kept = clocks_[std::size_t(thread)];
    const int id = perform(thread, location, outcome);
    const bool good = !closes_cycle(id);
    if (outcome.place != Outcome::kNone) {
      auto& order = orders_[std::size_t(location)];
      order.erase(order.begin() + outcome.place);
    }
    events_.pop_back();
    clocks_[std::size_t(thread)] = kept;
    return good;
  }

  // ---- fences

  void compiler_barrier(int thread) {
    const std::size_t t = std::size_t(thread);
    join(clocks_[t], pending_[t]);
    told_[t] = clocks_[t];
  }

  void fence(int thread) {
    const std::size_t t = std::size_t(thread);
    join(pending_[t], fences_);
    compiler_barrier(thread);
    join(fences_, clocks_[t]);
  }

  // A fence between two operations of the thread.
  void interrupt(int thread) {
    const std::size_t t = std::size_t(thread);
    join(pending_[t], fences_);
    join(fences_, told_[t]);
  }

  // What fences have made known and no thread has read yet; for the explorer.
  const Clock& fenced() const { return fences_; }
  const Clock& pending(int thread) const { return pending_[std::size_t(thread)]; }

  // Adds the event and returns its number.
  int perform(int thread, int location, const Outcome& outcome) {
    const int id = int(events_.size());
    Clock& now = clocks_[std::size_t(thread)];
    Event e{thread, now[std::size_t(thread)] + 1, location, outcome, now, {}};
    now[std::size_t(thread)] = e.index;
    if (e.reads() && acquires(outcome.order)) join(now, event(outcome.source).release);
    if (e.writes()) {
      if (e.reads()) e.release = event(outcome.source).release;  // continues the release sequence
      if (releases(outcome.order)) join(e.release, now);
      auto& order = orders_[std::size_t(location)];
      order.insert(order.begin() + outcome.place, id);
    }
    events_.push_back(e);
    return id;
  }

 private:
  // The position of the write that the event made or read.
  int place_of(int id) const {
    const Event& e = event(id);
    return place(e.location, e.writes() ? id : e.outcome.source);
  }

  // Whether the first seq_cst event must precede the second in their total order.
  bool must_precede(int first, int second) const {
    const Event& a = event(first);
    const Event& b = event(second);
    if (a.thread == b.thread) return a.index < b.index;
    // "Strongly happens before": an event after a happens before an event before b.
    if (b.before[std::size_t(a.thread)] > a.index) return true;
    if (a.location != b.location || !(a.reads() || a.writes()) || !(b.reads() || b.writes())) {
      return false;
    }
    const int place_a = place_of(first);
    const int place_b = place_of(second);
    return place_a < place_b || (place_a == place_b && a.writes());
  }

  bool closes_cycle(int start) const {
    std::vector<bool> seen(events_.size());
    std::vector<int> open{start};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      for (int next = 0; next < int(events_.size()); ++next) {
        if (next == id || !event(next).is_seq_cst() || seen[std::size_t(next)]) continue;
        if (!must_precede(id, next)) continue;
        if (next == start) return true;
        seen[std::size_t(next)] = true;
        open.push_back(next);
      }
    }
    return false;
  }

  std::vector<Event> events_;
  std::vector<std::vector<int>> orders_;
  std::array<Clock, kMaxThreads> clocks_{};
  Clock fences_{};                         // what the last full fence knew
  std::array<Clock, kMaxThreads> told_{};  // what the thread had done at its last compiler barrier
  std::array<Clock, kMaxThreads> pending_{};  // what the thread learns at its next one
};

}  // namespace corbel::model
