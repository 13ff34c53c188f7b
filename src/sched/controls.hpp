// SPDX-License-Identifier: Apache-2.0
// The settings that the program has made for the whole process.
#pragma once

#include <corbel/global_control.hpp>

#include <atomic>
#include <set>

#include "sched/lock_ranks.hpp"
#include "sync/lock.hpp"

namespace corbel::sched {

class Controls {
 public:
  using Parameter = global_control::parameter;

  void add(Parameter p, std::size_t value);
  void remove(Parameter p, std::size_t value);
  std::size_t active_value(Parameter p);

  // At least so many threads, unless a parallelism was set.
  void add_wish(unsigned threads);
  void remove_wish(unsigned threads);

  // What the pool must know before anybody has set anything.
  void begin();

  // Read where exceptions are caught.
  bool terminates() const { return terminates_.load(std::memory_order_relaxed); }  // a flag

  // Around a fork.
  sync::Lock& lock() { return lock_; }

 private:
  std::size_t value(Parameter p) const;
  void apply(Parameter p);

  sync::Lock lock_{kControl};
  std::multiset<std::size_t> values_[global_control::parameter_max];
  std::multiset<unsigned> wishes_;
  std::atomic<bool> terminates_{false};
};

// Never destroyed: threads outlive static objects.
Controls& controls();

}  // namespace corbel::sched
