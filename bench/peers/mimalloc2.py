# SPDX-License-Identifier: Apache-2.0
"""mimalloc 2 (microsoft/mimalloc on GitHub), from the sources inside a crate.

The flags are those of its CMakeLists.txt for a release build of the overriding shared library.
"""

import platform
import re

from lab.peers import Allocator

NAME = "mimalloc2"
TITLE = "mimalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "crates", "package": "libmimalloc-sys"}]
FLAGS = ["-std=gnu11", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT",
         "-DMI_BUILD_RELEASE", "-DMI_CMAKE_BUILD_TYPE=release", "-fvisibility=hidden",
         "-ftls-model=initial-exec", "-fno-builtin-malloc"]


def build(context):
    sources = context.crate("libmimalloc-sys") / "c_src" / "mimalloc" / "v2"
    machine = ["-march=armv8.1-a"] if platform.machine() == "aarch64" else []
    context.shared_library("libmimalloc.so", [sources / "src" / "static.c"],
                           [*FLAGS, *machine, f"-I{sources / 'include'}"])


def version(context):
    header = context.folder / "libmimalloc-sys/c_src/mimalloc/v2/include/mimalloc.h"
    number = re.search(r"#define MI_MALLOC_VERSION\s+(\d+)", header.read_text()).group(1)
    return f"{number[:-4]}.{int(number[-4:-2])}.{int(number[-2:])}"


def allocator(context):
    return Allocator([str(context.folder / "libmimalloc.so")])
