// SPDX-License-Identifier: Apache-2.0
#include "sched/classic/own_group.hpp"

#include <new>

#include "sched/core/program_runtime.hpp"

namespace corbel::classic {
namespace {

// Given back. Groups that are cancelled stay so, for the tasks that may be left of them, and are
// never used again.
constinit std::atomic<OwnGroup*> given_back{nullptr};
constinit std::atomic<OwnGroup*> cancelled{nullptr};

}  // namespace

OwnGroup& OwnGroup::take() {
  // (3) acquire: sees the links that (4) published. The caller has the list for itself, and another
  // thread meanwhile makes a group that it might have found.
  OwnGroup* left = given_back.exchange(nullptr, std::memory_order_acquire);
  OwnGroup* found = nullptr;
  while (left != nullptr) {
    OwnGroup* const g = left;
    left = g->next_;
    if (found == nullptr && g->is_unused()) {
      found = g;
    } else {
      give_back(*g);
    }
  }
  return found != nullptr ? *found : *new OwnGroup;
}

void OwnGroup::give_back(OwnGroup& group) noexcept {
  const bool is_cancelled = detail::find_cancelled(group.node());
  if (is_cancelled) {
    // No wait is left to throw it.
    sched::exception_of([&] { detail::rethrow_exception(group.node()); });
  }
  std::atomic<OwnGroup*>& list = is_cancelled ? cancelled : given_back;
  group.next_ = list.load(std::memory_order_relaxed);  // relaxed: only to link it
  // (4) release: publishes the link to (3). relaxed on failure: only to link it
  while (!list.compare_exchange_weak(group.next_, &group, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
}

}  // namespace corbel::classic
