// SPDX-License-Identifier: Apache-2.0
// Classic tasks that several tests use.
#pragma once

#include <tbb/task.h>

#include <atomic>
#include <functional>
#include <utility>

#include "helped.hpp"

namespace test {

// A task that calls a function with itself as the argument.
class Call : public tbb::task {
 public:
  using Function = std::function<tbb::task*(Call&)>;
  explicit Call(Function f) : function_(std::move(f)) {}
  tbb::task* execute() override { return function_(*this); }

 private:
  Function function_;
};

// Runs `f` as a root.
inline void run(const Call::Function& f) {
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Call(f));
}

// Counts its objects and its runs.
class Leaf : public tbb::task {
 public:
  Leaf(Balance& balance, std::atomic<int>& runs) : counted_(balance), runs_(runs) {}
  tbb::task* execute() override {
    ++runs_;
    return nullptr;
  }

 private:
  Counted counted_;
  std::atomic<int>& runs_;
};

}  // namespace test
