// SPDX-License-Identifier: Apache-2.0
// A vector of one thread: std::vector.
#include <vector>

#include "vector.hpp"

namespace {

class Vector : public std::vector<std::uint64_t> {
 public:
  void grow(const std::uint64_t* first, std::size_t count) { insert(end(), first, first + count); }
};

}  // namespace

const bench::Kernel bench::kernel = vector::description(vector::measure<Vector>);
