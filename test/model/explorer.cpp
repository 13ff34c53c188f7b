// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include <cstdio>

#include "base/address_sanitizer.hpp"

namespace corbel::model {

Result Explorer::explore(int threads, const std::function<std::unique_ptr<Test>()>& make,
                         Mutation mutation) {
  mutation_ = std::move(mutation);
  path_.clear();
  seen_.clear();
  result_ = {};
  threads_ = std::vector<Thread>(std::size_t(threads) + 1);
  for (Thread& thread : threads_) thread.stack.resize(kStackSize);
  do {
    run_once(make);
    ++result_.runs;
    if (ended_ == Ended::kWhole) ++result_.executions;
    if (result_.runs == kMaxRuns && result_.failure.empty()) {
      result_.failure = "gave up: the test is too large";
    }
  } while (result_.failure.empty() && next_path());
  result_.states = long(seen_.size());
  end_test();
  return result_;
}

// Destroys the test. Its destructors find one outcome of each step, also after a run that was
// abandoned.
void Explorer::end_test() {
  for (std::size_t t = 1; t < threads_.size(); ++t) join(memory_.clock(0), memory_.clock(int(t)));
  test_.reset();
}

void Explorer::run_once(const std::function<std::unique_ptr<Test>()>& make) {
  end_test();
  memory_.clear();
  ops_.clear();
  futexes_.clear();
  depth_ = 0;
  spurious_ = 0;
  current_ = 0;
  ended_ = Ended::kNo;
  test_ = make();
  // The start and the end of the threads are events: what happened before one is known after it.
  Clock& main_clock = memory_.clock(0);
  ++main_clock[0];
  first_step_ = memory_.events().size();
  for (std::size_t t = 1; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    thread.done = false;
    thread.wants_mutex = thread.sleeps_on = -1;
    thread.has_slept = false;
    thread.history = 0;
    memory_.clock(int(t)) = main_clock;
    memory_.compiler_barrier(int(t));
    // The last run was abandoned without unwinding.
    asan_clear_stack(thread.stack.data(), kStackSize);
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = kStackSize;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Explorer::enter, 0);
  }
  schedule();
  if (ended_ != Ended::kWhole) return;
  for (int t = 1; t < int(threads_.size()); ++t) {
    ++memory_.clock(t)[std::size_t(t)];
    join(main_clock, memory_.clock(t));
  }
  test_->finish();
}

void Explorer::enter() {
  Explorer& self = get();
  self.test_->run(self.current_ - 1);
  self.memory_.compiler_barrier(self.current_);
  self.threads_[std::size_t(self.current_)].done = true;
  self.schedule();
}

// Returns to the main thread. The other threads stay as they are; the next run starts them anew.
void Explorer::leave(Ended how) {
  ended_ = how;
  const int from = current_;
  current_ = 0;
  if (from != 0) swapcontext(&threads_[std::size_t(from)].context, &threads_[0].context);
}

// Continues any thread that can run, preferably this one: a switch costs more than a step.
void Explorer::schedule() {
  // Not a vector: an abandoned run does not return here to free it.
  std::array<int, kMaxThreads> able;
  std::size_t number = 0;
  bool all_done = true;
  const int count = int(threads_.size());
  for (int i = 0; i < count; ++i) {
    const int t = (current_ + i) % count;
    if (t == 0) continue;
    const Thread& thread = threads_[std::size_t(t)];
    if (thread.done) continue;
    all_done = false;
    if (thread.sleeps_on >= 0) continue;
    const int mutex = thread.wants_mutex;
    if (mutex >= 0 && memory_.value(mutex, memory_.newest(mutex)) != 0) continue;
    able[number++] = t;
  }
  if (all_done) return leave(Ended::kWhole);
  if (number == 0) return fail("deadlock: all threads that have not ended are asleep");
  const int from = current_;
  current_ = able[std::size_t(choose(number))];
  if (current_ == from) return;
  swapcontext(&threads_[std::size_t(from)].context, &threads_[std::size_t(current_)].context);
}

int Explorer::choose(std::size_t count) {
  if (count == 1) return 0;
  if (depth_ == path_.size()) path_.push_back({0, int(count)});
  if (path_[depth_].count != int(count)) {
    fail("the test is not deterministic");
    return 0;
  }
  return path_[depth_++].taken;
}

bool Explorer::next_path() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

