// SPDX-License-Identifier: Apache-2.0
// Skynet with OpenMP tasks.
#include <array>

#include "../openmp_width.hpp"
#include "skynet.hpp"

namespace {

using skynet::Part;
using skynet::Sum;

Sum sum(Part part) {
  if (part.is_leaf()) return part.first;
  std::array<Sum, skynet::kChildren> found{};
  for (unsigned i = 0; i < skynet::kChildren; ++i) {
#pragma omp task firstprivate(part, i) shared(found)
    found[i] = sum(part.child(i));
  }
#pragma omp taskwait
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
