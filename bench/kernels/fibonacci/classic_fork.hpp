// SPDX-License-Identifier: Apache-2.0
// The Fibonacci recursion on classic tbb::task, in the four ways of the 2007 article.
#pragma once

#include <tbb/task.h>

#include "../classic_tricks.hpp"
#include "fibonacci.hpp"

namespace fibonacci {

using bench::Tricks;

// The continuation of the parent: adds the results of the two children.
class Sum : public tbb::task {
 public:
  explicit Sum(std::uint64_t* result) : result_(result) {}

  tbb::task* execute() override {
    *result_ = a + b;
    return nullptr;
  }

  std::uint64_t a = 0, b = 0;

 private:
  std::uint64_t* const result_;
};

template <Tricks kTricks>
class Fork : public tbb::task {
 public:
  Fork(unsigned n, unsigned cutoff, std::uint64_t* result)
      : n_(n), cutoff_(cutoff), result_(result) {}

  tbb::task* execute() override {
    if (n_ < cutoff_) {
      *result_ = below_cutoff(n_);
      return nullptr;
    }
    if constexpr (kTricks == Tricks::kPlain) {
      std::uint64_t a = 0, b = 0;
      set_ref_count(3);  // two children and the wait
      spawn(*new (allocate_child()) Fork(n_ - 2, cutoff_, &b));
      spawn_and_wait_for_all(*new (allocate_child()) Fork(n_ - 1, cutoff_, &a));
      *result_ = a + b;
      return nullptr;
    } else {
      Sum& sum = *new (allocate_continuation()) Sum(result_);
      sum.set_ref_count(2);
      tbb::task& second = *new (sum.allocate_child()) Fork(n_ - 2, cutoff_, &sum.b);
      if constexpr (kTricks == Tricks::kRecycling) {
        recycle_as_child_of(sum);
        n_ -= 1;
        result_ = &sum.a;
        spawn(second);
        return this;
      } else {
        tbb::task& first = *new (sum.allocate_child()) Fork(n_ - 1, cutoff_, &sum.a);
        spawn(second);
        if constexpr (kTricks == Tricks::kBypass) return &first;
        spawn(first);
        return nullptr;
      }
    }
  }

 private:
  unsigned n_;
  const unsigned cutoff_;
  std::uint64_t* result_;
};

template <Tricks kTricks>
std::uint64_t parallel(unsigned n, unsigned cutoff) {
  std::uint64_t result = 0;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root())
                                     Fork<kTricks>(n, cutoff, &result));
  return result;
}

}  // namespace fibonacci
