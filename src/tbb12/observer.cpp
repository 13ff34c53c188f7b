// SPDX-License-Identifier: Apache-2.0
// Observers: for each one that observes there is one of Corbel's, which passes the calls on.
#include <corbel/detail/backoff.hpp>
#include <corbel/task_scheduler_observer.hpp>

#include <new>

#include "tbb12/running.hpp"

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

void initialize(d1::task_arena_base& a);

class observer_proxy {
 public:
  virtual ~observer_proxy() = default;
};

namespace {

template <typename... Arena>
class Passes final : public observer_proxy, public corbel::task_scheduler_observer {
 public:
  explicit Passes(d1::task_scheduler_observer& to, Arena&... arena)
      : corbel::task_scheduler_observer(arena...), to_(to) {
    observe(true);
  }
  ~Passes() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override { to_.on_scheduler_entry(is_worker); }
  void on_scheduler_exit(bool is_worker) override { to_.on_scheduler_exit(is_worker); }

 private:
  d1::task_scheduler_observer& to_;
};

// Keeps the arena that it observes.
class PassesOfArena final : public observer_proxy {
 public:
  PassesOfArena(d1::task_scheduler_observer& to, corbel::detail::arena_handle& handle) {
    attach(handle);
    passes_ = new Passes<corbel::task_arena>(to, arena_);
  }
  ~PassesOfArena() override { delete passes_; }

 private:
  void attach(corbel::detail::arena_handle& handle) {
    const RunningScope scope;
    corbel::detail::execute_in(
        handle, [](void* a) { static_cast<corbel::task_arena*>(a)->initialize(corbel::attach()); },
        &arena_);
  }

  corbel::task_arena arena_;
  observer_proxy* passes_;
};

// What the program's code does before it uses an arena.
void make_once(d1::task_arena_base& a) {
  // (1) acquire: sees the arena, published by (2) or by the program's code
  int state = a.initialization.load(std::memory_order_acquire);
  if (state == d1::task_arena_base::kMade) return;
  state = d1::task_arena_base::kNotMade;
  // relaxed on success: the fields are as the program's constructor has left them
  if (a.initialization.compare_exchange_strong(state, d1::task_arena_base::kBeingMade,
                                               std::memory_order_relaxed)) {
    initialize(a);
    a.initialization.store(d1::task_arena_base::kMade, std::memory_order_release);  // (2) to (1)
    return;
  }
  corbel::detail::spin_until([&] {
    // acquire: as (1)
    return a.initialization.load(std::memory_order_acquire) == d1::task_arena_base::kMade;
  });
}

observer_proxy* observe_for(d1::task_scheduler_observer& o) {
  if (o.arena == nullptr) {
    current_thread();  // the observed arena is the thread's
    return new Passes<>(o);
  }
  make_once(*o.arena);
  return new PassesOfArena(o, *handle_of(*o.arena));
}

}  // namespace

CORBEL_TBB12 void observe(d1::task_scheduler_observer& o, bool wanted) {
  // relaxed, both: the program calls it from one thread at a time
  observer_proxy* const proxy = o.proxy.load(std::memory_order_relaxed);
  if (wanted == (proxy != nullptr)) return;
  if (wanted) {
    o.proxy.store(observe_for(o), std::memory_order_relaxed);
  } else {
    delete proxy;
    o.proxy.store(nullptr, std::memory_order_relaxed);
  }
}

}  // namespace tbb::detail::r1
