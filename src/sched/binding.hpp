// SPDX-License-Identifier: Apache-2.0
// Arenas whose threads are bound to some of the processors.
#pragma once

#include <memory>

#include "os/os.hpp"
#include "sched/thread.hpp"

namespace corbel::sched {

struct ArenaPlan;

// Those of the ones that the process may use that fit; see os::keep_processors.
os::ProcessorSet processors_for(int node, int core_type, int threads_per_core);

// Where the threads of an arena may run; nullptr where the plan leaves it open, or nothing fits.
std::unique_ptr<const os::ProcessorSet> processors_of(const ArenaPlan& plan);

// While the calling thread is bound to these; nullptr: as it is.
class Binding {
 public:
  Binding() = default;
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  void begin(const os::ProcessorSet* processors);

 private:
  std::unique_ptr<os::ProcessorSet> before_;
};

}  // namespace corbel::sched
