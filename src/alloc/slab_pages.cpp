// SPDX-License-Identifier: Apache-2.0
#include "alloc/slab_pages.hpp"

namespace corbel::alloc {

std::size_t purge_pages(Heap*) { return 0; }

std::size_t purge_orphan_pages() { return 0; }

}  // namespace corbel::alloc
