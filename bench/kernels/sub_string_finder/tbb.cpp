// SPDX-License-Identifier: Apache-2.0
// sub_string_finder with tbb::parallel_for and the simple partitioner: pieces of the grain size.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <memory>

#include "sub_string_finder.hpp"
#include "tbb_width.hpp"

namespace {

sub_string_finder::Find prepare(bench::Arguments& arguments) {
  const auto width = std::make_shared<bench::Width>(arguments.threads());
  return [width](sub_string_finder::Job& job, std::size_t end) {
    width->run([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, end, job.grain),
          [&](const tbb::blocked_range<std::size_t>& part) { job.find(part.begin(), part.end()); },
          tbb::simple_partitioner());
    });
  };
}

}  // namespace

const bench::Kernel bench::kernel = sub_string_finder::kernel(prepare);
