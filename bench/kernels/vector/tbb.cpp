// SPDX-License-Identifier: Apache-2.0
// A vector with the oneTBB API.
#include <tbb/concurrent_vector.h>

#include "vector.hpp"

namespace {

class Vector : public tbb::concurrent_vector<std::uint64_t> {
 public:
  void grow(const std::uint64_t* first, std::size_t count) { grow_by(first, first + count); }
};

}  // namespace

const bench::Kernel bench::kernel = vector::description(vector::measure<Vector>);
