# SPDX-License-Identifier: Apache-2.0
"""Compares what the libraries export and need with lists taken from the originals."""

import os
import unittest

from harness import LIB, ProxyTest, run

# The names that libtbbmalloc.so.2 of oneTBB exports on Linux, both on x86-64 and on aarch64.
TBBMALLOC = """
_ZN3rml10pool_msizeEPNS_10MemoryPoolEPv _ZN3rml10pool_resetEPNS_10MemoryPoolE
_ZN3rml11pool_createElPKNS_13MemPoolPolicyE _ZN3rml11pool_mallocEPNS_10MemoryPoolEm
_ZN3rml12pool_destroyEPNS_10MemoryPoolE _ZN3rml12pool_reallocEPNS_10MemoryPoolEPvm
_ZN3rml13pool_identifyEPv _ZN3rml14pool_create_v1ElPKNS_13MemPoolPolicyEPPNS_10MemoryPoolE
_ZN3rml19pool_aligned_mallocEPNS_10MemoryPoolEmm _ZN3rml20pool_aligned_reallocEPNS_10MemoryPoolEPvmm
_ZN3rml9pool_freeEPNS_10MemoryPoolEPv
__TBB_malloc_safer_aligned_msize __TBB_malloc_safer_aligned_realloc __TBB_malloc_safer_free
__TBB_malloc_safer_msize __TBB_malloc_safer_realloc
scalable_aligned_free scalable_aligned_malloc scalable_aligned_realloc scalable_allocation_command
scalable_allocation_mode scalable_calloc scalable_free scalable_malloc scalable_msize
scalable_posix_memalign scalable_realloc
""".split()

# The names that libtbbmalloc_proxy.so.2 exports.
TBBMALLOC_PROXY = """
_ZdaPv _ZdaPvRKSt9nothrow_t _ZdlPv _ZdlPvRKSt9nothrow_t _Znam _ZnamRKSt9nothrow_t _Znwm
_ZnwmRKSt9nothrow_t __TBB_malloc_proxy __libc_calloc __libc_free __libc_malloc __libc_memalign
__libc_pvalloc __libc_realloc __libc_valloc aligned_alloc calloc free mallinfo malloc
malloc_usable_size mallopt memalign posix_memalign pvalloc realloc valloc
""".split()

# What Corbel replaces in addition: the rest of glibc 2.36, C23, and C++17.
MORE = """
reallocarray malloc_trim mallinfo2 malloc_stats malloc_info free_sized free_aligned_sized cfree
__libc_reallocarray __libc_mallinfo __libc_mallopt __posix_memalign
_ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t
_ZnamSt11align_val_tRKSt9nothrow_t _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
_ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t
_ZdaPvSt11align_val_tRKSt9nothrow_t TBB_malloc_replacement_log corbel_malloc_proxy
""".split()

# What Corbel's own interface adds to both allocators.
CORBEL = """
corbel_version corbel_heap_stats corbel_heap_stats_json corbel_set_heap_limit
corbel_set_heap_hard_limit corbel_on_limit corbel_allocate corbel_deallocate
corbel_heap_profile_start corbel_heap_profile_stop corbel_heap_profile_write
corbel_heap_profile_write_fd
""".split()

PUBLIC_PREFIXES = ("scalable_", "corbel_", "_ZN3rml", "__TBB_malloc_")


def exported(library):
    """name -> version ("" for none) of the defined dynamic symbols."""
    result = run(["nm", "-D", "--defined-only", os.path.join(LIB, library)])
    names = {}
    for line in result.stdout.splitlines():
        fields = line.split()
        if fields[1] == "A":
            continue  # the version itself
        name, _, version = fields[2].partition("@")
        names[name] = version.lstrip("@")
    return names


def needed(library):
    result = run(["readelf", "-d", os.path.join(LIB, library)])
    return [line.split("[")[1].rstrip("]") for line in result.stdout.splitlines()
            if "(NEEDED)" in line]


class Symbols(ProxyTest):
    def test_counts_of_the_originals(self):
        self.assertEqual(len(TBBMALLOC), 27)
        self.assertEqual(len(TBBMALLOC_PROXY), 28)

    def check_unversioned(self, library, wanted):
        names = exported(library)
        self.assertEqual([n for n in wanted if n not in names], [])
        self.assertEqual([n for n in wanted if names[n] != ""], [])

    def test_drop_in_allocator(self):
        self.check_unversioned("libtbbmalloc.so.2", TBBMALLOC)
        names = exported("libtbbmalloc.so.2")
        self.assertEqual([n for n in CORBEL if names.get(n) != "CORBEL_1"], [])

    def test_drop_in_proxy(self):
        self.check_unversioned("libtbbmalloc_proxy.so.2", TBBMALLOC_PROXY + MORE)

    def test_proxy(self):
        self.check_unversioned("libcorbelmalloc_proxy.so.1", TBBMALLOC_PROXY + MORE)

    def test_proxy_exports_nothing_else(self):
        for library in ("libcorbelmalloc_proxy.so.1", "libtbbmalloc_proxy.so.2"):
            extra = set(exported(library)) - set(TBBMALLOC_PROXY) - set(MORE)
            self.assertEqual(extra, set(), library)

    def test_allocator_exports_its_interface(self):
        names = exported("libcorbelmalloc.so.1")
        self.assertEqual([n for n in TBBMALLOC + CORBEL if names.get(n) != "CORBEL_1"], [])
        for library in ("libcorbelmalloc.so.1", "libtbbmalloc.so.2"):
            for name, version in exported(library).items():
                if name.startswith("_ZN6corbel5alloc"):
                    self.assertEqual(version, "CORBEL_PRIVATE_6", name)
                else:
                    self.assertTrue(name.startswith(PUBLIC_PREFIXES), f"{library}: {name}")

    def test_proxy_calls_no_public_name(self):
        """The first library in the process would serve such a call, for example the original
        allocator."""
        for library in ("libcorbelmalloc_proxy.so.1", "libtbbmalloc_proxy.so.2"):
            result = run(["nm", "-D", "--undefined-only", os.path.join(LIB, library)])
            for line in result.stdout.splitlines():
                self.assertFalse(line.split()[-1].startswith(PUBLIC_PREFIXES), line)

    def test_needed(self):
        self.assertEqual(needed("libcorbelmalloc.so.1"), ["libc.so.6"])
        self.assertEqual(needed("libtbbmalloc.so.2"), ["libc.so.6"])
        self.assertEqual(sorted(needed("libcorbelmalloc_proxy.so.1")),
                         ["libc.so.6", "libcorbelmalloc.so.1"])
        self.assertEqual(sorted(needed("libtbbmalloc_proxy.so.2")),
                         ["libc.so.6", "libtbbmalloc.so.2"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
