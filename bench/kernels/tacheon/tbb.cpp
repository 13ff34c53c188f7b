// SPDX-License-Identifier: Apache-2.0
// tacheon with tbb::parallel_for and the simple partitioner: pieces of the grain size.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <memory>

#include "tacheon.hpp"
#include "tbb_width.hpp"

namespace {

tacheon::Draw prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return [width](tacheon::Job& job, std::size_t end) {
    width->run([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, end, job.grain),
          [&](const tbb::blocked_range<std::size_t>& part) { job.draw(part.begin(), part.end()); },
          tbb::simple_partitioner());
    });
  };
}

}  // namespace

const bench::Kernel bench::kernel = tacheon::kernel(prepare);
