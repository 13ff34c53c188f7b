/* SPDX-License-Identifier: Apache-2.0
   The scalable_* functions (C and C++), rml pools, the allocator class and the memory resource. */
#pragma once

#include <corbel/malloc.h>
#ifdef __cplusplus
#include <oneapi/tbb/detail/_namespace.h>
#include <corbel/memory_resource.hpp>
#include <corbel/scalable_allocator.hpp>

namespace tbb {
inline namespace v1 {
using corbel::scalable_allocator;
#if CORBEL_HAS_MEMORY_RESOURCE
using corbel::scalable_memory_resource;
#endif
}  // namespace v1
}  // namespace tbb
#endif
