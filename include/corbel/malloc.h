/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of Corbel's allocator, for C99 and C++11 upwards: the scalable_* functions with
 * the names, types and numbers of the TBB allocator, so that code written for either is compiled
 * and linked with the other unchanged. Link with -lcorbelmalloc (or with the drop-in -ltbbmalloc).
 *
 * All functions may be called from any thread at any time in the life of a process: before main,
 * in exit handlers, in the child of a fork. A block may be freed by a thread other than the one
 * that allocated it. Blocks of every function here are freed by scalable_free or
 * scalable_aligned_free alike, and measured by scalable_msize. None of the functions throws.
 * Sizes and alignments are in bytes.
 *
 * Freed memory that is not used again goes back to the operating system after a second or so
 * (CORBEL_PURGE_DELAY), whichever thread allocated or freed it. Where the program's threads do not
 * come by to do it, a helper thread does, in programs in which two threads have used the allocator
 * at the same time (CORBEL_HELPER_THREAD=never, auto, always). TBBMALLOC_CLEAN_ALL_BUFFERS below
 * gives it back at once.
 */
#ifndef CORBEL_MALLOC_H
#define CORBEL_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CORBEL_API __attribute__((visibility("default")))
/* An attribute, and not noexcept: programs that declare these functions themselves, as older TBB
 * headers did, would otherwise no longer compile. */
#define CORBEL_NOTHROW __attribute__((nothrow))
#else
#define CORBEL_API
#define CORBEL_NOTHROW
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs, "major.minor.patch"; a constant string. It may differ from
 * the version of the headers a program was compiled with. */
CORBEL_API const char* corbel_version(void) CORBEL_NOTHROW;

/* As malloc (C11 7.22.3.4): a block of at least `size` bytes, aligned to 16, or to 8 where
 * size <= 8. Size 0 gives a unique block. NULL with errno ENOMEM when memory is exhausted or
 * size > PTRDIFF_MAX. */
CORBEL_API void* scalable_malloc(size_t size) CORBEL_NOTHROW;

/* As free (C11 7.22.3.3): frees a block of any function of this header. NULL is ignored. errno is
 * kept as it was. */
CORBEL_API void scalable_free(void* ptr) CORBEL_NOTHROW;

/* As realloc (C11 7.22.3.5): gives a block of at least `size` bytes with the old contents up to the
 * smaller of the two sizes; the old block is freed if the block had to move. (NULL, n) allocates;
 * (ptr, 0) frees and returns NULL. NULL with errno ENOMEM on failure, the old block untouched. Only
 * 16-byte alignment is kept; see scalable_aligned_realloc. */
CORBEL_API void* scalable_realloc(void* ptr, size_t size) CORBEL_NOTHROW;

/* As calloc (C11 7.22.3.2): `nobj * size` bytes, all zero. NULL with errno ENOMEM when the product
 * overflows or memory is exhausted. */
CORBEL_API void* scalable_calloc(size_t nobj, size_t size) CORBEL_NOTHROW;

/* As posix_memalign (POSIX.1-2017): stores in `*memptr` a block of `size` bytes aligned to
 * `alignment` and returns 0. EINVAL when `alignment` is not a power of two or is smaller than
 * sizeof(void*); ENOMEM when memory is exhausted. On error `*memptr` is untouched. Size 0 gives a
 * unique block. */
CORBEL_API int scalable_posix_memalign(void** memptr, size_t alignment, size_t size) CORBEL_NOTHROW;

/* As _aligned_malloc of the Microsoft C run-time: a block aligned to `alignment`, any power of two.
 * NULL with errno EINVAL when `alignment` is not a power of two or `size` is 0; NULL with ENOMEM
 * when memory is exhausted. */
CORBEL_API void* scalable_aligned_malloc(size_t size, size_t alignment) CORBEL_NOTHROW;

/* As _aligned_realloc of the Microsoft C run-time: scalable_realloc whose result is aligned to
 * `alignment`, any power of two. The block may come from any function of this header. NULL with
 * errno EINVAL when `alignment` is not a power of two (the old block untouched). (NULL, n)
 * allocates; (ptr, 0) frees and returns NULL. NULL with ENOMEM on failure, the old block
 * untouched. */
CORBEL_API void* scalable_aligned_realloc(void* ptr, size_t size, size_t alignment) CORBEL_NOTHROW;

/* As _aligned_free of the Microsoft C run-time; the same as scalable_free. */
CORBEL_API void scalable_aligned_free(void* ptr) CORBEL_NOTHROW;