Explorer::Done Explorer::perform(Step step) {
  if (mutation_ && current_ != 0) mutation_(step);
  if (step.op == Op::kNothing) return {};
  if (step.op >= Op::kCompilerBarrier) return perform_fence(step.op);
  // A system call, across which the compiler moves nothing.
  const bool calls = step.op == Op::kWait || step.op == Op::kWake;
  if (current_ != 0) {
    Thread& self = threads_[std::size_t(current_)];
    self.wants_mutex = step.op == Op::kLock ? step.location : -1;
    schedule();
    self.wants_mutex = -1;
  }
  const int me = current_;
  if (calls) memory_.compiler_barrier(me);
  const Outcome outcome = choose_outcome(step);
  const int id = memory_.perform(me, step.location, outcome);
  ops_.push_back(step.op);
  const Event event = memory_.event(id);
  const std::uint64_t read = event.reads() ? memory_.event(outcome.source).outcome.value : 0;
  if (step.op == Op::kCompareExchange && !event.writes() && read == step.expected) ++spurious_;
  if (step.op == Op::kWait || step.op == Op::kWake) note_call(event);
  const int woken = step.op == Op::kWake ? wake(step.location, step.operand == kAll) : 0;
  if (me == 0) return {read, event.writes()};

  Thread& self = threads_[std::size_t(me)];
  self.history = mix(self.history, event.reads() ? memory_.event(outcome.source).name() : 1);
  self.history = mix(self.history, std::uint64_t(event.writes()) + 2 * std::uint64_t(woken));
  if (step.op == Op::kWait && read == step.expected) {
    self.sleeps_on = step.location;
    self.has_slept = true;
  }
  note_state();
  if (self.sleeps_on >= 0) schedule();
  if (calls) memory_.compiler_barrier(me);
  return {read, event.writes()};
}

Explorer::Done Explorer::perform_fence(Op op) {
  const int me = current_;
  if (me == 0) return {};
  std::array<int, kMaxThreads> others;
  std::size_t number = 0;
  bool first = true;
  do {
    schedule();
    if (op == Op::kCompilerBarrier) {
      memory_.compiler_barrier(me);
    } else if (first) {
      memory_.fence(me);
    }
    if (op == Op::kProcessBarrier) {
      if (first) {
        for (int t = 1; t < int(threads_.size()); ++t) {
          if (t != me) others[number++] = t;
        }
      }
      if (number != 0) {
        const std::size_t next = choose(number);
        memory_.interrupt(others[next]);
        others[next] = others[--number];
      }
      if (number == 0) memory_.fence(me);
    }
    first = false;
    memory_.perform(me, -1, Outcome{});
    ops_.push_back(op);
    Thread& self = threads_[std::size_t(me)];
    self.history = mix(self.history, memory_.clock(me));
    note_state();
  } while (number != 0);
  return {};
}

// Records what the kernel knows of a futex.
void Explorer::note_call(const Event& event) {
  Futex& futex = futexes_[std::size_t(event.location)];
  futex.calls.push_back(event.name());
  int place = memory_.oldest_visible(event.thread, event.location);
  // May be newer than needed: waking reads nothing.
  if (futex.floor >= 0) place = std::max(place, memory_.place(event.location, futex.floor));
  futex.floor = memory_.writes(event.location)[std::size_t(place)];
}

Outcome Explorer::choose_outcome(const Step& step) {
  const std::vector<Outcome> found = outcomes(step);
  return found[std::size_t(choose(found.size()))];
}

