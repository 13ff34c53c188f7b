// SPDX-License-Identifier: Apache-2.0
// The check that each call makes which gets a block from the program.
#pragma once

#include "alloc/check/ledger.hpp"

namespace corbel::alloc {

enum class Ends : bool { kNo, kYes };  // whether the call frees the block

// Takes the record of `block` if it is live and begins at `pointer`. Reports anything else, and
// ends the process. `name` is that of the function that the program called. `block` is the one that
// contains `pointer` or is next to it, or is empty.
BlockRef take_live(const char* name, Ends ends, const void* pointer, const BlockRef& block);

}  // namespace corbel::alloc