/* As malloc_usable_size of glibc: the bytes the program may use in a block, at least the size it
 * asked for. 0 with errno EINVAL for NULL and for a pointer that is not a block of this
 * allocator. */
CORBEL_API size_t scalable_msize(void* ptr) CORBEL_NOTHROW;

/* Results of scalable_allocation_mode and scalable_allocation_command. */
typedef enum {
  TBBMALLOC_OK = 0,            /* done */
  TBBMALLOC_INVALID_PARAM = 1, /* unknown mode or command, or a value out of its range */
  TBBMALLOC_UNSUPPORTED = 2,   /* known, but not available on this system */
  TBBMALLOC_NO_MEMORY = 3,     /* not enough memory to carry it out */
  TBBMALLOC_NO_EFFECT = 4      /* carried out, and nothing changed */
} ScalableAllocationResult;

/* Modes for scalable_allocation_mode. */
typedef enum {
  /* Value 1: ask the operating system for huge pages, 0: do not. Overrides the environment variable
   * TBB_MALLOC_USE_HUGE_PAGES. */
  TBBMALLOC_USE_HUGE_PAGES = 0,
  USE_HUGE_PAGES = TBBMALLOC_USE_HUGE_PAGES, /* the old name, kept for old programs */
  /* Value: bytes. The same as corbel_set_heap_limit, which says what it does. Requests are never
   * refused because of it. 0 removes the limit. */
  TBBMALLOC_SET_SOFT_HEAP_LIMIT = 1,
  /* Value: bytes. Blocks of this size and above count as huge: their memory is kept for reuse
   * through ordinary clean-up and goes back only by scalable_allocation_command or when the soft
   * limit asks for it. Overrides the environment variable TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD. */
  TBBMALLOC_SET_HUGE_SIZE_THRESHOLD = 2
} AllocationModeParam;

/* Sets a mode (an AllocationModeParam) for the whole process. Returns a ScalableAllocationResult:
 * TBBMALLOC_OK, or TBBMALLOC_INVALID_PARAM for an unknown mode or a value out of range. */
CORBEL_API int scalable_allocation_mode(int param, intptr_t value) CORBEL_NOTHROW;

/* Commands for scalable_allocation_command. */
typedef enum {
  TBBMALLOC_CLEAN_ALL_BUFFERS = 0,   /* give back the free memory kept for all threads */
  TBBMALLOC_CLEAN_THREAD_BUFFERS = 1 /* give back what is kept for the calling thread */
} ScalableAllocationCmd;

/* Carries out a command (a ScalableAllocationCmd); `param` is reserved and must be NULL. Returns a
 * ScalableAllocationResult: TBBMALLOC_OK when memory was freed; TBBMALLOC_NO_EFFECT when there was
 * none to free; TBBMALLOC_INVALID_PARAM for an unknown command or a non-null `param`. */
CORBEL_API int scalable_allocation_command(int cmd, void* param) CORBEL_NOTHROW;

/* The two limits below bound the footprint: the memory the allocator has committed, for blocks, for
 * free memory it keeps, and for its own tables. They are in bytes, exact for any value, and hold
 * for the whole process. The functions may be called by any thread at any time, the callback below
 * included; of two calls at the same time either may be the last. They have no errors and return 0.
 * A limit set by a call holds from then on, whatever the environment (CORBEL_HEAP_LIMIT,
 * CORBEL_HEAP_HARD_LIMIT) says. A soft limit above the hard one has no effect. */

/* For `bytes`: as the container the process runs in demands, and no limit outside of one. */
#define CORBEL_HEAP_LIMIT_AUTO ((size_t)-1)

/* Sets the soft limit: before the footprint grows above it, free memory is given back wherever it
 * is kept, by the caches of other threads too as far as these can be reached. If that is not enough
 * the footprint grows all the same: the soft limit never refuses a request. What is above a new
 * limit goes back before the call returns. 0 removes the limit. Returns 0. */
CORBEL_API int corbel_set_heap_limit(size_t bytes) CORBEL_NOTHROW;

/* Sets the hard limit: the footprint never grows above it. A request that would need it to, after
 * all free memory was given back (unless it wants more than the limit, where that cannot help) and
 * the callback (below) was asked, is refused: NULL with errno ENOMEM, std::bad_alloc from new, the
 * old block untouched by realloc. Blocks that are freed make room at once; to free never needs any,
 * nor does realloc to a smaller size. A limit below what is in use refuses all that needs fresh
 * memory until enough was freed. 0 removes the limit. Returns 0. */
