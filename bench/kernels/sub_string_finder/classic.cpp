// SPDX-License-Identifier: Apache-2.0
// sub_string_finder with the parallel loop of classic_for.hpp, in its four variants.
#include <memory>

#include "classic_for.hpp"
#include "classic_width.hpp"
#include "sub_string_finder.hpp"

namespace {

sub_string_finder::Find prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return bench::with_tricks(arguments.text("variant", ""), [&](auto tricks) {
    return sub_string_finder::Find([width](sub_string_finder::Job& job, std::size_t end) {
      bench::classic_for<decltype(tricks)::value>(
          tbb::blocked_range<std::size_t>(0, end, job.grain),
          [&](const tbb::blocked_range<std::size_t>& part) { job.find(part.begin(), part.end()); });
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = sub_string_finder::kernel(prepare);
