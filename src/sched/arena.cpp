// SPDX-License-Identifier: Apache-2.0
#include "sched/arena.hpp"

#include <algorithm>
#include <new>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/pool.hpp"
#include "sched/sleepers.hpp"
#include "sched/trace.hpp"

namespace corbel::sched {

namespace {

// Whether owners fence for themselves, because the system has no process barrier, or join every
// fork on the slow path, because a trace takes notice of it.
bool deques_are_slow() { return pool.always_rings(); }

// How long a task must have lain in a deque before a searching thread takes it: longer than the
// owner needs for a short call, whose task is back in its hands before the thief is there.
constexpr int kPausesBeforeSteal = 24;

}  // namespace

// ---- TaskQueue ----------------------------------------------------------------------------------

namespace {

// A call that somebody delegated may wait for anything, what the thread has below on its stack not
// excepted: it is made where no task and no parallel call is below.
bool may_take(const Thread& t, const Found& f) {
  return may_run(t.region, f.region) && (!f.is_call || t.context == &t.root);
}

}  // namespace

void TaskQueue::push(const Found& task) {
  sync::LockGuard guard(lock_);
  tasks_.push_back(task);
  // relaxed: who looks without the lock has passed a process barrier, or looks again
  length_.store(std::uint32_t(tasks_.size()), std::memory_order_relaxed);
}

Found TaskQueue::pop(const Thread& t, bool enters_regions) {
  if (seems_empty()) return {};
  sync::LockGuard guard(lock_);
  const auto fits = std::find_if(tasks_.begin(), tasks_.end(), [&](const Found& f) {
    return may_take(t, f) && (enters_regions || f.region == t.region);
  });
  if (fits == tasks_.end()) return {};
  const Found found = *fits;
  tasks_.erase(fits);
  length_.store(std::uint32_t(tasks_.size()), std::memory_order_relaxed);  // relaxed: as in push
  return found;
}

bool TaskQueue::remove(const task_base& task) {
  sync::LockGuard guard(lock_);
  const auto it =
      std::find_if(tasks_.begin(), tasks_.end(), [&](const Found& f) { return f.task == &task; });
  if (it == tasks_.end()) return false;
  tasks_.erase(it);
  length_.store(std::uint32_t(tasks_.size()), std::memory_order_relaxed);  // relaxed: as in push
  return true;
}

void TaskQueue::clear() {
  sync::LockGuard guard(lock_);
  tasks_.clear();
  length_.store(0, std::memory_order_relaxed);  // relaxed: as in push
}

bool TaskQueue::has_some_for(const Thread& t) const {
  if (seems_empty()) return false;
  sync::LockGuard guard(lock_);
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const Found& f) { return may_take(t, f); });
}

bool TaskQueue::has_some_in(Region region) const {
  if (seems_empty()) return false;
  sync::LockGuard guard(lock_);
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const Found& f) { return may_run(region, f.region); });
}

// ---- Slot ---------------------------------------------------------------------------------------

RegionDeque::RegionDeque() : tasks(deques_are_slow()) {}

Slot::Slot() : tasks(deques_are_slow()) {}

RegionDeque* Slot::free_region_deque() {
  RegionDeque* r = regions;
  while (r != nullptr && (r->in_use || !r->tasks.seems_empty())) r = r->next;
  if (r != nullptr) return r;
  r = new (std::nothrow) RegionDeque;
  if (r == nullptr) return nullptr;
  r->next = regions;
  regions = r;
  region_count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint, see steal_region
  return r;
}

Slot::~Slot() {
  while (regions != nullptr) {
    RegionDeque* const next = regions->next;
    delete regions;
    regions = next;
  }
}

// ---- places -------------------------------------------------------------------------------------

Arena::Arena(const ArenaPlan& plan)
    : plan_(plan),
      floating_point_(arch::floating_point()),
      // A place for the library's thread that runs what nobody else may (needs_one), however narrow
      // the arena.
      slot_count_(std::max(plan.width, plan.reserved + (plan.reserved >= plan.width ? 1 : 0))),
      slots_(new Slot[slot_count_]),
      processors_(processors_of(plan)) {
  for (unsigned i = 0; i < slot_count_; ++i) slots_[i].index = i;
  // Nobody is to come where nobody has a place.
  if (plan.width > 1) bell_.set();
}

