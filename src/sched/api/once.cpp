// SPDX-License-Identifier: Apache-2.0
// collaborative_call_once: the threads that want a function called once help to run its tasks.
//
// The word of a once_flag points to the call in progress. A thread that wants to help locks the
// word (kLocked) while it counts itself as a user of the call, so that the call cannot end in
// between. To end the call, its thread takes it out of the word, which needs the word unlocked.
// Then there are no new users, and the last one frees the call.
#include <corbel/collaborative_call_once.hpp>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/flag.hpp>
#include <corbel/detail/group_call.hpp>

#include "os/os.hpp"
#include "sched/arena/arena.hpp"
#include "sched/arena/arena_scope.hpp"
#include "sched/arena/isolation.hpp"
#include "sched/core/cancellation.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {
namespace sched {
namespace {

constexpr std::uintptr_t kLocked = 2;

struct OnceCall {
  Arena& arena;
  const IsolationScope isolation = new_isolation_scope();
  std::atomic<std::uint32_t> users{1};
  detail::flag ended{0};

  explicit OnceCall(Arena& a) : arena(a) { thread_pool.add_reference(a); }

  // Called once by each user, when it no longer needs the call.
  void drop() {
    // (5) acq_rel: the last user frees it after all that the others did before their (5)
    if (users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    thread_pool.release(arena);
    delete this;
  }
};

using Word = std::atomic<std::uintptr_t>;

// Makes `call` the one in progress and returns it. If another call is in progress, counts the
// thread among that call's users and returns that call. Returns nullptr if a call has succeeded
// already.
OnceCall* begin_or_join(Word& word, OnceCall& call) {
  detail::backoff wait;
  // (3) acquire: sees the call that (1) published, and what a call that succeeded did before (2)
  std::uintptr_t now = word.load(std::memory_order_acquire);
  for (;;) {
    if (now == detail::kCalled) return nullptr;
    // No thread makes the call, or the thread that was making it vanished when the process ended.
    const bool mine = now == detail::kNotCalled || os::other_threads_are_gone();
    if (!mine && (now & kLocked) != 0) {
      wait.pause();
      now = word.load(std::memory_order_acquire);  // (3) acquire: as above
      continue;
    }
    const std::uintptr_t next = mine ? reinterpret_cast<std::uintptr_t>(&call) : now | kLocked;
    // (1) acq_rel: publishes the call to (3) of its users; acquire, on failure too: as (3)
    if (!word.compare_exchange_weak(now, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      continue;
    }
    if (mine) return &call;
    OnceCall& other = *reinterpret_cast<OnceCall*>(now);
    other.users.fetch_add(1, std::memory_order_relaxed);  // relaxed: the word's lock keeps it alive
    word.store(now, std::memory_order_release);           // (4) release: publishes the count to (2)
    return &other;
  }
}

void end(detail::thread_data& thread, Word& word, OnceCall& call, std::uintptr_t outcome) {
  detail::backoff wait;
  const std::uintptr_t unlocked = reinterpret_cast<std::uintptr_t>(&call);
  std::uintptr_t now = unlocked;
  // (2) acq_rel: publishes what the call did to (3); sees the users that (4) counted
  while (!word.compare_exchange_weak(now, outcome, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
    // A thread that has vanished at the end of the process may have locked it.
    if (!os::other_threads_are_gone()) now = unlocked;
    wait.pause();
  }
  detail::set_flag(thread, call.ended);  // for the threads that help
}

// Puts the thread into a new context, which has no parent and is not cancelled, until the end of
// the scope.
class RootContext {
 public:
  explicit RootContext(Thread& t) : switch_(t, node_) {
    // relaxed, all: other threads get the node only with a task of this thread
    node_.link.store(0, std::memory_order_relaxed);
    node_.state.store(detail::cancellations.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  }

 private:
  context_node node_;
  detail::context_switch switch_;
};

void make_call(Thread& t, Word& word, OnceCall& call, void (*function)(void*), void* argument) {
  try {
    RootContext context(t);
    IsolationGuard scope(t, call.isolation);
    function(argument);
  } catch (...) {
    end(t, word, call, detail::kNotCalled);
    throw;
  }
  end(t, word, call, detail::kCalled);
}

// Helps in the call's arena if that has a free slot; else the thread only waits.
void help(Thread& t, OnceCall& call) {
  const auto wait = [&] {
    IsolationGuard scope(t, call.isolation);
    detail::wait_for_flag(t, call.ended);
  };
  if (t.arena != &call.arena) {
    ArenaScope scope_in_arena(t);
    if (call.arena.enter(t, Arena::As::kCaller)) {
      scope_in_arena.begin();
      wait();
      return;
    }
  }
  wait();
}

// Drops the call at the end.
struct Use {
  OnceCall* call;
  ~Use() {
    if (call != nullptr) call->drop();
  }
};

}  // namespace
}  // namespace sched

namespace detail {

void collaborative_call_once_slow(std::atomic<std::uintptr_t>& state, void (*function)(void*),
                                  void* argument) {
  sched::Thread& t = sched::Thread::current();
  const sched::Use own{new sched::OnceCall(*t.arena)};
  for (;;) {
    sched::OnceCall* const call = sched::begin_or_join(state, *own.call);
    if (call == nullptr) return;
    if (call == own.call) {
      sched::make_call(t, state, *call, function, argument);
      return;
    }
    const sched::Use use{call};
    sched::help(t, *call);
  }
}

}  // namespace detail
}  // namespace corbel
