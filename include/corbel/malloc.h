/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of Corbel's allocator, for C99 and later and C++11 and later. The scalable_*
 * functions have the names, types and constants of the TBB allocator: code written for one compiles
 * and links with the other unchanged. Link with -lcorbelmalloc (or with the drop-in -ltbbmalloc).
 *
 * Sizes and alignments are in bytes. No function throws. Any thread may call any function at any
 * time in the life of a process: before main, in exit handlers, in the child of a fork. Any thread
 * may free a block. scalable_free, scalable_aligned_free and scalable_msize accept a block from any
 * allocation function of this header.
 *
 * Freed memory that stays unused returns to the operating system after about a second
 * (CORBEL_PURGE_DELAY), whichever thread allocated or freed it. If the program's threads make no
 * calls that could do this, a helper thread does it; it exists only in programs where two threads
 * have used the allocator at the same time (CORBEL_HELPER_THREAD=never, auto or always). The
 * command TBBMALLOC_CLEAN_ALL_BUFFERS returns the memory at once.
 */
#ifndef CORBEL_MALLOC_H
#define CORBEL_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CORBEL_API __attribute__((visibility("default")))
/* An attribute rather than noexcept: programs that declare these functions themselves, as older TBB
 * headers did, would not compile against a noexcept declaration. */
#define CORBEL_NOTHROW __attribute__((nothrow))
#else
#define CORBEL_API
#define CORBEL_NOTHROW
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library found at run time, "major.minor.patch", as a constant string.
 * It may differ from the version of the headers a program was compiled with. */
CORBEL_API const char* corbel_version(void) CORBEL_NOTHROW;

/* malloc (C11 7.22.3.4). Returns a block of at least `size` bytes, aligned to 16, or to 8 if
 * `size` <= 8. Size 0 returns a unique block. Returns NULL and sets errno to ENOMEM if memory is
 * exhausted or `size` > PTRDIFF_MAX. */
CORBEL_API void* scalable_malloc(size_t size) CORBEL_NOTHROW;

/* free (C11 7.22.3.3). Frees a block from any allocation function of this header. Ignores NULL.
 * Preserves errno. A pointer to memory of another allocator ends the process with a message, unless
 * the replacement library (malloc_proxy.h) is active and passes the pointer on. */
CORBEL_API void scalable_free(void* ptr) CORBEL_NOTHROW;

/* realloc (C11 7.22.3.5). Returns a block of at least `size` bytes that has the old contents up to
 * the smaller of the two sizes, and frees the old block if the contents had to move. (NULL, n)
 * allocates; (ptr, 0) frees and returns NULL. On failure returns NULL, sets errno to ENOMEM and
 * leaves the old block unchanged. A larger alignment than 16 is not preserved; see
 * scalable_aligned_realloc. */
CORBEL_API void* scalable_realloc(void* ptr, size_t size) CORBEL_NOTHROW;

/* calloc (C11 7.22.3.2). Returns a block of `nobj * size` zero bytes. Returns NULL and sets errno
 * to ENOMEM if the product overflows or memory is exhausted. */
CORBEL_API void* scalable_calloc(size_t nobj, size_t size) CORBEL_NOTHROW;

/* posix_memalign (POSIX.1-2017). Stores a block of `size` bytes aligned to `alignment` in `*memptr`
 * and returns 0. Size 0 stores a unique block. On error leaves `*memptr` unchanged and returns
 * EINVAL if `alignment` is not a power of two or is smaller than sizeof(void*), ENOMEM if memory is
 * exhausted. */
CORBEL_API int scalable_posix_memalign(void** memptr, size_t alignment, size_t size) CORBEL_NOTHROW;

/* _aligned_malloc (Microsoft C run-time library). Returns a block of `size` bytes aligned to
 * `alignment`. On failure returns NULL and sets errno: EINVAL if `alignment` is not a power of two
 * or `size` is 0, ENOMEM if memory is exhausted. */
CORBEL_API void* scalable_aligned_malloc(size_t size, size_t alignment) CORBEL_NOTHROW;

/* _aligned_realloc (Microsoft C run-time library). Like scalable_realloc, with a result aligned to
 * `alignment`. `ptr` may come from any allocation function of this header. (NULL, n) allocates;
 * (ptr, 0) frees and returns NULL. On failure returns NULL, leaves the old block unchanged and sets
 * errno: EINVAL if `alignment` is not a power of two, ENOMEM if memory is exhausted. */