Arena::~Arena() = default;

bool Arena::has_place() const {
  // relaxed: behind a process barrier
  return std::any_of(&slots_[0], &slots_[0] + plan_.width, [](const Slot& s) {
    return s.occupant.load(std::memory_order_relaxed) == nullptr;
  });
}

bool Arena::take_slot(Thread& t, unsigned from, unsigned to) {
  for (unsigned i = from; i < to; ++i) {
    Thread* nobody = nullptr;
    Slot& s = slots_[i];
    // relaxed: a guess
    if (s.occupant.load(std::memory_order_relaxed) != nullptr) continue;
    // (1) acquire: the deque as the last occupant left it, with (2); relaxed: nothing is read
    if (!s.occupant.compare_exchange_strong(nobody, &t, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      continue;
    }
    t.arena = this;
    t.slot = &s;
    t.tasks = &s.tasks;
    t.region = kNoRegion;
    t.bell = pool.always_rings() ? &Pool::kRings : &bell_.word();
    return true;
  }
  return false;
}

bool Arena::enter(Thread& t, As as) {
  if (as == As::kCaller) return take_slot(t, 0, plan_.width);
  if (take_slot(t, plan_.reserved, slot_count_)) return true;
  // The program's threads have taken them. Either one that leaves does so before this barrier and
  // its place is found, or it sees behind it that it has to call somebody.
  turned_away_.store(1, std::memory_order_relaxed);  // relaxed: the barrier orders it
  os::process_barrier();
  return take_slot(t, plan_.reserved, slot_count_);
}

void Arena::leave(Thread& t) {
  Slot& s = *t.slot;
  t.arena = nullptr;
  t.slot = nullptr;
  t.tasks = nullptr;
  s.occupant.store(nullptr, std::memory_order_release);  // (2) release: the deque, with (1)
  if (pool.always_rings()) os::process_barrier();
  detail::notify_waiters(t, this);  // who wants a place
  // relaxed: the barrier in enter() orders it; (3) acq_rel: with (4)
  if (turned_away_.load(std::memory_order_relaxed) != 0 &&
      turned_away_.exchange(0, std::memory_order_acq_rel) != 0) {
    pass_on();
  }
}

void Arena::arrive(Thread& t) {
  t.slot->seen = 0;
  if (observers_.has_newer(0)) observers_.enter(t, t.slot->seen);
}

void Arena::depart(Thread& t) { observers_.leave(t, t.slot->seen); }

void Arena::forget_threads(Thread* survivor) {
  observers_.forget_calls();
  // relaxed: the only thread
  workers.store(0, std::memory_order_relaxed);
  searching.store(0, std::memory_order_relaxed);
  bell_.forget_all();
  wanting = false;
  // The tasks of the others lie on stacks that are used again, and it is the parent that runs what
  // was enqueued. What the survivor has pushed it may still wait for.
  queue_.clear();
  for (unsigned i = 0; i < slot_count_; ++i) {
    Slot& s = slots_[i];
    s.mail.clear();
    if (s.occupant.load(std::memory_order_relaxed) == survivor) continue;
    s.occupant.store(nullptr, std::memory_order_relaxed);
    s.tasks.clear();
    for (RegionDeque* r = s.regions; r != nullptr; r = r->next) {
      r->tasks.clear();
      r->in_use = false;
    }
  }
  if (plan_.width > 1) bell_.set();
}

// ---- tasks --------------------------------------------------------------------------------------

namespace {

// Whether the thread can keep what a task of a region would spawn. If there is no memory for that
// the task stays where it is.
bool can_enter_region(const Thread& t) {
  if (t.region != kNoRegion) return true;  // it takes tasks of its own region only
  sync::LockGuard guard(t.slot->regions_lock);
  return t.slot->free_region_deque() != nullptr;
}

Found take_mail(TaskQueue& mail, const Thread& t) {
  if (const Found f = mail.pop(t, /*enters_regions=*/false)) return f;
  if (t.region != kNoRegion || mail.seems_empty() || !can_enter_region(t)) return {};
  return mail.pop(t);
}

}  // namespace

Found Arena::steal_region(Slot& victim, const Thread& t) {
  // relaxed: a guess; sure behind a process barrier
  if (victim.region_count.load(std::memory_order_relaxed) == 0) return {};
  if (!can_enter_region(t)) return {};
  const Region mine = t.region;
  sync::LockGuard guard(victim.regions_lock);
  for (RegionDeque* r = victim.regions; r != nullptr; r = r->next) {
    if (!may_run(mine, r->region)) continue;
    task_base* task = nullptr;
    task_deque::found found;
    do {
      found = r->tasks.steal(&task);
    } while (found == task_deque::found::kLost);
    if (found == task_deque::found::kTaken) return {task, r->region};
  }
  return {};
}

Found Arena::steal_from(Slot& victim, const Thread& t, bool careful) {
  if (t.region == kNoRegion && !victim.tasks.seems_empty()) {
    const auto before = victim.tasks.taken();
    if (careful) {
      for (int i = 0; i < kPausesBeforeSteal; ++i) arch::pause();
    }
    task_base* task = nullptr;
    if ((!careful || victim.tasks.taken() == before) &&
        victim.tasks.steal(&task) == task_deque::found::kTaken) {
      return {task, kNoRegion};
    }
  }
  return steal_region(victim, t);
}

Found Arena::find(Thread& t, bool careful) {
  if (const Found f = take_mail(t.slot->mail, t)) return f;
  if (const Found f = queue_.pop(t)) return f;
  if (const Found f = steal_region(*t.slot, t)) return f;
  const unsigned start = t.next_random() % slot_count_;
  for (unsigned i = 0; i < slot_count_; ++i) {
    Slot& victim = slots_[(start + i) % slot_count_];
    if (&victim == t.slot) continue;
    if (const Found f = steal_from(victim, t, careful)) {
      if (t.trace != nullptr) trace::note_steal(t, victim.index);
      return f;
    }
  }
  for (unsigned i = 0; i < slot_count_; ++i) {
    if (const Found f = take_mail(slots_[i].mail, t)) return f;
  }
  return {};
}

namespace {

bool has_work_for(const Slot& s, Region mine) {
  if (mine == kNoRegion && !s.tasks.seems_empty()) return true;
  if (s.mail.has_some_in(mine)) return true;
  // relaxed: as in steal_region
  if (s.region_count.load(std::memory_order_relaxed) == 0) return false;
  sync::LockGuard guard(s.regions_lock);
  for (const RegionDeque* r = s.regions; r != nullptr; r = r->next) {
    if (may_run(mine, r->region) && !r->tasks.seems_empty()) return true;
  }
  return false;
}

}  // namespace

bool Arena::has_work_for(const Thread& t) const {
  if (queue_.has_some_for(t)) return true;
  return std::any_of(&slots_[0], &slots_[0] + slot_count_,
                     [&](const Slot& s) { return sched::has_work_for(s, t.region); });
}

bool Arena::has_work() const {
  if (!queue_.seems_empty()) return true;
  return std::any_of(&slots_[0], &slots_[0] + slot_count_,
                     [](const Slot& s) { return sched::has_work_for(s, kNoRegion); });
}

void Arena::enqueue(task_base& task, bool is_call) {
  queue_.push({&task, kNoRegion, is_call});
  if (sleepers.wake_in(*this)) return;
  pool.request(*this);
}

void Arena::mail(const Found& task, unsigned slot) {
  slots_[slot].mail.push(task);
  os::process_barrier();  // instead of the owner's place in a deque: see README.md
  if (bell_.take()) ring();
}

// ---- bell ---------------------------------------------------------------------------------------

unsigned Arena::most_workers() const {
  const unsigned own = plan_.width > plan_.reserved ? plan_.width - plan_.reserved : 0;
  return own == 0 && needs_one() ? 1 : own;
}

void Arena::ring() {
  if (sleepers.wake_in(*this)) return;
  pool.request(*this);
  // The task has been taken meanwhile. Those asleep still want to hear of the next one.
  if (!has_work()) pass_on_to(/*sleepers_only=*/true);
}

void Arena::pass_on() { pass_on_to(workers_here() >= most_workers()); }

void Arena::pass_on_to(bool sleepers_only) {
  bell_.pass_on(sleepers_only, [this] { return has_work(); }, [this] { ring(); });
}

}  // namespace corbel::sched
