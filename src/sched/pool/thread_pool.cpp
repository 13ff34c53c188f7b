// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/thread_pool.hpp"

#include <algorithm>
#include <new>

#include "arch/arch.hpp"
#include "os/os.hpp"
#include "sched/core/other_stacks.hpp"
#include "sched/core/thread_records.hpp"
#include "sched/core/width.hpp"
#include "sched/pool/dispatch.hpp"
#include "sched/pool/program_threads.hpp"
#include "sched/pool/spin.hpp"
#include "sched/trace/trace.hpp"

namespace corbel::sched {

constinit ThreadPool thread_pool;

namespace {

void* run_worker(void* thread) {
  os::name_thread("corbel");
  thread_pool.run(*static_cast<Thread*>(thread));
  return nullptr;
}

}  // namespace

// ---- arenas -------------------------------------------------------------------------------------

Arena& ThreadPool::make_arena(const ArenaPlan& plan) {
  Arena& arena = *new Arena(plan);
  sync::LockGuard guard(lock_);
  arena.next = arenas_;
  if (arenas_ != nullptr) arenas_->previous = &arena;
  arenas_ = &arena;
  if (plan.priority != 0) has_priorities_ = true;
  return arena;
}

void ThreadPool::add_reference(Arena& arena) {
  // relaxed: the caller owns a reference, or is in the arena
  arena.references.fetch_add(1, std::memory_order_relaxed);
}

void ThreadPool::release(Arena& arena) {
  std::uint32_t references =
      arena.references.load(std::memory_order_relaxed);  // relaxed: compared below
  while (references > 1) {
    // (1) release: publishes what was done with this reference to (2); relaxed: compared again
    if (arena.references.compare_exchange_weak(
            references, references - 1, std::memory_order_release, std::memory_order_relaxed)) {
      return;
    }
  }
  bool last = false;
  {
    const RequestChange change(*this);
    // (2) acq_rel: the last release sees what was done with the other references before their (1)
    // or (2)
    const bool is_left = arena.references.fetch_sub(1, std::memory_order_acq_rel) == 1;
    last = is_left && unlink_if_done(arena);
    if (!last && is_left && arena.worker_count() == 0) ensure_request(arena);
  }
  if (last) {
    delete &arena;
  } else {
    provide_worker();
  }
}

bool ThreadPool::unlink_if_done(Arena& arena) {
  // relaxed: the last reference is released under the lock
  if (arena.references.load(std::memory_order_relaxed) != 0) return false;
  if (arena.worker_count() != 0 || arena.has_work()) return false;
  (arena.previous != nullptr ? arena.previous->next : arenas_) = arena.next;
  if (arena.next != nullptr) arena.next->previous = arena.previous;
  drop_requests(arena);
  return true;
}

namespace {

// relaxed: under the lock, or a hint
std::uint32_t requests_of(const Arena& arena) {
  return arena.requested_workers.load(std::memory_order_relaxed);
}

}  // namespace

void ThreadPool::add_request(Arena& arena) {
  // relaxed: a hint; a thread that acts on it takes the lock
  arena.requested_workers.fetch_add(1, std::memory_order_relaxed);
  requests_.fetch_add(1, std::memory_order_seq_cst);  // (12) seq_cst: see (10)
}

void ThreadPool::ensure_request(Arena& arena) {
  if (requests_of(arena) == 0) add_request(arena);
}

void ThreadPool::drop_request(Arena& arena) {
  // relaxed, both: hints, as in add_request
  arena.requested_workers.fetch_sub(1, std::memory_order_relaxed);
  requests_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::drop_requests(Arena& arena) {
  while (requests_of(arena) != 0) drop_request(arena);
}

void ThreadPool::update_urgent() {
  if (!has_priorities_) return;
  const Arena* const a = find_request(/*in_place_of=*/1);
  // relaxed: a hint
  urgent_.store(a != nullptr ? a->plan().priority : kNoPriority, std::memory_order_relaxed);
}

// The workers that count where only those do that run or look for tasks.
unsigned ThreadPool::running() const {
  // (13) seq_cst: see (10)
  const unsigned waiting = waiting_.load(std::memory_order_seq_cst);
  const unsigned all = awake();
  return all - std::min(all, waiting);  // without the lock, the two may not fit
}

bool ThreadPool::may_add_worker(const Arena& arena, unsigned in_place_of) const {
  if (arena.worker_count() >= arena.max_workers()) return false;
  // relaxed: under the lock, or a hint
  const unsigned max_active = max_active_.load(std::memory_order_relaxed);
  if (arena.must_have_worker()) return running() < std::max(max_active, 1U) + in_place_of;
  return awake() < max_active + in_place_of;
}

void request_worker(Arena& arena) {
  ThreadPool& pool = thread_pool;
  {
    const ThreadPool::RequestChange change(pool);
    if (arena.worker_count() >= arena.max_workers()) return;
    if (arena.worker_count() + requests_of(arena) < arena.max_workers()) pool.add_request(arena);
  }
  pool.provide_worker();
}

// Wakes or starts one worker if there is a request that can be served. That worker takes the
// request, and calls this again for those that are left.
void ThreadPool::provide_worker() {
  bool start = false;
  {
    sync::LockGuard guard(lock_);
    if (find_request() == nullptr) return;  // no request, or the thread limit is reached
    start = threads_ == active();
    if (start) {
      ++threads_;
      live_.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
    }
  }
  if (!start) {
    // A worker that is about to park looks for requests first.
    parked_threads.unpark_idle();
    return;
  }
  if (start_thread()) return;
  // No worker could be started: the threads that exist do the work.
  sync::LockGuard guard(lock_);
  --threads_;
  live_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: under the lock
  os::wake_one(live_);                            // finalize() may have counted the worker
}

// The worker stops counting and then looks for requests. For suspended tasks it does both under the
// lock: either a request is made before, and the worker finds it; or it is made after, and the
// worker no longer counts.
void begin_rest(Rest rest) {
  ThreadPool& pool = thread_pool;
  if (rest == Rest::kSuspended) {
    const ThreadPool::RequestChange change(pool);
    pool.awake_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: under the lock
  } else {
    // (10) seq_cst: in the total order, either (11) is after the (12) of a request, and the worker
    // finds it; or this is before the (13) that follows the request, which does not count it
    pool.waiting_.fetch_add(1, std::memory_order_seq_cst);
    // (11) seq_cst: see (10)
    if (pool.requests_.load(std::memory_order_seq_cst) == 0) return;
  }
  pool.provide_worker();
}

// The worker does not wait for a place: the thread that woke it relies on it, and no other thread
// can continue its tasks.
void end_rest(Rest rest) {
  ThreadPool& pool = thread_pool;
  if (rest == Rest::kSuspended) {
    const ThreadPool::RequestChange change(pool);
    pool.awake_.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
  } else {
    pool.waiting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a count
  }
}

// ---- limits -------------------------------------------------------------------------------------

void ThreadPool::set_limit(unsigned threads) {
  bool more = false;
  {
    const RequestChange change(*this);
    more = threads > thread_limit();
    // relaxed, both: read under the lock, or as hints
    current_thread_limit.store(threads, std::memory_order_relaxed);
    max_active_.store(threads - 1, std::memory_order_relaxed);
  }
  if (more) provide_worker();
}

bool ThreadPool::should_leave(const Arena& arena) const {
  // relaxed, both: hints; take_request() looks again under the lock. A request of this arena is no
  // reason to leave it.
  return finalizing_.load(std::memory_order_relaxed) != 0 ||
         requests_.load(std::memory_order_relaxed) > requests_of(arena) || too_many(arena);
}

bool ThreadPool::too_many(const Arena& arena) const {
  // relaxed: a hint, as in should_leave. One worker may stay, as in may_add_worker.
  return running() >
         std::max(max_active_.load(std::memory_order_relaxed), arena.must_have_worker() ? 1U : 0U);
}

bool ThreadPool::must_leave(const Arena& arena) const {
  // relaxed, both: hints, as in should_leave
  if (too_many(arena) || finalizing_.load(std::memory_order_relaxed) != 0) return true;
  // It has come for what no other thread may run, and that has been run.
  if (arena.max_workers() == 0) return true;
  return urgent_.load(std::memory_order_relaxed) > arena.plan().priority;
}

bool ThreadPool::figures_in_handler(Figures* figures) {
  if (!lock_.try_lock_in_handler()) return false;
  *figures = {threads_, active(), 0};
  for (const Arena* a = arenas_; a != nullptr; a = a->next) {
    figures->searching += a->searching.load(std::memory_order_relaxed);  // relaxed: a count
  }
  lock_.unlock();
  return true;
}

// ---- workers ------------------------------------------------------------------------------------

bool ThreadPool::start_thread() noexcept {
  Thread* t = nullptr;
  bool started = false;
  try {
    t = &make_thread();
    t->is_worker = true;
    trace::begin_thread(*t);
    started = os::start_detached(stack_size(), run_worker, t);
  } catch (const std::bad_alloc&) {
    // treated like a thread that the system refuses
  }
  if (!started && t != nullptr) {
    trace::end_thread(*t);
    unmake_thread(*t);
  }
  return started;
}

Arena* ThreadPool::find_request(unsigned in_place_of) const {
  Arena* best = nullptr;
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (requests_of(*a) == 0 || !may_add_worker(*a, in_place_of)) continue;
    if (best == nullptr || a->plan().priority > best->plan().priority) best = a;
  }
  return best;
}

// Counts a worker of the arena. Under the lock.
void ThreadPool::count_in(Arena& arena) {
  // relaxed, all: under the lock
  arena.workers.fetch_add(1, std::memory_order_relaxed);
  active_.fetch_add(1, std::memory_order_relaxed);
  awake_.fetch_add(1, std::memory_order_relaxed);
}

Arena* ThreadPool::take_request() {
  // relaxed: a hint; park_idle() looks again under the lock
  if (requests_.load(std::memory_order_relaxed) == 0) return nullptr;
  const RequestChange change(*this);
  Arena* const a = find_request();
  if (a == nullptr) return nullptr;
  drop_request(*a);
  count_in(*a);
  return a;
}

// As long as this worker is counted, request_worker() may refuse another one. So after it has
// stopped counting the worker looks again: for tasks that were pushed before, and whether the wake
// flag has been taken since.
void ThreadPool::leave_arena(Arena& arena, bool entered) {
  if (entered) {
    arena.wake_flag().set();
    os::process_barrier();
  }
  bool last = false;
  {
    const RequestChange change(*this);
    // relaxed, all: under the lock
    active_.fetch_sub(1, std::memory_order_relaxed);
    awake_.fetch_sub(1, std::memory_order_relaxed);
    arena.workers.fetch_sub(1, std::memory_order_relaxed);
    // As in drop_stale_requests: a thread that pushes from now on sees the flag.
    if (entered && !arena.has_work()) drop_requests(arena);
    // Without another worker to come, the flag stays for the threads that are parked there.
    const bool again =
        entered ? !arena.wake_flag().is_set() ||
                      (arena.max_workers() != 0 && arena.has_work() && arena.wake_flag().take())
                : !arena.is_still_full();
    if (again) ensure_request(arena);
    last = unlink_if_done(arena);
  }
  if (last) delete &arena;
}

// In the child of a fork, for a copy of a worker that is through with its task.
void ThreadPool::count_again(Arena& arena) {
  const RequestChange change(*this);
  ++threads_;
  live_.fetch_add(1, std::memory_order_relaxed);  // relaxed: under the lock
  count_in(arena);
}

bool ThreadPool::work_in(Arena& arena, Thread& t) {
  if (!arena.enter(t, Arena::As::kWorker)) return false;
  arch::set_floating_point(arena.floating_point());
  observers.enter(t, t.seen_global);
  Binding binding;
  binding.begin(arena.processors());
  arena.observe_entry(t);
  // relaxed, all on `searching`: a count; chain_wake_up() has a barrier of its own
  arena.searching.fetch_add(1, std::memory_order_relaxed);
  bool searching = true;
  bool has_run = false;
  Spin spin;
  while (!too_many(arena)) {
    FoundTask found = {t.tasks->pop(),
                       kNoIsolation};  // the slot's last occupant may have left some
    if (!found) found = arena.find(t, spin.search());
    if (found) {
      if (searching) {
        searching = false;
        if (arena.searching.fetch_sub(1, std::memory_order_relaxed) == 1) arena.chain_wake_up();
        arena.wake_on_next_push(t);
      }
      has_run = true;
      spin.begin_run();
      run_found(t, found);
      drain(t);
      spin.end_run();
      if (must_leave(arena)) break;
      continue;
    }
    if (!searching) {
      searching = true;
      arena.searching.fetch_add(1, std::memory_order_relaxed);
    }
    if (should_leave(arena)) {
      // A quick search may leave a task whose owner is elsewhere. If that were enough, two arenas
      // could call the worker away from each other's tasks forever. So it has run a task here, or
      // an interrupting search has found none.
      if (has_run || spin.search() == Arena::Search::kInterrupting) break;
      spin.go_to_interruption();
    } else if (!spin.once_more()) {
      break;
    }
  }
  if (searching) arena.searching.fetch_sub(1, std::memory_order_relaxed);
  // What is left is for the threads that are parked there: no other worker comes.
  if (t.fibers != nullptr || arena.max_workers() == 0) arena.chain_wake_up();
  if (t.fibers != nullptr) {
    finish_stacks_in(*t.fibers, *t.slot);
  }
  arena.observe_exit(t);
  observers.leave(t, t.seen_global);
  t.seen_global = 0;
  arena.leave(t);
  return true;
}

void ThreadPool::park_idle(Thread& t) {
  const trace::ClockPause pause(t, trace::Kind::kIdle);
  parked_threads.announce(t, nullptr);
  os::process_barrier();
  // relaxed: the barrier and those in finalize() and end_with_program() order both
  bool wanted = finalizing_.load(std::memory_order_relaxed) != 0 || program_threads.are_gone();
  if (!wanted) {
    sync::LockGuard guard(lock_);
    wanted = find_request() != nullptr;
  }
  if (wanted) {
    parked_threads.withdraw(t);
  } else {
    parked_threads.park(t);
  }
}

void ThreadPool::run(Thread& t) {
  detail::own_thread_data() = &t;
  t.system_id = os::thread_id();
  for (;;) {
    if (Arena* const arena = take_request()) {
      // provide_worker() woke no second worker while this one was on its way: other arenas may
      // have requested one. relaxed: a hint, as in take_request
      if (requests_.load(std::memory_order_relaxed) != 0) provide_worker();
      t.is_counted = true;
      const bool entered = work_in(*arena, t);
      if (!t.is_counted) count_again(*arena);
      t.is_counted = false;
      leave_arena(*arena, entered);
      continue;
    }
    if (may_end()) break;
    park_idle(t);
  }
  detail::own_thread_data() = nullptr;
  trace::end_thread(t);
  unmake_thread(t);
  // (5) release: publishes all that the thread did to (6) in finalize()
  live_.fetch_sub(1, std::memory_order_release);
  os::wake_one(live_);
  if (program_threads.are_gone()) program_threads.note_change();
}

// Whether this worker, which has found no request, may end: then it no longer counts.
bool ThreadPool::may_end() {
  // (4) acquire: sees what the caller of finalize() did before (3)
  const bool finalizing = finalizing_.load(std::memory_order_acquire) != 0;
  if (!finalizing && !program_threads.are_gone()) return false;
  const sync::LockGuard guard(lock_);
  // Either a request comes before, and this worker takes it; or it comes after, and
  // provide_worker() starts another worker.
  if (find_request() != nullptr) return false;
  --threads_;
  return true;
}

// ---- the end of the program's threads ----------------------------------------------------------

// The workers that still work block all signals. So that the process can be ended meanwhile, a
// thread stands in for the program's: it inherits the signal mask of the last one, and waits until
// the workers have ended or the program has a thread again.
void ThreadPool::end_with_program() {
  // The caller is the last thread that could request a worker, except for workers.
  if (!has_workers()) return;
  // Either a worker that parks sees that the threads are gone, or unpark_idle() finds the worker in
  // the list.
  os::process_barrier();
  while (parked_threads.unpark_idle()) {
  }
  // relaxed: no other thread adds the first request
  if (active() == 0 && requests_.load(std::memory_order_relaxed) == 0) return;
  // (8) acq_rel: either this is before (9), which then sees that the threads are gone, so that the
  // stand-in stays; or it is after (9), and finds no mark
  if (has_stand_in_.exchange(true, std::memory_order_acq_rel)) return;
  // The program's handlers may run there. The default size is what they expect.
  constexpr std::size_t kSmall = 64 << 10;
  if (!os::start_detached(0, &ThreadPool::stand_in, this, os::TakesSignals::kAsHere) &&
      !os::start_detached(kSmall, &ThreadPool::stand_in, this, os::TakesSignals::kAsHere)) {
    has_stand_in_.store(false, std::memory_order_relaxed);  // relaxed: as if it had not been set
  }
}

void* ThreadPool::stand_in(void* self) {
  os::name_thread("corbel");
  ThreadPool& pool = *static_cast<ThreadPool*>(self);
  const auto is_needed = [&] { return pool.has_workers() && program_threads.are_gone(); };
  do {
    for (;;) {
      // (7) acquire: sees what changed before note_change()
      const std::uint32_t before = program_threads.changes().load(std::memory_order_acquire);
      if (!is_needed()) break;
      os::wait(program_threads.changes(), before);
    }
    pool.has_stand_in_.exchange(false, std::memory_order_acq_rel);  // (9) acq_rel: with (8)
    // (8) acq_rel: like the other
  } while (is_needed() && !pool.has_stand_in_.exchange(true, std::memory_order_acq_rel));
  return nullptr;
}

// A request that could not be served stays although the arena's work has been done without a
// worker. Drops such requests.
void ThreadPool::drop_stale_requests() {
  const RequestChange change(*this);
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (requests_of(*a) != 0) a->wake_flag().set();
  }
  // Either a task is pushed before this barrier, and has_work() sees it; or it is pushed after, and
  // the pusher sees the wake flag.
  os::process_barrier();
  for (Arena* a = arenas_; a != nullptr; a = a->next) {
    if (!a->has_work()) drop_requests(*a);
  }
}

