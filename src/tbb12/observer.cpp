// SPDX-License-Identifier: Apache-2.0
// Observers: for each one that observes there is one of Corbel's, which passes the calls on.
#include <corbel/task_scheduler_observer.hpp>

#include <new>

#include "tbb12/running.hpp"

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

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

observer_proxy* observe_for(d1::task_scheduler_observer& o) {
  if (o.arena == nullptr) {
    current_thread();  // the observed arena is the thread's
    return new Passes<>(o);
  }
  corbel::detail::arena_handle* const arena = handle_of(*o.arena);
  return arena == nullptr ? nullptr : new PassesOfArena(o, *arena);
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
