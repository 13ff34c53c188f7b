# SPDX-License-Identifier: Apache-2.0
"""What the recipes of mimalloc's checked builds share."""
import platform
import re

# Those of its CMakeLists.txt for an overriding shared library. Nothing is defined that would turn
# assertions off: the lab's usual flags have NDEBUG.
FLAGS = ["-std=gnu11", "-UNDEBUG", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB",
         "-DMI_SHARED_LIB_EXPORT", "-fvisibility=hidden", "-ftls-model=initial-exec",
         "-fno-builtin-malloc"]
RELEASE = ["-DNDEBUG", "-DMI_BUILD_RELEASE", "-DMI_CMAKE_BUILD_TYPE=release"]
DEBUG = ["-O1", "-g1", "-DMI_CMAKE_BUILD_TYPE=debug"]


def build(context, series, defines):
    sources = context.crate("libmimalloc-sys") / "c_src" / "mimalloc" / series
    machine = ["-march=armv8.1-a"] if platform.machine() == "aarch64" else []
    kind = DEBUG if any("MI_DEBUG" in one for one in defines) else RELEASE
    context.shared_library("libmimalloc.so", [sources / "src" / "static.c"],
                           [*FLAGS, *kind, *machine, *defines, f"-I{sources / 'include'}"])


def version(context, series):
    header = context.folder / f"libmimalloc-sys/c_src/mimalloc/{series}/include/mimalloc.h"
    number = re.search(r"#define MI_MALLOC_VERSION\s+(\d+)", header.read_text()).group(1)
    return f"{number[:-4]}.{int(number[-4:-2])}.{int(number[-2:])}"
