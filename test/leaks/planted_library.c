// SPDX-License-Identifier: Apache-2.0
// Keeps a block in a library's data.
#include <stdlib.h>
#include <string.h>

void* volatile kept;

void keep_block(size_t size) {
  kept = malloc(size);
  memset(kept, 0, size);
}