bool ThreadPool::finalize() {
  const Thread* const self = Thread::current_or_null();
  if (self != nullptr && self->is_worker) return false;
  // The system has ended the workers, wherever they were.
  if (os::other_threads_are_gone()) return true;
  // (3) release: publishes what this thread did to (4) in run()
  finalizing_.fetch_add(1, std::memory_order_release);
  // Either a worker that parks sees `finalizing_`, or unpark_idle() finds the worker in the list.
  os::process_barrier();
  while (parked_threads.unpark_idle()) {
  }
  // (6) acquire: sees all that the workers did before (5)
  while (const std::uint32_t live = live_.load(std::memory_order_acquire)) os::wait(live_, live);
  os::wake_one(live_);  // another call may wait: the last worker woke one thread only
  finalizing_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: no worker is left to see it
  drop_stale_requests();
  provide_worker();  // for requests that came when the last worker was ending
  return true;
}

void ThreadPool::forget_threads(Thread* survivor) {
  // relaxed, all: the only thread
  threads_ = 0;
  active_.store(0, std::memory_order_relaxed);
  awake_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
  live_.store(0, std::memory_order_relaxed);
  finalizing_.store(0, std::memory_order_relaxed);
  has_stand_in_.store(false, std::memory_order_relaxed);
  program_threads.forget_others();
  requests_.store(0, std::memory_order_relaxed);
  urgent_.store(kNoPriority, std::memory_order_relaxed);
  for (Arena* a = arenas_; a != nullptr; a = a->next) a->forget_threads(survivor);
  // A worker's copy goes on with the program's code, which may wait for what only a worker runs.
  if (survivor != nullptr) survivor->is_counted = false;
}

}  // namespace corbel::sched