// Every outcome of the step that the memory model allows. The sequentially consistent one is first.
std::vector<Outcome> Explorer::outcomes(const Step& step) {
  const int location = step.location;
  const int newest = memory_.newest(location);
  int oldest = memory_.oldest_visible(current_, location);
  if (step.op == Op::kWait && futexes_[std::size_t(location)].floor >= 0) {
    // The kernel orders the calls on one word: a later caller sees what the earlier caller saw.
    oldest = std::max(oldest, memory_.place(location, futexes_[std::size_t(location)].floor));
  }
  if (step.op == Op::kLock || step.op == Op::kUnlock) oldest = newest;
  if (step.op == Op::kWake) return {Outcome{}};
  if (oldest < 0) fail("data race: use of an object that is not known to be constructed");
  std::vector<Outcome> found;
  for (int place = newest; place >= oldest; --place) {
    const int source = memory_.writes(location)[std::size_t(place)];
    const std::uint64_t value = memory_.value(location, place);
    const bool room = memory_.has_room_after(location, place);
    const int behind = place + 1;
    switch (step.op) {
      case Op::kLoad:
      case Op::kWait:
        found.push_back({.source = source, .order = step.order});
        break;
      case Op::kStore:
        if (room) found.push_back({.place = behind, .value = step.operand, .order = step.order});
        break;
      case Op::kCompareExchange:
        if (value != step.expected || (step.weak && spurious_ < kMaxSpurious)) {
          found.push_back({.source = source, .order = step.failure_order});
        }
        if (value != step.expected) break;
        [[fallthrough]];
      default:
        if (!room) break;
        found.push_back({.source = source,
                         .place = behind,
                         .value = step.update(value, step.operand),
                         .order = step.order});
    }
  }
  std::erase_if(
      found, [&](const Outcome& outcome) { return !memory_.allows(current_, location, outcome); });
  return found;
}

// Returns which thread sleeps on the location and has to be woken, or 0 for none. With `all`: a bit
// for each sleeper.
int Explorer::wake(int location, bool all) {
  std::vector<int> sleepers;
  for (int t = 1; t < int(threads_.size()); ++t) {
    if (threads_[std::size_t(t)].sleeps_on == location) sleepers.push_back(t);
  }
  if (sleepers.empty()) return 0;
  if (all) {
    int bits = 0;
    for (int t : sleepers) {
      threads_[std::size_t(t)].sleeps_on = -1;
      bits |= 1 << t;
    }
    return bits;
  }
  const int woken = sleepers[std::size_t(choose(sleepers.size()))];
  threads_[std::size_t(woken)].sleeps_on = -1;
  return woken;
}

// Ends the run if this execution was met before: what can follow it is known.
void Explorer::note_state() {
  if (memory_.events().size() > first_step_ + kMaxSteps)
    return fail("no end: a thread runs forever");
  if (depth_ < path_.size()) return;  // the run still repeats the one before
  std::uint64_t hash = 0;
  for (const Thread& thread : threads_) hash = mix(hash, thread.history);
  hash = mix(hash, memory_.fenced());
  for (int t = 1; t < int(threads_.size()); ++t) hash = mix(hash, memory_.pending(t));
  for (int location = 0; location < int(futexes_.size()); ++location) {
    hash = mix(hash, std::uint64_t(location));
    for (int id : memory_.writes(location)) hash = mix(hash, memory_.event(id).name());
    for (std::uint64_t call : futexes_[std::size_t(location)].calls) hash = mix(hash, ~call);
  }
  if (!seen_.insert(hash).second) leave(Ended::kSeenBefore);
}

void Explorer::fail(const std::string& what) {
  if (result_.failure.empty()) {
    result_.failure = what;
    for (std::size_t i = 0; i < memory_.events().size(); ++i) {
      result_.trace += describe(memory_.event(int(i)), ops_[i]);
    }
  }
  leave(Ended::kFailed);
}

std::string Explorer::describe(const Event& event, Op op) const {
  static const char* const kOps[] = {
      "load", "store", "exchange",         "fetch", "compare_exchange", "lock", "unlock",
      "wait", "wake",  "compiler barrier", "fence", "process barrier"};
  static const char* const kOrders[] = {"relaxed", "consume", "acquire",
                                        "release", "acq_rel", "seq_cst"};
  char text[160];
  if (event.location < 0) {
    std::snprintf(text, sizeof text, "  thread %d: %s\n", event.thread - 1, kOps[int(op)]);
    return text;
  }
  int length = std::snprintf(text, sizeof text, "  thread %d: location %d %s %s", event.thread - 1,
                             event.location, kOps[int(op)], kOrders[int(event.outcome.order)]);
  const auto add = [&](const char* format, std::uint64_t value) {
    length += std::snprintf(text + length, sizeof text - std::size_t(length), format,
                            (unsigned long)value);
  };
  if (event.reads()) {
    const Event& source = memory_.event(event.outcome.source);
    add(", reads 0x%lx", source.outcome.value);
    add(" of thread %ld", std::uint64_t(source.thread) - 1);
  }
  if (event.writes()) add(", writes 0x%lx", event.outcome.value);
  return std::string(text) + "\n";
}

}  // namespace corbel::model