CORBEL_API void* scalable_aligned_realloc(void* ptr, size_t size, size_t alignment) CORBEL_NOTHROW;

/* _aligned_free (Microsoft C run-time library). The same function as scalable_free. */
CORBEL_API void scalable_aligned_free(void* ptr) CORBEL_NOTHROW;

/* malloc_usable_size (glibc). Returns the number of bytes the program may use in a block, at least
 * the size it asked for. Returns 0 and sets errno to EINVAL for NULL and for a pointer that is not
 * a block of this allocator. */
CORBEL_API size_t scalable_msize(void* ptr) CORBEL_NOTHROW;

/* Results of scalable_allocation_mode and scalable_allocation_command. */
typedef enum {
  TBBMALLOC_OK = 0,            /* done */
  TBBMALLOC_INVALID_PARAM = 1, /* unknown mode or command, or value out of range */
  TBBMALLOC_UNSUPPORTED = 2,   /* known, but not available on this system */
  TBBMALLOC_NO_MEMORY = 3,     /* not enough memory to carry it out */
  TBBMALLOC_NO_EFFECT = 4      /* done, but nothing changed */
} ScalableAllocationResult;

/* Modes for scalable_allocation_mode. */
typedef enum {
  /* Value: 1 asks the operating system for huge pages, 0 does not. Overrides the environment
   * variable TBB_MALLOC_USE_HUGE_PAGES. */
  TBBMALLOC_USE_HUGE_PAGES = 0,
  USE_HUGE_PAGES = TBBMALLOC_USE_HUGE_PAGES, /* old name, kept for old programs */
  /* Value: bytes. The same as corbel_set_heap_limit. No request fails because of this limit. 0
   * removes it. */
  TBBMALLOC_SET_SOFT_HEAP_LIMIT = 1,
  /* Value: bytes. Blocks of this size and above count as huge: purging keeps their memory for
   * reuse. It returns to the system only through scalable_allocation_command or when the soft limit
   * is reached. Overrides the environment variable TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD. */
  TBBMALLOC_SET_HUGE_SIZE_THRESHOLD = 2
} AllocationModeParam;

/* Sets the mode `param` (an AllocationModeParam) to `value` for the whole process. Returns a
 * ScalableAllocationResult: TBBMALLOC_OK, or TBBMALLOC_INVALID_PARAM for an unknown mode or a value
 * out of range. */
CORBEL_API int scalable_allocation_mode(int param, intptr_t value) CORBEL_NOTHROW;

/* Commands for scalable_allocation_command. */
typedef enum {
  TBBMALLOC_CLEAN_ALL_BUFFERS = 0,   /* release the free memory cached for all threads */
  TBBMALLOC_CLEAN_THREAD_BUFFERS = 1 /* release the free memory cached for the calling thread */
} ScalableAllocationCmd;

/* Runs the command `cmd` (a ScalableAllocationCmd). `param` is reserved and must be NULL. Returns a
 * ScalableAllocationResult: TBBMALLOC_OK if memory was released, TBBMALLOC_NO_EFFECT if there was
 * none to release, TBBMALLOC_INVALID_PARAM for an unknown command or a non-null `param`. */
CORBEL_API int scalable_allocation_command(int cmd, void* param) CORBEL_NOTHROW;

/* The two limits below bound the footprint: the memory the allocator has committed for blocks, for
 * free memory it keeps and for its own tables. They are in bytes, exact for any value, and apply to
 * the whole process. The functions cannot fail and return 0. Any thread may call them at any time,
 * from the callback below too; of two concurrent calls either may take effect last. A limit set by
 * a call overrides the environment (CORBEL_HEAP_LIMIT, CORBEL_HEAP_HARD_LIMIT). A soft limit above
 * the hard limit has no effect. */

/* A special value of `bytes` for the two functions below: the limit is derived from the container
 * the process runs in; outside of a container there is none. */
#define CORBEL_HEAP_LIMIT_AUTO ((size_t)-1)

/* Sets the soft limit. Before the footprint grows above it, the allocator releases free memory from
 * all its caches, those of other threads included as far as they can be reached. If that is not
 * enough, the footprint grows anyway: the soft limit never fails a request. Memory above a new
 * limit is released before the call returns. 0 removes the limit. Returns 0. */
CORBEL_API int corbel_set_heap_limit(size_t bytes) CORBEL_NOTHROW;

