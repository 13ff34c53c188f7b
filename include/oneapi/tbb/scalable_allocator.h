/* SPDX-License-Identifier: Apache-2.0
   The scalable_* functions, rml pools, the allocator class and the memory resource. For C too. */
#pragma once

#include <corbel/malloc.h>
#ifdef __cplusplus
#include <corbel/scalable_allocator.hpp>
#include <corbel/memory_resource.hpp>
#include <oneapi/tbb/detail/_namespace.h>

namespace tbb {
inline namespace v1 {
using corbel::scalable_allocator;
#if CORBEL_HAS_MEMORY_RESOURCE
using corbel::scalable_memory_resource;
#endif
}
}
#endif
