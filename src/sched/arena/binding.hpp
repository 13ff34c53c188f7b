// SPDX-License-Identifier: Apache-2.0
// Arenas whose threads are bound to some of the processors.
#pragma once

#include <memory>

#include "os/os.hpp"
#include "sched/arena/arena_plan.hpp"

namespace corbel::sched {

// Returns the processors that the process may use and that match all three arguments; -1 matches
// any. See os::keep_processors.
os::ProcessorSet processors_for(int node, int core_type, int threads_per_core);

// Returns the processors for the threads of an arena; nullptr if the plan asks for none or none
// matches.
std::unique_ptr<const os::ProcessorSet> processors_of(const ArenaPlan& plan);

// Binds the calling thread from begin() to the end of the object.
class Binding {
 public:
  Binding() = default;
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // nullptr: leaves the thread as it is.
  void begin(const os::ProcessorSet* processors);

 private:
  std::unique_ptr<os::ProcessorSet> before_;
};

}  // namespace corbel::sched
