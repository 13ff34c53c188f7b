// SPDX-License-Identifier: Apache-2.0
// The memory of the model checker: an execution as the C++20 memory model sees it, built one atomic
// operation at a time, with every outcome that the model allows for the next one.
//
// Each location has a modification order, a list of the events that wrote to it. Each event has a
// vector clock, which says what happens before it. From these follows what an operation may do:
//  - coherence: a read may return any write that is not older than one the thread knows of, that
//    is, than one written or read by an event that happens before; a write goes anywhere behind
//    those, not only to the end;
//  - atomicity: a read-modify-write stands directly behind the write it reads, for ever;
//  - synchronisation: an acquiring read learns the clock of the release that heads the release
//    sequence it reads from;
//  - sequential consistency: the seq_cst operations have one total order that agrees with "strongly
//    happens before" and, on each location, with "coherence-ordered before"; what would close a
//    cycle is not allowed.
// An operation reads only what has been written already. As the explorer tries the threads' steps
// in every order, this rules out one thing alone: load buffering, in which each of two threads
// reads what the other writes later (and with it values out of thin air). Of the fences there are
// only those of below; consume is missing.
//
// Fences. A full fence of a thread (atomic_thread_fence(seq_cst)) learns what all full fences
// before it knew, and tells those after it what its thread knows.
//
// membarrier(2) promises that every running thread of the process passes a full fence somewhere
// between the begin and the end of the call, and the caller one at both ends; a thread that does
// not run has passed one when it was taken off its processor. So the call is a fence of the caller,
// then one in each other thread, one after the other in any order and other steps in between, then
// one of the caller. In the thread that is interrupted the fence stands between two instructions of
// the compiled program, which may have the order of what lies between two compiler barriers
// changed: what the thread has done since the last one need not lie before the fence, and what it
// does before the next one need not lie behind it. This is the pair of fences of D. Goldblatt,
// "Asymmetric Fences" (P1202), but that the interruptions, as full fences, are ordered with one
// another.
//
// Knowledge from fences counts as "happens before", also for plain variables. The standard demands
// an atomic operation read behind the fence for that; processors do not, and compilers cannot tell.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace corbel::model {

inline constexpr int kMaxThreads = 5;  // thread 0 sets the test up and looks at its end

// For each thread, how many of its events are known.
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

// One of the outcomes of an operation.
struct Outcome {
  static constexpr int kNone = -1;
  int source = kNone;  // the event whose value is read
  int place = kNone;   // where in the modification order the new value goes
  std::uint64_t value = 0;
  std::memory_order order = std::memory_order_relaxed;
};

struct Event {
  int thread;
  int index;  // among the thread's events, from 1
  int location;
  Outcome outcome;
  Clock before;   // the thread's clock before the event
  Clock release;  // what who acquires from it learns

  bool reads() const { return outcome.source != Outcome::kNone; }
  bool writes() const { return outcome.place != Outcome::kNone; }
  bool is_seq_cst() const { return outcome.order == std::memory_order_seq_cst; }
  // The same in every execution that differs only in the order of independent steps.
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
  // The events that wrote to a location, in modification order.
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

  // The place of the newest write to the location that the thread knows of; -1 before the first.
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

  // Whether something can be written directly behind the write at `place`.
  bool has_room_behind(int location, int place) const {
    return place == newest(location) || !event(writes(location)[std::size_t(place) + 1]).reads();
  }

  // Whether the total order of the seq_cst operations still exists after this outcome.
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

  // A fence in the middle of what the thread does.
  void interrupt(int thread) {
    const std::size_t t = std::size_t(thread);
    join(pending_[t], fences_);
    join(fences_, told_[t]);
  }

  // What the fences have brought about that no thread has read yet; for the explorer.
  const Clock& fenced() const { return fences_; }
  const Clock& pending(int thread) const { return pending_[std::size_t(thread)]; }

  // Adds the event; its number.
  int perform(int thread, int location, const Outcome& outcome) {
    const int id = int(events_.size());
    Clock& now = clocks_[std::size_t(thread)];
    Event e{thread, now[std::size_t(thread)] + 1, location, outcome, now, {}};
    now[std::size_t(thread)] = e.index;
    if (e.reads() && acquires(outcome.order)) join(now, event(outcome.source).release);
    if (e.writes()) {
      if (e.reads()) e.release = event(outcome.source).release;  // goes on with the sequence
      if (releases(outcome.order)) join(e.release, now);
      auto& order = orders_[std::size_t(location)];
      order.insert(order.begin() + outcome.place, id);
    }
    events_.push_back(e);
    return id;
  }

 private:
  // Where the write stands that the event made or read.
  int place_of(int id) const {
    const Event& e = event(id);
    return place(e.location, e.writes() ? id : e.outcome.source);
  }

  // Whether the one seq_cst event must come before the other in their total order.
  bool must_precede(int first, int second) const {
    const Event& a = event(first);
    const Event& b = event(second);
    if (a.thread == b.thread) return a.index < b.index;
    // "Strongly happens before": something after a happens before something before b.
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
  Clock fences_{};                            // what the last full fence knew
  std::array<Clock, kMaxThreads> told_{};     // what the thread had done at its compiler barrier
  std::array<Clock, kMaxThreads> pending_{};  // what it learns at its next one
};

}  // namespace corbel::model
