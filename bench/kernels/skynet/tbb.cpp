// SPDX-License-Identifier: Apache-2.0
// Skynet with the oneTBB API: a task group for every node.
#include <tbb/task_group.h>

#include <array>

#include "../tbb_width.hpp"
#include "skynet.hpp"

namespace {

using skynet::Part;
using skynet::Sum;

Sum sum(Part part) {
  if (part.is_leaf()) return part.first;
  std::array<Sum, skynet::kChildren> found{};
  tbb::task_group children;
  for (unsigned i = 0; i < skynet::kChildren; ++i) {
    children.run([child = part.child(i), &result = found[i]] { result = sum(child); });
  }
  children.wait();
  Sum total = 0;
  for (const Sum one : found) total += one;
  return total;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  skynet::measure(arguments, result,
                  [&](Part part) { return width.run([&] { return sum(part); }); });
}

}  // namespace

const bench::Kernel bench::kernel = skynet::description(run);
