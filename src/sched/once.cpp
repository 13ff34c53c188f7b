// SPDX-License-Identifier: Apache-2.0
// Functions that are called once, with the help of all who want them called.
//
// The word of a flag leads to the call in progress. Who wants to help must not find that it has
// gone in between: it locks the word (kLocked) to count itself among the call's users. Who ends the
// call takes it out of the word, which needs the word unlocked; from then on there are no new
// users, and the last one frees it.
#include <corbel/collaborative_call_once.hpp>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/flag.hpp>
#include <corbel/detail/group_call.hpp>

#include "sched/cancellations.hpp"
#include "sched/dispatch.hpp"
#include "sched/place.hpp"
#include "sched/pool.hpp"

namespace corbel {
namespace sched {
namespace {

constexpr std::uintptr_t kLocked = 2;

struct OnceCall {
  Arena& arena;
  const Region region = new_region();
  std::atomic<std::uint32_t> users{1};
  detail::flag ended{0};

  explicit OnceCall(Arena& a) : arena(a) { pool.add_reference(a); }

  // By who does not use it any more.
  void drop() {
    // acq_rel: the last one frees it behind all that the others did
    if (users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    pool.release(arena);
    delete this;
  }
};

using Word = std::atomic<std::uintptr_t>;

// Makes `call` the one in progress. If there is another, counts the thread among its users and
// returns it; nullptr if one has succeeded already.
OnceCall* begin_or_join(Word& word, OnceCall& call) {
  detail::backoff wait;
  // acquire: the call that it leads to, with (1); what a call that succeeded has done, with (2)
  std::uintptr_t now = word.load(std::memory_order_acquire);
  for (;;) {
    if (now == detail::kCalled) return nullptr;
    if ((now & kLocked) != 0) {
      wait.pause();
      now = word.load(std::memory_order_acquire);  // acquire: as above
      continue;
    }
    const bool mine = now == detail::kNotCalled;
    const std::uintptr_t next = mine ? reinterpret_cast<std::uintptr_t>(&call) : now | kLocked;
    // (1) acq_rel: the call is complete for those who find it; acquire: as above, also on failure
    if (!word.compare_exchange_weak(now, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      continue;
    }
    if (mine) return &call;
    OnceCall& other = *reinterpret_cast<OnceCall*>(now);
    other.users.fetch_add(1, std::memory_order_relaxed);  // relaxed: the word's lock keeps it alive
    word.store(now, std::memory_order_release);           // release: the number, with (2)
    return &other;
  }
}

void end(detail::worker& w, Word& word, OnceCall& call, std::uintptr_t outcome) {
  detail::backoff wait;
  const std::uintptr_t unlocked = reinterpret_cast<std::uintptr_t>(&call);
  std::uintptr_t now = unlocked;
  // (2) acq_rel: publishes what the call has done; acquire: who counted itself has done so
  while (!word.compare_exchange_weak(now, outcome, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
    now = unlocked;
    wait.pause();
  }
  detail::set_flag(w, call.ended);  // for those who help
}

// Below no other context, and not cancelled.
class RootContext {
 public:
  explicit RootContext(Thread& t) : switch_(t, node_) {
    // relaxed: whoever gets the node gets it from this thread
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
    RegionScope scope(t, call.region);
    function(argument);
  } catch (...) {
    end(t, word, call, detail::kNotCalled);
    throw;
  }
  end(t, word, call, detail::kCalled);
}

// In the call's arena if that has a place, else without being of use.
void help(Thread& t, OnceCall& call) {
  const auto wait = [&] {
    RegionScope scope(t, call.region);
    detail::wait_for_flag(t, call.ended);
  };
  if (t.arena != &call.arena) {
    Place place(t);
    if (call.arena.enter(t, Arena::As::kCaller)) {
      place.begin();
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

void call_once_together(std::atomic<std::uintptr_t>& state, void (*function)(void*),
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
