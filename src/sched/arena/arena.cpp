// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/arena.hpp"

#include <algorithm>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/core/signal_mode.hpp"
#include "sched/trace/trace.hpp"

namespace corbel::sched {

namespace {

// How long a task must have been in a deque before a careful thief takes it: longer than the owner
// needs for a short call, whose task it has popped again before the thief arrives.
constexpr int kPausesBeforeSteal = 24;

}  // namespace

// ---- slots --------------------------------------------------------------------------------------

Arena::Arena(const ArenaPlan& plan)
    : plan_(plan),
      floating_point_(arch::floating_point()),
      // A thread that works in an arena of its own and waits for an enqueued task by other means
      // never leaves its slot. If that is the only one, the task needs another.
      slot_count_(plan.width + (plan.width == 1 && plan.reserved != 0 ? 1 : 0)),
      slots_(new Slot[slot_count_]),
      processors_(processors_of(plan)) {
  for (unsigned i = 0; i < slot_count_; ++i) slots_[i].index = i;
  // In an arena of one thread no other thread can come.
  if (plan.width > 1) wake_flag_.set();
}

Arena::~Arena() = default;

bool Arena::has_free_slot() const {
  // relaxed: exact only after a process barrier, as declared
  return std::any_of(&slots_[0], &slots_[0] + plan_.width, [](const Slot& s) {
    return s.occupant.load(std::memory_order_relaxed) == nullptr;
  });
}

bool Arena::take_slot(Thread& t, unsigned from, unsigned to) {
  for (unsigned i = from; i < to; ++i) {
    Thread* expected = nullptr;
    Slot& s = slots_[i];
    // relaxed: a hint
    if (s.occupant.load(std::memory_order_relaxed) != nullptr) continue;
    // (1) acquire: sees the deque as the last occupant left it before (2). relaxed on failure:
    // nothing is read
    if (!s.occupant.compare_exchange_strong(expected, &t, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      continue;
    }
    use_slot(t, s);
    return true;
  }
  return false;
}

void Arena::use_slot(Thread& t, Slot& s) {
  t.arena = this;
  t.slot = &s;
  t.tasks = &s.tasks;
  t.isolation = kNoIsolation;
  t.arena_floating_point = floating_point_;
  t.wake_flag = &signalled_by_push();
}

const std::atomic<std::uint32_t>& Arena::signalled_by_push() const {
  return always_signals() ? always_set : wake_flag_.word();
}

bool Arena::enter(Thread& t, As as) {
  if (as == As::kCaller) return take_slot(t, 0, plan_.width);
  // In an arena without slots for workers, the one that must come takes a reserved slot.
  const unsigned from = plan_.reserved < slot_count_ ? plan_.reserved : 0;
  if (take_slot(t, from, slot_count_)) return true;
  // External threads have taken the slots. Either a thread leaves before this barrier, and its slot
  // is found; or it leaves after the barrier, and sees that it must wake a worker.
  worker_found_no_slot_.store(1, std::memory_order_relaxed);  // relaxed: the barrier orders it
  os::process_barrier();
  return take_slot(t, from, slot_count_);
}

void Arena::leave(Thread& t) {
  Slot& s = *t.slot;
  t.arena = nullptr;
  t.slot = nullptr;
  t.tasks = nullptr;
  s.occupant.store(nullptr, std::memory_order_release);  // (2) release: publishes the deque to (1)
  if (always_signals()) os::process_barrier();
  detail::notify_waiters(t, this);  // threads that wait for a slot
  // relaxed: the barrier in enter() orders it. (3) acq_rel: either it is before (4) or after; see
  // there
  if (worker_found_no_slot_.load(std::memory_order_relaxed) != 0 &&
      worker_found_no_slot_.exchange(0, std::memory_order_acq_rel) != 0) {
    chain_wake_up();
  }
}

void Arena::observe_entry(Thread& t) {
  t.slot->seen = 0;
  if (observers_.has_newer(0)) observers_.enter(t, t.slot->seen);
}

void Arena::observe_exit(Thread& t) { observers_.leave(t, t.slot->seen); }

void Arena::forget_threads(Thread* survivor) {
  observers_.forget_calls();
  // relaxed, all: the only thread
  workers.store(0, std::memory_order_relaxed);
  searching.store(0, std::memory_order_relaxed);
  wake_flag_.forget_all();
  requested_workers.store(0, std::memory_order_relaxed);
  // The other threads' tasks are on stacks that will be reused, and the parent runs what was
  // enqueued. The survivor may still wait for what it has pushed.
  queue_.clear();
  for (unsigned i = 0; i < slot_count_; ++i) {
    Slot& s = slots_[i];
    s.mail.clear();
    if (s.occupant.load(std::memory_order_relaxed) == survivor) continue;
    s.occupant.store(nullptr, std::memory_order_relaxed);
    s.tasks.clear();
    for (IsolationDeque* d = s.isolation_deques; d != nullptr; d = d->next) {
      d->tasks.clear();
      d->in_use = false;
    }
  }
  if (plan_.width > 1) wake_flag_.set();
}

// ---- tasks --------------------------------------------------------------------------------------

namespace {

// Whether the thread can take a task of another isolation scope: it needs a deque for what that
// task spawns. If there is no memory for one, the task stays where it is.
bool can_enter_isolation(const Thread& t) {
  if (t.isolation != kNoIsolation) return true;  // it takes tasks of its own scope only
  sync::LockGuard guard(t.slot->isolation_lock);
  return t.slot->free_isolation_deque() != nullptr;
}

FoundTask take_mail(TaskQueue& mail, const Thread& t) {
  if (const FoundTask f = mail.pop(t, /*enters_isolation=*/false)) return f;
  if (t.isolation != kNoIsolation || mail.seems_empty() || !can_enter_isolation(t)) return {};
  return mail.pop(t);
}

}  // namespace

FoundTask Arena::steal_isolated(Slot& victim, const Thread& t) {
  // relaxed: a hint; exact only after a process barrier
  if (victim.isolation_deque_count.load(std::memory_order_relaxed) == 0) return {};
  if (!can_enter_isolation(t)) return {};
  const IsolationScope mine = t.isolation;
  sync::LockGuard guard(victim.isolation_lock);
  for (IsolationDeque* d = victim.isolation_deques; d != nullptr; d = d->next) {
    if (!may_run(mine, d->isolation)) continue;
    task_base* task = nullptr;
    task_deque::steal_result found;
    do {
      found = d->tasks.steal(&task);
    } while (found == task_deque::steal_result::kLost);
    if (found == task_deque::steal_result::kTaken) return {task, d->isolation};
  }
  return {};
}

FoundTask Arena::steal_from(Slot& victim, const Thread& t, Search search) {
  if (t.isolation == kNoIsolation && !victim.tasks.seems_empty()) {
    const auto before = victim.tasks.taken();
    const bool careful = search != Search::kQuick;
    if (careful) {
      for (int i = 0; i < kPausesBeforeSteal; ++i) arch::pause();
    }
    task_base* task = nullptr;
    if ((!careful || victim.tasks.taken() == before) &&
        victim.tasks.steal(&task, search == Search::kInterrupting) ==
            task_deque::steal_result::kTaken) {
      return {task, kNoIsolation};
    }
  }
  return steal_isolated(victim, t);
}

FoundTask Arena::find(Thread& t, Search search) {
  if (const FoundTask f = take_mail(t.slot->mail, t)) return f;
  if (const FoundTask f = queue_.pop(t)) return f;
  if (const FoundTask f = steal_isolated(*t.slot, t)) return f;
  const unsigned start = t.next_random() % slot_count_;
  for (unsigned i = 0; i < slot_count_; ++i) {
    Slot& victim = slots_[(start + i) % slot_count_];
    if (&victim == t.slot) continue;
    if (const FoundTask f = steal_from(victim, t, search)) {
      t.count_theft();
      if (t.trace != nullptr) trace::note_steal(*f.task);
      return f;
    }
  }
  for (unsigned i = 0; i < slot_count_; ++i) {
    if (const FoundTask f = take_mail(slots_[i].mail, t)) return f;
  }
  return {};
}

namespace {

bool has_work_for(const Slot& s, IsolationScope mine) {
  if (mine == kNoIsolation && !s.tasks.seems_empty()) return true;
  if (s.mail.has_some_in(mine)) return true;
  // relaxed: as in steal_isolated
  if (s.isolation_deque_count.load(std::memory_order_relaxed) == 0) return false;
  sync::LockGuard guard(s.isolation_lock);
  for (const IsolationDeque* d = s.isolation_deques; d != nullptr; d = d->next) {
    if (may_run(mine, d->isolation) && !d->tasks.seems_empty()) return true;
  }
  return false;
}

}  // namespace

bool Arena::has_work_for(const Thread& t) const {
  if (queue_.has_some_for(t)) return true;
  return std::any_of(&slots_[0], &slots_[0] + slot_count_,
                     [&](const Slot& s) { return sched::has_work_for(s, t.isolation); });
}

bool Arena::has_work() const {
  if (!queue_.seems_empty()) return true;
  return std::any_of(&slots_[0], &slots_[0] + slot_count_,
                     [](const Slot& s) { return sched::has_work_for(s, kNoIsolation); });
}

void Arena::enqueue(task_base& task, const CallLink* call) {
  trace::note_queued(task, /*is_awaited=*/call != nullptr);
  queue_.push({&task, kNoIsolation, call});
  if (unpark_one()) return;
  request_worker(*this);
}

void Arena::mail(const FoundTask& task, unsigned slot) {
  trace::note_queued(*task.task, /*is_awaited=*/true);
  slots_[slot].mail.push(task);
  os::process_barrier();  // orders the push before take(): see README.md
  if (wake_flag_.take()) signal_work();
}

// ---- waking -------------------------------------------------------------------------------------

unsigned Arena::max_workers() const {
  const unsigned slots = plan_.width > plan_.reserved ? plan_.width - plan_.reserved : 0;
  return slots == 0 && must_have_worker() ? 1 : slots;
}

// Wakes one parked thread of this arena for which there is work. False if there is none.
bool Arena::unpark_one() {
  return parked_threads.unpark_first(
      [this](const Thread& t) { return t.arena == this && has_work_for(t); });
}

void Arena::signal_work() {
  if (unpark_one()) return;
  request_worker(*this);
  // If the task has been taken meanwhile, the parked threads still want to hear of the next one. If
  // that is there by now, its push may have missed the flag.
  if (has_work()) {
    unpark_one();
  } else {
    chain_wake_up_to(/*parked_only=*/true);
  }
}

void Arena::chain_wake_up() { chain_wake_up_to(worker_count() >= max_workers()); }

void Arena::wake_on_next_push(Thread& t) const {
  // relaxed: a hint
  t.brings_another =
      worker_count() + requested_workers.load(std::memory_order_relaxed) < max_workers();
  if (t.brings_another) t.wake_flag = &always_set;
}

void Arena::signal_push(Thread& t) {
  const bool brings_another = t.brings_another;
  t.brings_another = false;
  t.wake_flag = &signalled_by_push();
  if (wake_flag_.take() || brings_another) signal_work();
}

void Arena::chain_wake_up_to(bool parked_only) {
  wake_flag_.chain_wake_up(parked_only, [this] { return has_work(); }, [this] { signal_work(); });
}

}  // namespace corbel::sched