/* Sets the hard limit. The footprint never grows above it. If a request would need that, the
 * allocator first releases all free memory (unless the request is larger than the limit, when that
 * cannot help) and calls the callback below. If there is still no room, the request fails: NULL and
 * errno ENOMEM, or std::bad_alloc from new; realloc leaves the old block unchanged. A freed block
 * makes room at once. Freeing, and realloc to a smaller size, never need room. While more memory is
 * in use than the limit allows, every request that needs fresh memory fails. 0 removes the limit.
 * Returns 0. */
CORBEL_API int corbel_set_heap_hard_limit(size_t bytes) CORBEL_NOTHROW;

/* The limit callback. The allocator calls it before the hard limit fails a request, with the
 * `context` given to corbel_on_limit. `size` is the number of bytes by which the footprint would
 * have to grow; that may be less or more than the program asked for. The callback frees what the
 * program can spare and returns nonzero to retry the request, or 0 to let it fail. A request calls
 * it at most eight times, and not again after a 0. operator new makes a new request each time its
 * new_handler returns.
 *
 * The callback runs in the requesting thread, inside the allocation function, and possibly in
 * several threads at once. The allocator holds no lock during the call; the program still holds the
 * locks it held when it made the request. The callback may call every function of this header and
 * of the C library's malloc family: it may allocate, change the limits, and free any block except
 * one that is being reallocated. A request of the callback that hits the limit fails without
 * another call. The allocator restores errno afterwards.
 *
 * Compilers assume that malloc and new change nothing the program can see. Data that the callback
 * changes and the requesting code reads must therefore be atomic or volatile, or be read through a
 * call that the compiler cannot see through. Otherwise the code may use an old value.
 *
 * The callback must not throw: no function of this header throws, so the exception would reach a
 * caller that cannot be unwound, and std::terminate would end the process. It must not leave
 * through longjmp or pthread_exit either: the thread would count as inside the callback for the
 * rest of its life and never call it again. */
typedef int (*corbel_limit_callback)(void* context, size_t size);

/* Sets the limit callback and its context for the whole process; NULL removes it. Returns 0. Any
 * thread may call it at any time. Another thread may still be inside the old callback, or about to
 * enter it, when this returns: what the old callback uses must outlive that. */
CORBEL_API int corbel_on_limit(corbel_limit_callback callback, void* context) CORBEL_NOTHROW;

/* Where a limit comes from. */
enum corbel_limit_source {
  CORBEL_LIMIT_DEFAULT = 0,     /* not set: derived from the container */
  CORBEL_LIMIT_ENVIRONMENT = 1, /* CORBEL_HEAP_LIMIT, CORBEL_HEAP_HARD_LIMIT */
  CORBEL_LIMIT_CALL = 2         /* a function of this header */
};

/* State of the helper thread. */
enum corbel_helper_thread {
  CORBEL_HELPER_NONE = 0,    /* no helper: not needed yet, not allowed, or it could not start */
  CORBEL_HELPER_RESTING = 1, /* sleeps until there is memory to release */
  CORBEL_HELPER_WORKING = 2  /* releases memory, or waits until it is due */
};

/* Blocks of one size class. */
struct corbel_size_class_stats {
  size_t block_size;    /* bytes per block: the largest request the class serves */
  size_t slabs;         /* slabs, each cut into blocks of this size */
  size_t used_blocks;   /* held by the program */
  size_t cached_blocks; /* free, in the cache of a thread */
  size_t free_blocks;   /* free, in their slab */
  size_t purged_blocks; /* free and decommitted */
  size_t uncarved;      /* bytes of the slabs not, or not yet, cut into blocks */
  size_t reserved;      /* 0 */
};

#define CORBEL_SIZE_CLASSES 96

/* Statistics of the whole process, in bytes unless stated otherwise. Block sizes are rounded up to
 * what the allocator uses for them.
 *
 * Other threads run while the figures are counted. Each figure is right at some moment of the call,
 * and one that a thread is about to change may be slightly off. Nevertheless they add up:
 *
 *   mapped == live + thread_cached + slab_free + orphan_free + slab_purged + uncarved
 *             + free_resident + free_purged
 *
 * Over all size classes, the products of block counts and block sizes add up to live - large_live,
 * thread_cached, slab_free + orphan_free, slab_purged and uncarved. The memory of pools
 * (pool_create) counts as live.
 *
 * A thread caches some free blocks that no other thread can count. Those of the calling thread
 * count as thread_cached; those of other threads count as live, at most one slab's blocks per size
 * class. Remote frees on their way to a thread other than the caller count as live too. The heap of
 * a thread that has just ended counts like that of a thread, until it is taken apart. */
