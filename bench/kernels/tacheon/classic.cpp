// SPDX-License-Identifier: Apache-2.0
// tacheon with the parallel loop of classic_for.hpp, in its four variants.
#include <memory>

#include "classic_for.hpp"
#include "classic_width.hpp"
#include "tacheon.hpp"

namespace {

tacheon::Draw prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return bench::with_tricks(arguments.text("variant", ""), [&](auto tricks) {
    return tacheon::Draw([width](tacheon::Job& job, std::size_t end) {
      bench::classic_for<decltype(tricks)::value>(
          tbb::blocked_range<std::size_t>(0, end, job.grain),
          [&](const tbb::blocked_range<std::size_t>& part) { job.draw(part.begin(), part.end()); });
    });
  });
}

}  // namespace

const bench::Kernel bench::kernel = tacheon::kernel(prepare);
