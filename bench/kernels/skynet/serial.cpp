// SPDX-License-Identifier: Apache-2.0
// Skynet: the serial program, calls instead of tasks.
#include "../serial_repeats.hpp"
#include "skynet.hpp"

namespace {

skynet::Sum sum(skynet::Part part) {
  if (part.is_leaf()) return part.first;
  skynet::Sum total = 0;
  for (unsigned i = 0; i < skynet::kChildren; ++i) total += sum(part.child(i));
  return total;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::repeat_serially(result,
                         [&](bench::Result& once) { skynet::measure(arguments, once, sum); });
}

}  // namespace

const bench::Kernel bench::kernel = skynet::description(run);