struct corbel_heap_stats {
  size_t size; /* sizeof this structure in the library */

  /* Memory the process holds because of the allocator: all committed pages, which it has touched or
   * may touch at any time, its own tables included. Never less than their resident size. It is
   * counted separately, so it differs from mapped - uncommitted + metadata by what changes during
   * the call. */
  size_t footprint;
  size_t peak_footprint; /* maximum of footprint so far */

  /* Address space for blocks, and its use. */
  size_t mapped;        /* taken from the operating system: the sum given above */
  size_t live;          /* held by the program */
  size_t large_live;    /* part of live: blocks with their own pages, larger than 128 KiB */
  size_t large_count;   /* number of those blocks */
  size_t thread_cached; /* free, in thread caches, or remote frees not sent to the owner yet */
  size_t slab_free;     /* free blocks in slabs that a thread owns */
  size_t orphan_free;   /* free blocks in orphan slabs, which any thread may adopt */
  size_t slab_purged;   /* free, decommitted blocks */
  size_t uncarved;      /* bytes of slabs not, or not yet, cut into blocks */
  size_t free_resident; /* free spans, committed */
  size_t free_purged;   /* free spans, and ends of large blocks, decommitted or never touched */
  size_t free_count;    /* number of free spans */
  size_t largest_free;  /* bytes of the largest free span */
  size_t peak_mapped;   /* maximum of mapped so far */
  size_t uncommitted;   /* part of mapped outside the footprint: decommitted or never touched */

  /* The allocator's own tables. */
  size_t metadata;        /* their part of the footprint */
  size_t metadata_mapped; /* their address space */

  /* The limits of the footprint, and their effect. */
  size_t soft_limit;        /* 0: none */
  size_t soft_limit_source; /* a corbel_limit_source */
  size_t hard_limit;        /* 0: none */
  size_t hard_limit_source; /* a corbel_limit_source */
  size_t container_limit;   /* on all memory of the container, as last read; 0: none or unknown */
  size_t limit_searches;    /* how often the allocator searched for memory to release for a limit */
  size_t limit_episodes;    /* how often the footprint rose above the soft limit */
  size_t limit_excess;      /* the most by which it exceeded the soft limit */
  size_t limit_refusals;    /* number of requests that the hard limit failed */

  size_t threads;     /* number of threads that have a heap */
  size_t map_calls;   /* number of system calls for address space */
  size_t purge_calls; /* number of system calls that released memory */

  /* The first class_count entries are in use, by increasing size. */
  size_t class_count;
  struct corbel_size_class_stats classes[CORBEL_SIZE_CLASSES];

  /* Work done on behalf of idle threads. */
  size_t heaps_taken_over; /* how often an idle thread's heap was released for it */
  size_t helper_thread;    /* a corbel_helper_thread */
};

/* Stores the statistics in `*stats`. `size` is sizeof(*stats) in the program; the call writes that
 * many bytes. Programs and libraries of different versions agree on the fields both know: fields
 * are only added at the end, and an older library sets fields it does not know to 0. Reads the
 * descriptor of every slab, which takes 0.2 ms of processor time per GiB of slabs; stops no thread.
 * Returns 0, or EINVAL if `stats` is NULL or `size` too small for the first field. */
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* the structure has the same name */
#endif
CORBEL_API int corbel_heap_stats(struct corbel_heap_stats* stats, size_t size) CORBEL_NOTHROW;
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

/* Writes the statistics to `buffer` as one JSON object without a line end. It has the fields of
 * struct corbel_heap_stats under their names, except `size` and `class_count`; a "version"; and of
 * `classes` those that have slabs. Limit sources are "default", "environment" or "call"; the helper
 * thread is "none", "resting" or "working". Like snprintf, writes at most `size` bytes, the last of
 * which is 0, and returns the length of the whole text without it: the text fits if that is less
 * than `size`. 24 KiB are always enough. `buffer` may be NULL if `size` is 0. */
CORBEL_API size_t corbel_heap_stats_json(char* buffer, size_t size) CORBEL_NOTHROW;

