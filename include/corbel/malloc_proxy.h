/* SPDX-License-Identifier: Apache-2.0
 *
 * Include this header in one source file of a program (C or C++) to replace malloc, free, new and
 * delete of the whole program with Corbel's. The header leaves a reference to the replacement
 * library, so the linker keeps that library whatever the order of the libraries, with --as-needed
 * too. Link with -lcorbelmalloc_proxy (or with the drop-in -ltbbmalloc_proxy). No code runs at
 * start-up. As in TBB's tbbmalloc_proxy.h.
 *
 * On Windows the header has the library's DLL loaded with the program. Microsoft's compiler and
 * clang-cl take corbelmalloc_proxy.lib by themselves; with MinGW link with -lcorbelmalloc_proxy.
 */
#ifndef CORBEL_MALLOC_PROXY_H
#define CORBEL_MALLOC_PROXY_H

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol that keeps the replacement library linked; only that library defines it. Never call
 * it. */
void __TBB_malloc_proxy(void);

/* Reports whether the replacement is active: returns 0 if malloc and its family resolve to Corbel,
 * else -1. If `log` is not NULL, stores in `*log` a NULL-terminated array with one line per
 * function, which belongs to the library and stays valid. Any thread may call it; on Windows not
 * in DllMain, nor in a thread that a DllMain waits for. */
int TBB_malloc_replacement_log(char*** log);

#if defined(_MSC_VER)
#pragma comment(lib, "corbelmalloc_proxy.lib")
#pragma comment(linker, "/include:__TBB_malloc_proxy")
#else

#if defined(__has_attribute) && !defined(_WIN32)
#if __has_attribute(retain)
#define CORBEL_KEEP_REFERENCE __attribute__((used, retain))
#endif
#endif
#if !defined(CORBEL_KEEP_REFERENCE)
#define CORBEL_KEEP_REFERENCE __attribute__((used))
#endif

/* `retain` protects the reference from --gc-sections, `used` from the compiler. */
static void (*const corbel_malloc_proxy_reference)(void) CORBEL_KEEP_REFERENCE = __TBB_malloc_proxy;

#undef CORBEL_KEEP_REFERENCE
#endif /* _MSC_VER */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CORBEL_MALLOC_PROXY_H */
