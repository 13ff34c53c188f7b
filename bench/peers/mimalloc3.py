# SPDX-License-Identifier: Apache-2.0
"""mimalloc 3 (microsoft/mimalloc on GitHub).

A wheel has the newest version, built for release with its own CMake files; where there is no wheel
for the machine, it is built from the sources inside a crate, with the flags of CMakeLists.txt.
"""

import platform
import re

from lab.peers import Allocator, Unavailable

NAME = "mimalloc3"
TITLE = "mimalloc"
KINDS = {"allocator"}
SOURCES = [{"registry": "pypi", "package": "cmeel-mimalloc"},
           {"registry": "crates", "package": "libmimalloc-sys"}]
FLAGS = ["-std=gnu11", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT",
         "-DMI_BUILD_RELEASE", "-DMI_CMAKE_BUILD_TYPE=release", "-fvisibility=hidden",
         "-ftls-model=initial-exec", "-fno-builtin-malloc"]


def build(context):
    try:
        context.wheel("cmeel-mimalloc")
    except Unavailable as why:
        context.say(str(why))
        sources = context.crate("libmimalloc-sys") / "c_src" / "mimalloc" / "v3"
        machine = ["-march=armv8.1-a"] if platform.machine() == "aarch64" else []
        context.shared_library("libmimalloc.so", [sources / "src" / "static.c"],
                               [*FLAGS, *machine, f"-I{sources / 'include'}"])


def version(context):
    crate = context.folder / "libmimalloc-sys/c_src/mimalloc/v3"  # where there was no wheel
    header = next((crate if crate.is_dir() else context.folder).glob("**/mimalloc.h"))
    number = re.search(r"#define MI_MALLOC_VERSION\s+(\d+)", header.read_text()).group(1)
    return f"{number[:-4]}.{int(number[-4:-2])}.{int(number[-2:])}"


def title(context):
    """With the origin: the wheel is not by the makers of mimalloc, the crate is an older version."""
    wheel = (context.folder / "cmeel-mimalloc").is_dir()
    return f"{TITLE} {version(context)} ({'cmeel wheel' if wheel else 'crate'})"


def allocator(context):
    return Allocator([str(next(context.folder.glob("**/libmimalloc.so")))])