/* Looks for leaks: blocks that nothing can reach any more. Requires that the process was started
 * with the environment variable CORBEL_LEAKS=1; without it, blocks are not recorded. Stops all
 * other threads meanwhile, and reports as at exit: to standard error, or to the file that
 * CORBEL_LEAKS names. Returns 1 if there are definite leaks, 0 if there are none. Returns -1 and
 * sets errno: ENOTSUP if blocks are not recorded, EBUSY if another thread is in this function,
 * EPERM if no scan was possible, as the report says. System calls in which other threads wait may
 * fail with EINTR. */
CORBEL_API int corbel_leak_check(void) CORBEL_NOTHROW;

/* The heap profile: what holds the program's memory, and what allocates it, by call stack and
 * thread. It samples the bytes that the program allocates, on average one in `every`, and counts
 * each sampled block for as many blocks as it stands for. So its figures are estimates, and
 * unbiased ones: if the profile says that a call stack holds `b` bytes in blocks of less than
 * `every` bytes, the standard deviation of that is the square root of `b * every`. Block sizes are
 * rounded up to what the allocator uses for them. A realloc that changes the size of a block counts
 * as a free and an allocation.
 *
 * These functions may be called by any thread at any time. CORBEL_PROFILE=heap starts the profile
 * with the program, and writes it when the program ends. */

/* Starts the profile, or continues it, for the whole process. `every` is a number of bytes up to
 * 2^40; 0 stands for 524288, and for more in a thread that allocates gigabytes in a second, so that
 * the profile costs next to nothing; 1 samples every block. A thread begins to sample when it has
 * used up the free blocks that it has at hand. If the profile is on already, `every` replaces the
 * old value for later blocks. Returns 0, or EINVAL if `every` is too large. */
CORBEL_API int corbel_heap_profile_start(size_t every) CORBEL_NOTHROW;

/* Samples no more. What the profile knows remains, and blocks that are sampled are still counted
 * when they are freed. Returns 0. */
CORBEL_API int corbel_heap_profile_stop(void) CORBEL_NOTHROW;

/* Writes the profile of all blocks sampled so far to the file `path`, in the format of pprof
 * (profile.proto, in a gzip file): blocks and bytes allocated, in use now, and in use when the
 * process had most in use. The file has its name only when it is complete; an older one is replaced
 * then. Returns 0; EINVAL if `path` is NULL; ENOMEM if there is no memory to prepare the file; or
 * the error number of the file operation that failed, as ENOENT, EACCES or ENOSPC. On Windows
 * `path` is in UTF-8. */
CORBEL_API int corbel_heap_profile_write(const char* path) CORBEL_NOTHROW;

/* Writes the profile to the open file `file` and leaves that open. Returns the same errors, and
 * EBUSY, before it writes anything, if a thread is recording a block at that moment: then try
 * again. Async-signal-safe: may be called in a signal handler. On Windows returns ENOTSUP and does
 * nothing: the number of a file belongs to a C runtime, of which a process may have several. Use
 * corbel_heap_profile_write there. */
CORBEL_API int corbel_heap_profile_write_fd(int file) CORBEL_NOTHROW;

/* For a program that runs with full checks (CORBEL_CHECK=full): looks for writes outside of blocks
 * and for writes to freed blocks, in the whole heap. If it finds one, it reports it on stderr and
 * ends the process. Returns 0 if it finds none, and ENOTSUP if there are no full checks. Other
 * threads may use the heap meanwhile. */
CORBEL_API int corbel_check_heap(void) CORBEL_NOTHROW;

/* corbel_allocate returns a block of `size` bytes aligned to `alignment`, a power of two; size 0
 * returns a unique address. Returns NULL if memory is exhausted or `alignment` is not a power of
 * two. corbel_deallocate frees such a block and ignores NULL.
 *
 * cache_aligned_allocator, tbb_allocator and the C++ headers call these two. libcorbel has them
 * too: there they use Corbel's allocator if the program has it, else the C library's. So, as with
 * TBB, a program that does not call scalable_malloc itself needs only one of the libraries. */
CORBEL_API void* corbel_allocate(size_t size, size_t alignment) CORBEL_NOTHROW;
CORBEL_API void corbel_deallocate(void* ptr) CORBEL_NOTHROW;

#ifdef __cplusplus
} /* extern "C" */

#include "raw_pool.hpp" /* rml::pool_*, which TBB declares in the same header */
#endif

#endif /* CORBEL_MALLOC_H */
