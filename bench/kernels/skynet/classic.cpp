// SPDX-License-Identifier: Apache-2.0
// Skynet on classic tbb::task: ten children at once, then a wait.
#include <tbb/task.h>

#include <array>

#include "../classic_width.hpp"
#include "skynet.hpp"

namespace {

using skynet::Part;
using skynet::Sum;

class Node : public tbb::task {
 public:
  Node(Part part, Sum* result) : part_(part), result_(result) {}

  tbb::task* execute() override {
    if (part_.is_leaf()) {
      *result_ = part_.first;
      return nullptr;
    }
    std::array<Sum, skynet::kChildren> found{};
    tbb::task_list children;
    for (unsigned i = 0; i < skynet::kChildren; ++i) {
      children.push_back(*new (allocate_child()) Node(part_.child(i), &found[i]));
    }
    set_ref_count(skynet::kChildren + 1);  // and the wait
    spawn_and_wait_for_all(children);
    for (const Sum one : found) *result_ += one;
    return nullptr;
  }

 private:
  const Part part_;
  Sum* const result_;
};

Sum sum(Part part) {
  Sum result = 0;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Node(part, &result));
  return result;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  skynet::measure(arguments, result, sum);
}

}  // namespace

const bench::Kernel bench::kernel = skynet::description(run);
