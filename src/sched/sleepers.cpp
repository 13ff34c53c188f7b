// SPDX-License-Identifier: Apache-2.0
#include "sched/sleepers.hpp"

#include "sched/arena.hpp"

namespace corbel::sched {

constinit Sleepers sleepers;

bool Sleepers::wake_in(const Arena& arena) {
  return wake_first([&](const Thread& t) { return t.arena == &arena && arena.has_work_for(t); });
}

bool Sleepers::wake_idle() {
  return wake_first([](const Thread& t) { return t.arena == nullptr && t.bed.key == nullptr; });
}

}  // namespace corbel::sched
