// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "alloc/map/private_api.hpp"

namespace corbel::alloc {

// Frees a block of this allocator; nullptr is ignored; errno is kept. A pointer that is not ours
// goes to the foreign handler (foreign.hpp); without one the process ends with one clear line.
CORBEL_PRIVATE_API void deallocate(void* block) noexcept;

}  // namespace corbel::alloc