CORBEL_API int corbel_set_heap_hard_limit(size_t bytes) CORBEL_NOTHROW;

/* Called with the `context` of corbel_on_limit when the hard limit is about to refuse a request for
 * which the footprint would have to grow by `size` bytes; that may be less than was asked for, or
 * more. It frees what the program can do without and returns nonzero to have the request tried
 * again, or 0 to have it refused. One request makes at most eight calls, and none after a 0; new
 * makes a request each time its new_handler returns.
 *
 * It runs in the thread that made the request, within malloc or new or whatever function it was,
 * and in many threads at once if need be. The allocator holds no lock meanwhile; the program holds
 * those that it held when it made the request. The callback may call every function of this header
 * and of the C library's malloc family: allocate, free all but a block that is just being
 * reallocated, change the limits. A request of its own that hits the limit is refused without a
 * further call. errno is put back afterwards.
 *
 * Compilers know malloc and new, and that these change nothing which the program can see. So what
 * the callback changes and the code reads that made the request has to be atomic or volatile, or
 * read by a call that the compiler cannot see through; else an old value may be used.
 *
 * It must not throw: no function here does, so that the exception meets a caller that cannot be
 * unwound, and std::terminate ends the process. And it must not leave by longjmp or pthread_exit:
 * the thread would count as within its callback for ever, and not call it again. */
typedef int (*corbel_limit_callback)(void* context, size_t size);

/* Sets the callback for the whole process, and what it is called with; NULL removes it. Returns 0.
 * May be called by any thread at any time. A call of the old one may still be under way in another
 * thread, or be just about to begin: what it uses has to outlive that. */
CORBEL_API int corbel_on_limit(corbel_limit_callback callback, void* context) CORBEL_NOTHROW;

/* Who has asked for a limit. */
enum corbel_limit_source {
  CORBEL_LIMIT_DEFAULT = 0,     /* nobody: as the container demands */
  CORBEL_LIMIT_ENVIRONMENT = 1, /* CORBEL_HEAP_LIMIT, CORBEL_HEAP_HARD_LIMIT */
  CORBEL_LIMIT_CALL = 2         /* a function of this header */
};

/* What the helper thread is doing. */
enum corbel_helper_thread {
  CORBEL_HELPER_NONE = 0,    /* there is none: never needed yet, not allowed, or refused */
  CORBEL_HELPER_RESTING = 1, /* sleeps until there is something to give back */
  CORBEL_HELPER_WORKING = 2  /* gives memory back, or waits for the time to do it */
};

/* What the blocks of one size class are doing. */
struct corbel_size_class_stats {
  size_t block_size;    /* bytes of each block; serves requests larger than the class before */
  size_t slabs;         /* pieces of memory that are cut into such blocks */
  size_t used_blocks;   /* held by the program */
  size_t cached_blocks; /* free, in the cache of a thread */
  size_t free_blocks;   /* free, in their slab */
  size_t purged_blocks; /* free, and their memory given back to the operating system */
  size_t uncarved;      /* bytes of the slabs that no block was cut from, yet or ever */
  size_t reserved;      /* 0 */
};

#define CORBEL_SIZE_CLASSES 96

/* The figures of the whole process. They are in bytes where nothing else is said, sizes of blocks
 * rounded up to what the allocator uses for them.
 *
 * The figures are counted while other threads go on: each is right at some moment of the call, and
 * one that a thread was just about to change may be a little off. They agree all the same:
 *
 *   mapped == live + thread_cached + slab_free + orphan_free + slab_purged + uncarved
 *             + free_resident + free_purged
 *
 * and for the size classes, the products of blocks and block sizes add up to live - large_live,
 * thread_cached, slab_free + orphan_free, slab_purged and uncarved. Memory pools (pool_create) hold
 * what they have as live memory.
 *
 * A thread keeps some free blocks at hand where no other can count them. Those of the calling
 * thread are counted as thread_cached; those of other threads count as live: per size class at
 * most what one slab holds. The same holds for blocks that one thread freed and another owns, when
 * they are on their way to another thread than the calling one. */
struct corbel_heap_stats {
  size_t size; /* of this structure, as the library knows it */

  /* What the process holds because of the allocator: memory that was touched or may be at any time,
   * with the allocator's own tables. Never less than what is resident of these; counted on its own,
   * so that it differs from mapped - uncommitted + metadata by what changes during the call. */
  size_t footprint;
  size_t peak_footprint; /* the most it has been */

