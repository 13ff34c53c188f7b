// SPDX-License-Identifier: Apache-2.0
#include "sched/pool.hpp"

#include <algorithm>
#include <new>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/attach.hpp"
#include "sched/dispatch.hpp"
#include "sched/fibers.hpp"
#include "sched/sleepers.hpp"
#include "sched/spin.hpp"
#include "sched/trace.hpp"

namespace corbel::sched {

constinit Pool pool;

namespace {

void* run_own_thread(void* thread) {
  os::name_thread("corbel");
  pool.run(*static_cast<Thread*>(thread));
  return nullptr;
}

}  // namespace

// ---- arenas -------------------------------------------------------------------------------------

Arena& Pool::make_arena(const ArenaPlan& plan) {
  Arena& arena = *new Arena(plan);
  sync::LockGuard guard(lock_);
  arena.next = arenas_;
  if (arenas_ != nullptr) arenas_->previous = &arena;
  arenas_ = &arena;
  if (plan.priority != 0) has_priorities_ = true;
  return arena;
}

void Pool::add_reference(Arena& arena) {
  // relaxed: whoever adds one has something that keeps the arena
  arena.references.fetch_add(1, std::memory_order_relaxed);
}

void Pool::release(Arena& arena) {
  std::uint32_t references =
      arena.references.load(std::memory_order_relaxed);  // relaxed: see below
  while (references > 1) {
    // release: what was done with the reference, with the last one's acquire; relaxed: compared
    if (arena.references.compare_exchange_weak(
            references, references - 1, std::memory_order_release, std::memory_order_relaxed)) {
      return;
    }
  }
  bool last = false;
  {
    const Change change(*this);
    // acq_rel: what was done with the others is over
    const bool is_left = arena.references.fetch_sub(1, std::memory_order_acq_rel) == 1;
    last = is_left && unlink_if_done(arena);
    if (!last && is_left && arena.workers_here() == 0) want(arena);
  }
  if (last) {
    delete &arena;
  } else {
    supply();
  }
}

bool Pool::unlink_if_done(Arena& arena) {
  // relaxed: under the lock
  if (arena.references.load(std::memory_order_relaxed) != 0) return false;
  if (arena.workers_here() != 0 || arena.has_work()) return false;
  (arena.previous != nullptr ? arena.previous->next : arenas_) = arena.next;
  if (arena.next != nullptr) arena.next->previous = arena.previous;
  // relaxed: a hint; who follows it takes the lock
  if (arena.wanting) wanting_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void Pool::want(Arena& arena) {
  if (arena.wanting) return;
  arena.wanting = true;
  wanting_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint, as everywhere
}

void Pool::note_urgent() {
  if (!has_priorities_) return;
  const Arena* const a = find_wanting(/*in_place_of=*/1);
  urgent_.store(a != nullptr ? a->plan().priority : kNone, std::memory_order_relaxed);  // a hint
}

bool Pool::may_have_more(const Arena& arena, unsigned in_place_of) const {
  if (arena.workers_here() >= arena.most_workers()) return false;
  // relaxed: under the lock, or a guess
  const unsigned most = most_active_.load(std::memory_order_relaxed);
  return active() - in_place_of < std::max(most, arena.needs_one() ? 1U : 0U);
}

void Pool::request(Arena& arena) {
  {
    const Change change(*this);
    if (arena.workers_here() >= arena.most_workers()) return;
    want(arena);
  }
  supply();
}

void Pool::supply() {
  bool start = false;
  {
    sync::LockGuard guard(lock_);
    if (find_wanting() == nullptr) return;  // or there are as many threads as may be
    start = threads_ == active();
    if (start) {
      ++threads_;
      live_.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
    }
  }
  if (!start) {
    sleepers.wake_idle();  // one that has not fallen asleep yet looks for arenas before it does
    return;
  }
  if (start_thread()) return;
  // The program's own threads do it all.
  sync::LockGuard guard(lock_);
  --threads_;
  live_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
  os::wake_one(live_);                            // finalize() may have seen it
}

// ---- width --------------------------------------------------------------------------------------

void Pool::set_limit(unsigned threads) {
  bool more = false;
  {
    const Change change(*this);
    more = threads > limit();
    limit_.store(threads, std::memory_order_relaxed);  // relaxed: read under the lock, or as a hint
    most_active_.store(threads - 1, std::memory_order_relaxed);
  }
  if (more) supply();
}

bool Pool::should_leave(const Arena& arena) const {
  // relaxed: hints; join() looks again under the lock
  return ending_.load(std::memory_order_relaxed) != 0 ||
         wanting_.load(std::memory_order_relaxed) != 0 || too_many(arena);
}

bool Pool::too_many(const Arena& arena) const {
  // relaxed: hints, as in should_leave. One may stay, as in may_have_more.
  return active() >
         std::max(most_active_.load(std::memory_order_relaxed), arena.needs_one() ? 1U : 0U);
}

bool Pool::must_leave(const Arena& arena) const {
  if (too_many(arena) || ending_.load(std::memory_order_relaxed) != 0)
    return true;                                                           // relaxed: as above
  return urgent_.load(std::memory_order_relaxed) > arena.plan().priority;  // relaxed: as above
}

// ---- threads ------------------------------------------------------------------------------------

bool Pool::start_thread() noexcept {
  Thread* t = nullptr;
  bool started = false;
  try {
    t = &make_thread();
    t->is_own = true;
    trace::begin_thread(*t);
    started = os::start_detached(stack_size(), run_own_thread, t);
  } catch (const std::bad_alloc&) {
    // as where the system refuses the thread
  }
  if (!started && t != nullptr) unmake_thread(*t);
  return started;
}

Arena* Pool::find_wanting(unsigned in_place_of) const {
  Arena* best = nullptr;
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (!a->wanting || !may_have_more(*a, in_place_of)) continue;
    if (best == nullptr || a->plan().priority > best->plan().priority) best = a;
  }
  return best;
}

Arena* Pool::join() {
  if (wanting_.load(std::memory_order_relaxed) == 0) return nullptr;  // relaxed: see idle()
  const Change change(*this);
  Arena* const a = find_wanting();
  if (a == nullptr) return nullptr;
  a->wanting = false;
  wanting_.fetch_sub(1, std::memory_order_relaxed);    // relaxed: see idle()
  a->workers.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
  active_.fetch_add(1, std::memory_order_relaxed);     // relaxed: under the lock
  return a;
}

// Who pushes a task and rings while this thread is still counted is refused by request(). So the
// thread looks again behind that: at what was pushed before, and whether somebody has rung since.
void Pool::quit(Arena& arena, bool entered) {
  if (entered) {
    arena.bell().set();
    os::process_barrier();
  }
  bool last = false;
  {
    const Change change(*this);
    active_.fetch_sub(1, std::memory_order_relaxed);        // relaxed: under the lock
    arena.workers.fetch_sub(1, std::memory_order_relaxed);  // relaxed: under the lock
    const bool again = entered ? !arena.bell().is_set() || (arena.has_work() && arena.bell().take())
                               : !arena.stays_full();
    if (again) want(arena);
    last = unlink_if_done(arena);
  }
  if (last) delete &arena;
}

bool Pool::work(Arena& arena, Thread& t) {
  if (!arena.enter(t, Arena::As::kHelper)) return false;
  arch::set_floating_point(arena.floating_point());
  observers.enter(t, t.seen_of_all);
  Binding binding;
  binding.begin(arena.processors());
  arena.arrive(t);
  arena.searching.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count, see Arena::pass_on
  bool searching = true;
  Spin spin;
  while (!too_many(arena)) {
    Found found = {t.tasks->pop(), kNoRegion};  // what the last one in this place has left
    if (!found) found = arena.find(t, spin.is_long());
    if (found) {
      if (searching) {
        searching = false;
        // relaxed: as above
        if (arena.searching.fetch_sub(1, std::memory_order_relaxed) == 1) arena.pass_on();
      }
      run_found(t, found);
      drain(t);
      spin.reset();
      if (must_leave(arena)) break;
      continue;
    }
    if (!searching) {
      searching = true;
      arena.searching.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
    }
    if (should_leave(arena) || !spin.once_more()) break;
  }
  if (searching) arena.searching.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
  if (t.fibers != nullptr) {
    arena.pass_on();
    t.fibers->let_others_leave(*t.slot);
  }
  arena.depart(t);
  observers.leave(t, t.seen_of_all);
  t.seen_of_all = 0;
  arena.leave(t);
  return true;
}

void Pool::idle(Thread& t) {
  const trace::Rest rest(t, trace::Kind::kIdle);
  sleepers.announce(t, nullptr);
  os::process_barrier();
  bool wanted = ending_.load(std::memory_order_relaxed) != 0;  // relaxed: finalize() wakes all
  if (!wanted) {
    sync::LockGuard guard(lock_);
    wanted = find_wanting() != nullptr;
  }
  if (wanted) {
    sleepers.withdraw(t);
  } else {
    sleepers.sleep(t);
  }
}

void Pool::run(Thread& t) {
  detail::this_worker = &t;
  for (;;) {
    if (Arena* const arena = join()) {
      // Those who wanted somebody while this thread was on its way have relied on it.
      if (wanting_.load(std::memory_order_relaxed) != 0) supply();  // relaxed: see idle()
      quit(*arena, work(*arena, t));
      continue;
    }
    if (ending_.load(std::memory_order_acquire) != 0) break;  // acquire: with finalize()
    idle(t);
  }
  {
    sync::LockGuard guard(lock_);
    --threads_;
  }
  detail::this_worker = nullptr;
  unmake_thread(t);
  live_.fetch_sub(1, std::memory_order_release);  // release: all that the thread did, with finalize
  os::wake_one(live_);
}

// An arena that could not have a thread still wants one when its work has been done without.
void Pool::forget_vain_wishes() {
  const Change change(*this);
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (a->wanting) a->bell().set();
  }
  os::process_barrier();  // either a new task is seen here, or its thread sees the bell
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (!a->wanting || a->has_work()) continue;
    a->wanting = false;
    wanting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as in want
  }
}

bool Pool::finalize() {
  const Thread* const self = Thread::current_or_null();
  if (self != nullptr && self->is_own) return false;
  ending_.fetch_add(1, std::memory_order_release);  // release: with run()
  os::process_barrier();  // either a thread that falls asleep sees it, or this one sees the thread
  while (sleepers.wake_idle()) {
  }
  // acquire: all that the threads did, with run()
  while (const std::uint32_t live = live_.load(std::memory_order_acquire)) os::wait(live_, live);
  os::wake_one(live_);  // another call may wait, and the last thread woke only this one
  ending_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: nobody is left to see it
  forget_vain_wishes();
  supply();  // what was wanted of the last one to go
  return true;
}

void Pool::forget_threads(Thread* survivor) {
  // relaxed: the only thread
  threads_ = 0;
  active_.store(0, std::memory_order_relaxed);
  live_.store(0, std::memory_order_relaxed);
  ending_.store(0, std::memory_order_relaxed);
  wanting_.store(0, std::memory_order_relaxed);
  urgent_.store(kNone, std::memory_order_relaxed);
  for (Arena* a = arenas_; a != nullptr; a = a->next) a->forget_threads(survivor);
}

}  // namespace corbel::sched
