// SPDX-License-Identifier: Apache-2.0
// The process-wide settings that the program has made.
#pragma once

#include <corbel/global_control.hpp>

#include <cstddef>
#include <set>

#include "sched/core/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

class Controls {
 public:
  using Parameter = global_control::parameter;

  void add(Parameter p, std::size_t value);
  void remove(Parameter p, std::size_t value);
  std::size_t active_value(Parameter p);

  // A minimum for the thread limit, ignored where the program has set a parallelism.
  void add_minimum(unsigned threads);
  void remove_minimum(unsigned threads);

  // Tells the thread pool its limit before the program has set anything.
  void begin();

  sync::Lock& lock() { return lock_; }

 private:
  std::size_t value(Parameter p) const;
  void apply(Parameter p);

  sync::Lock lock_{kControls};
  std::multiset<std::size_t> values_[global_control::parameter_max];
  std::multiset<unsigned> minimums_;
};

// Never destroyed: threads outlive static objects.
Controls& controls();

}  // namespace corbel::sched
