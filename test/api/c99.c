/* SPDX-License-Identifier: Apache-2.0
 * The C interface from C99, through both headers. */
#include <corbel/malloc.h>
#include <tbb/scalable_allocator.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>

int main(void) {
  void* p = scalable_malloc(100);
  void* aligned = NULL;
  struct corbel_heap_stats stats;
  if (p == NULL || scalable_msize(p) < 100) return 1;
  memset(p, 1, 100);
  p = scalable_realloc(p, 1000);
  if (p == NULL || ((char*)p)[99] != 1) return 2;
  scalable_free(p);
  p = scalable_calloc(10, 10);
  if (p == NULL || ((char*)p)[99] != 0) return 3;
  scalable_free(p);
  if (scalable_posix_memalign(&aligned, 4096, 10) != 0 || (uintptr_t)aligned % 4096 != 0) return 4;
  aligned = scalable_aligned_realloc(aligned, 10000, 256);
  if (aligned == NULL || (uintptr_t)aligned % 256 != 0) return 5;
  scalable_aligned_free(aligned);
  errno = 0;
  if (scalable_aligned_malloc(10, 3) != NULL || errno != EINVAL) return 6;
  if (scalable_allocation_mode(TBBMALLOC_SET_SOFT_HEAP_LIMIT, 0) != TBBMALLOC_OK) return 7;
  if (scalable_allocation_command(2, NULL) != TBBMALLOC_INVALID_PARAM) return 8;
  if (corbel_heap_stats(&stats, sizeof(stats)) != 0 || stats.size != sizeof(stats)) return 9;
  if (stats.classes[stats.class_count - 1].block_size == 0) return 10;
  if (corbel_heap_stats_json(NULL, 0) < 100) return 11;
  if (corbel_heap_profile_start(0) != 0 || corbel_heap_profile_stop() != 0) return 12;
  if (corbel_heap_profile_write(NULL) != EINVAL || corbel_heap_profile_write_fd(-1) == 0) return 13;
  return strlen(corbel_version()) < 5;
}
