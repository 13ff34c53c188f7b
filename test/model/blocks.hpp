// SPDX-License-Identifier: Apache-2.0
// The memory that the headers under test get from the library. A run that is abandoned leaves its
// blocks behind: the next test frees them.
#pragma once

#include <cstddef>

namespace corbel::model {

// Frees the blocks of the runs before. A test that uses blocks calls it first.
void forget_blocks();

// The number of blocks that have not been freed.
std::size_t count_blocks();

}  // namespace corbel::model