  /* Address space for blocks, and what it is used for. */
  size_t mapped;        /* taken from the operating system: the sum of the next eight but large_* */
  size_t live;          /* held by the program */
  size_t large_live;    /* part of live: blocks with pages of their own, larger than 128 KiB */
  size_t large_count;   /* how many of those there are */
  size_t thread_cached; /* free, kept at hand by threads, or freed and not sent to the owner yet */
  size_t slab_free;     /* free blocks in the slabs of the threads */
  size_t orphan_free;   /* free blocks in slabs whose thread has ended, for any to take over */
  size_t slab_purged;   /* free blocks whose memory is given back */
  size_t uncarved;      /* in slabs, but no block was cut from it, yet or ever */
  size_t free_resident; /* free memory that is not given back, for whatever is needed next */
  size_t free_purged;   /* free address space, its memory given back or never touched */
  size_t free_count;    /* in how many pieces the last two are, */
  size_t largest_free;  /* and the largest of these */
  size_t peak_mapped;   /* the most that mapped has been */
  size_t uncommitted;   /* of mapped, what is not in the footprint: given back or never touched */

  /* The allocator's own tables. */
  size_t metadata;        /* what the footprint has of them */
  size_t metadata_mapped; /* their address space */

  /* The limits of the footprint, and what they did. */
  size_t soft_limit;        /* 0: none */
  size_t soft_limit_source; /* a corbel_limit_source */
  size_t hard_limit;        /* 0: none */
  size_t hard_limit_source;
  size_t container_limit; /* of all memory of the container, when last looked; 0: none, not known */
  size_t limit_searches;  /* how often free memory was searched for room under a limit */
  size_t limit_episodes;  /* how often the footprint rose above the soft limit, */
  size_t limit_excess;    /* and by how much at most */
  size_t limit_refusals;  /* requests that the hard limit refused */

  size_t threads;     /* how many threads have a heap */
  size_t map_calls;   /* how often the operating system was asked for address space, */
  size_t purge_calls; /* and how often memory was given back */

  /* The size classes, by increasing size: the first class_count. */
  size_t class_count;
  struct corbel_size_class_stats classes[CORBEL_SIZE_CLASSES];

  /* What was done for threads that do not do it themselves. */
  size_t heaps_taken_over; /* how often the heap of a sleeping thread was given back for it */
  size_t helper_thread;    /* a corbel_helper_thread */
};

/* Stores the figures in `*stats`, of which `size` bytes are written: sizeof(*stats) as the program
 * was compiled. Programs and libraries of different versions agree on what both know: fields are
 * only ever added at the end, an older library sets those that it does not know to 0. Costs a look
 * at the description of each slab, 0.2 ms of one processor for a GiB of them; stops no thread.
 * Returns 0, or EINVAL when `stats` is NULL or `size` too small for the first field. */
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* the name of the structure, too */
#endif
CORBEL_API int corbel_heap_stats(struct corbel_heap_stats* stats, size_t size) CORBEL_NOTHROW;
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

/* Writes the same figures to `buffer` as one JSON object, without a line end: the fields of struct
 * corbel_heap_stats under their names, but for `size` and `class_count`, with "version", and with
 * those `classes` that have slabs; the sources of the limits are "default", "environment" or
 * "call", the helper thread is "none", "resting" or "working". As snprintf: at most `size` bytes
 * are written, the last of which is 0, and the length of the whole text without it is returned; it
 * fits if that is less than `size`. 24 KiB are always enough. `buffer` may be NULL when `size` is
 * 0. */
CORBEL_API size_t corbel_heap_stats_json(char* buffer, size_t size) CORBEL_NOTHROW;

/* `size` bytes aligned to `alignment`, a power of two; a unique address when `size` is 0. NULL when
 * memory is exhausted or the alignment is none. To be freed by corbel_deallocate; NULL is ignored.
 *
 * These two are what cache_aligned_allocator, tbb_allocator and the containers of the C++ headers
 * call. They are in libcorbel too, where they use Corbel's allocator if the program has it and else
 * the C library's: as with TBB, a program that does not call scalable_malloc itself needs only one
 * of the libraries. */
CORBEL_API void* corbel_allocate(size_t size, size_t alignment) CORBEL_NOTHROW;
CORBEL_API void corbel_deallocate(void* ptr) CORBEL_NOTHROW;

#ifdef __cplusplus
} /* extern "C" */

#include "raw_pool.hpp" /* rml::pool_*, which TBB declares in the same header */
#endif

#endif /* CORBEL_MALLOC_H */
