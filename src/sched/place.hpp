// SPDX-License-Identifier: Apache-2.0
// A thread leaves its place in one arena for one in another for a while.
#pragma once

#include "sched/binding.hpp"
#include "sched/thread.hpp"

namespace corbel::sched {

// Keeps what belongs to the place that the thread has, and brings it back at the end. Between the
// two the thread may enter another arena.
class Place {
 public:
  explicit Place(Thread& t);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // The thread has entered another arena, and is in no task there. It leaves it at the end.
  void begin();

  // Whether the thread comes back to that slot sooner or later.
  bool leads_back_to(const Slot& slot) const {
    return kept_.slot == &slot || (kept_.place != nullptr && kept_.place->leads_back_to(slot));
  }

 private:
  Thread& thread_;
  bool in_another_ = false;
  Binding binding_;
  const Standing kept_;
};

}  // namespace corbel::sched
