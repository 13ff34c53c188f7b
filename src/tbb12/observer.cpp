// SPDX-License-Identifier: Apache-2.0
// Observers: for each one that observes there is one of Corbel's, which passes the calls on.
#include <corbel/detail/backoff.hpp>
#include <corbel/task_scheduler_observer.hpp>

#include "tbb12/running.hpp"

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

class observer_proxy {
 public:
  virtual ~observer_proxy() = default;
  virtual void begin() = 0;
};

// In arena.cpp.
void initialize(d1::task_arena_base& a);

namespace {

// Passes the calls on. Of an explicit arena, only the observation has a reference: `arena` borrows
// the program's, which is there until begin() has returned.
class Passes final : public observer_proxy {
 public:
  explicit Passes(d1::task_scheduler_observer& to) : own_(to) {}
  Passes(d1::task_scheduler_observer& to, corbel::detail::arena_handle& arena)
      : own_(to, borrowed_) {
    corbel::detail::arena_access::lend(borrowed_, arena);
  }
  ~Passes() override {
    own_.observe(false);
    corbel::detail::arena_access::take_back(borrowed_);
  }
  void begin() override { own_.observe(true); }

 private:
  struct Own final : corbel::task_scheduler_observer {
    template <typename... Arena>
    explicit Own(d1::task_scheduler_observer& o, Arena&... arena)
        : corbel::task_scheduler_observer(arena...), to(o) {}
    void on_scheduler_entry(bool is_worker) override { to.on_scheduler_entry(is_worker); }
    void on_scheduler_exit(bool is_worker) override { to.on_scheduler_exit(is_worker); }
    d1::task_scheduler_observer& to;
  };

  corbel::task_arena borrowed_;
  Own own_;
};

// What the program's code does before it uses an arena.
corbel::detail::arena_handle& initialized(d1::task_arena_base& a) {
  using Base = d1::task_arena_base;
  int state = Base::kNotMade;
  // (1) acquire, for a failure: sees the arena, published by (2) or by the program's code
  if (a.initialization.compare_exchange_strong(state, Base::kBeingMade,
                                               std::memory_order_acquire)) {
    try {
      initialize(a);
    } catch (...) {
      a.initialization.store(Base::kNotMade, std::memory_order_relaxed);  // relaxed: as it was
      throw;
    }
    a.initialization.store(Base::kMade, std::memory_order_release);  // (2) release: to (1)
  } else if (state != Base::kMade) {
    corbel::detail::spin_until([&] {
      return a.initialization.load(std::memory_order_acquire) == Base::kMade;  // as (1)
    });
  }
  return *handle_of(a);
}

observer_proxy* make_proxy(d1::task_scheduler_observer& o) {
  return o.arena == nullptr ? new Passes(o) : new Passes(o, initialized(*o.arena));
}

}  // namespace

CORBEL_TBB12 void observe(d1::task_scheduler_observer& o, bool wanted) {
  // relaxed, all: the program calls it from one thread at a time
  observer_proxy* const proxy = o.proxy.load(std::memory_order_relaxed);
  if (wanted == (proxy != nullptr)) return;
  if (wanted) {
    // Before it begins: it is observing inside of the first call.
    observer_proxy* const made = make_proxy(o);
    o.proxy.store(made, std::memory_order_relaxed);
    try {
      made->begin();
    } catch (...) {
      o.proxy.store(nullptr, std::memory_order_relaxed);
      delete made;
      throw;
    }
  } else {
    o.proxy.store(nullptr, std::memory_order_relaxed);
    delete proxy;
  }
}

}  // namespace tbb::detail::r1
