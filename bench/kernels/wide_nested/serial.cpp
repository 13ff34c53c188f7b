// SPDX-License-Identifier: Apache-2.0
// Loops in loops, trees and pipelines without a scheduler: their time is the work.
#include "wide_nested.hpp"

namespace {

void run(bench::Arguments& arguments, bench::Result& result) {
  const auto call = [](const std::string&, const wide::Structure& s, const wide::Bodies& bodies) {
    for (const std::uint32_t us : s.serial) wide::sleep_us(us);
    for (std::size_t i = 0; i < bodies.count(); ++i) bodies(i);
  };
  wide::nested(arguments, result, call);
}

}  // namespace

const bench::Kernel bench::kernel = wide::nested_description(run);
