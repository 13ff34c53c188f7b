// SPDX-License-Identifier: Apache-2.0
#include "sched/arena/binding.hpp"

#include <new>

namespace corbel::sched {

namespace {

// Read in the first thread that asks: if that thread is bound to some processors, no others are
// ever used.
const os::ProcessorSet& processors_of_process() {
  static const os::ProcessorSet set = [] {
    os::ProcessorSet s{};
    os::get_processors(&s);
    return s;
  }();
  return set;
}

}  // namespace

os::ProcessorSet processors_for(int node, int core_type, int threads_per_core) {
  os::ProcessorSet set = processors_of_process();
  os::keep_processors(&set, node, core_type, threads_per_core);
  return set;
}

std::unique_ptr<const os::ProcessorSet> processors_of(const ArenaPlan& plan) {
  if (plan.numa_node < 0 && plan.core_type < 0 && plan.threads_per_core <= 0) return nullptr;
  const os::ProcessorSet set =
      processors_for(plan.numa_node, plan.core_type, plan.threads_per_core);
  if (set.count() == 0) return nullptr;
  return std::make_unique<const os::ProcessorSet>(set);
}

void Binding::begin(const os::ProcessorSet* processors) {
  if (processors == nullptr) return;
  before_.reset(new (std::nothrow) os::ProcessorSet);
  if (before_ == nullptr) return;  // binding is only a hint
  if (os::get_processors(before_.get())) {
    os::set_processors(*processors);
  } else {
    before_.reset();
  }
}

Binding::~Binding() {
  if (before_ != nullptr) os::set_processors(*before_);
}

}  // namespace corbel::sched
