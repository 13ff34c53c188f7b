// SPDX-License-Identifier: Apache-2.0
// sub_string_finder without a scheduler: the base of the speed-ups.
#include "sub_string_finder.hpp"

namespace {

sub_string_finder::Find prepare(bench::Arguments&) {
  return [](sub_string_finder::Job& job, std::size_t end) { job.find(0, end); };
}

}  // namespace

const bench::Kernel bench::kernel = sub_string_finder::kernel(prepare);
