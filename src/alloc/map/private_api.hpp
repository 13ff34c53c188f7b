// SPDX-License-Identifier: Apache-2.0
// Marks what the allocator exports only to Corbel's other libraries, under a symbol version of its
// own. A program that links the allocator statically exports none of it: a preloaded proxy must not
// bind to that program's copy.
#pragma once

#if defined(CORBEL_STATIC)
#define CORBEL_PRIVATE_API
#else
#define CORBEL_PRIVATE_API __attribute__((visibility("default")))
#endif
