/* SPDX-License-Identifier: Apache-2.0
 *
 * Including this header in one source file of a program (C or C++) makes the whole program run on
 * Corbel's malloc, free, new and delete: it leaves a reference to the replacement library, so that
 * the linker keeps that library, whatever the order of the libraries and with --as-needed too.
 * Link with -lcorbelmalloc_proxy (or with the drop-in -ltbbmalloc_proxy). Nothing runs at start.
 */
#ifndef CORBEL_MALLOC_PROXY_H
#define CORBEL_MALLOC_PROXY_H

#ifdef __cplusplus
extern "C" {
#endif

/* An anchor that only the replacement library defines. Never call it. */
void __TBB_malloc_proxy(void);

/* Whether the replacement is active. Returns 0 when malloc and its family lead to Corbel, -1 when
 * not. If `log` is not NULL, `*log` becomes a NULL-terminated array of one line for each function,
 * which belongs to the library and stays valid. May be called from any thread. */
int TBB_malloc_replacement_log(char*** log);

#if defined(__has_attribute)
#if __has_attribute(retain)
#define CORBEL_KEEP_REFERENCE __attribute__((used, retain))
#endif
#endif
#if !defined(CORBEL_KEEP_REFERENCE)
#define CORBEL_KEEP_REFERENCE __attribute__((used))
#endif

/* `retain` holds against --gc-sections, `used` against the compiler. */
static void (*const corbel_malloc_proxy_reference)(void) CORBEL_KEEP_REFERENCE = __TBB_malloc_proxy;

#undef CORBEL_KEEP_REFERENCE

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CORBEL_MALLOC_PROXY_H */
