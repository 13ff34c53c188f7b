// SPDX-License-Identifier: Apache-2.0
// tacheon without a scheduler: the base of the speed-ups.
#include "tacheon.hpp"

namespace {

tacheon::Draw prepare(bench::Arguments&) {
  return [](tacheon::Job& job, std::size_t end) { job.draw(0, end); };
}

}  // namespace

const bench::Kernel bench::kernel = tacheon::kernel(prepare);
