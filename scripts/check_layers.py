#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no folder includes what lies above it.

The layers are read from the #include lines, so the picture in docs/design.md cannot drift away
from the code unseen. Usage: check_layers.py [ROOT], or check_layers.py --self-test.
"""

import pathlib
import re
import sys
import tempfile

BELOW_ALLOC = {"base", "arch", "os", "sync", "events"}

# Folder of src/ -> the folders of src/ that it may include besides itself.
LAYERS = {
    "base": set(),
    "arch": {"base"},
    "os": {"base", "arch"},
    "sync": {"base", "arch", "os"},
    "events": {"base", "arch", "os", "sync"},
    "alloc": BELOW_ALLOC,
    "sched": BELOW_ALLOC,
    "compat": BELOW_ALLOC | {"alloc"},
    "compat/sched": BELOW_ALLOC | {"sched"},
    "proxy": BELOW_ALLOC | {"alloc"},
}

# Which public headers (first folder of the path) a place may include.
PUBLIC = {
    "src/alloc": {"corbel"},
    "src/sched": {"corbel"},
    "src/compat": {"corbel", "tbb", "oneapi"},
    "src/compat/sched": {"corbel", "tbb", "oneapi"},
    "src/proxy": {"corbel"},
    "include/corbel": {"corbel"},
    "include/tbb": {"corbel", "tbb", "oneapi"},
    "include/oneapi": {"corbel", "tbb", "oneapi"},
    "tools": {"corbel"},
}

# Headers without state of the allocator on which it and the corbel command must agree.
SHARED_WITH_TOOLS = {"base/memory_amount.hpp", "os/linux/container.hpp", "alloc/limit_amount.hpp"}

# Headers of an operating system: for src/os alone, and for src/proxy, which has a file a platform.
SYSTEM_HEADER = re.compile(
    r"^(sys/|linux/|asm/|bits/|windows\.h|mach/|unistd\.h|pthread\.h|dlfcn\.h|fcntl\.h|sched\.h"
    r"|signal\.h|link\.h|elf\.h|malloc\.h|syscall\.h)"
)
SYSTEM_MACRO = re.compile(r"\b(__linux__|__gnu_linux__|_WIN32|__APPLE__|__ANDROID__|__FreeBSD__)\b")
ARCH_HEADER = re.compile(r"^(\w*mmintrin\.h|cpuid\.h|arm_\w+\.h)$")
ARCH_MACRO = re.compile(r"\b(__x86_64__|__i386__|__aarch64__|_M_X64|_M_ARM64)\b")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".in"}


def place_of(path):
    """("src", "alloc") for src/alloc/x.cpp, ("tools", "corbel") for tools/corbel/main.cpp.

    A folder inside another one is a place of its own if LAYERS has it."""
    parts = path.parts
    inner = "/".join(parts[1:3])
    if len(parts) > 3 and inner in LAYERS:
        return parts[0], inner
    return parts[0], parts[1] if len(parts) > 2 else ""


def check_file(root, path):
    top, folder = place_of(path)
    place = f"{top}/{folder}" if top != "tools" else "tools"
    problems = []
    if top == "src" and folder not in LAYERS:
        return [f"{path}: src/{folder} is in no layer; add it to scripts/check_layers.py"]
    in_library = top == "src"
    may_know_os = not in_library or folder in ("os", "proxy")
    may_know_arch = not in_library or folder in ("arch", "os")
    for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
        where = f"{path}:{number}"
        match = INCLUDE.match(line)
        if match:
            quoted, name = match.group(1) == '"', match.group(2)
            problems += [f"{where}: {what}" for what in
                         check_include(root, path, place, top, folder, quoted, name)]
            if SYSTEM_HEADER.match(name) and not may_know_os:
                problems.append(f"{where}: <{name}> belongs to the operating system; "
                                "only src/os and src/proxy may include it")
            if ARCH_HEADER.match(name) and not may_know_arch:
                problems.append(f"{where}: <{name}> belongs to a processor; see src/arch")
        elif re.match(r"^\s*#\s*(if|elif|ifdef|ifndef)\b", line):
            if SYSTEM_MACRO.search(line) and not may_know_os:
                problems.append(f"{where}: asks which operating system this is outside src/os")
            if ARCH_MACRO.search(line) and not may_know_arch:
                problems.append(f"{where}: asks which processor this is outside src/arch")
    return problems


def check_include(root, path, place, top, folder, quoted, name):
    first = name.split("/")[0]
    if first in ("corbel", "tbb", "oneapi") and "/" in name:
        if first not in PUBLIC.get(place, set()):
            yield f"{place} may not include the public header {name}"
        return
    from_src = first in LAYERS and "/" in name and (root / "src" / first).is_dir()
    if from_src and (top != "tools" or not (root / path.parent / name).exists()):
        if top == "tools" and name in SHARED_WITH_TOOLS:
            return
        if top != "src":
            yield f"{place} may not include {name}: only public headers"
        elif pathlib.PurePosixPath(name).parent.as_posix() != folder and (
                first != folder and first not in LAYERS[folder]):
            yield f"src/{folder} may not include {name}: that lies above it or beside it"
        elif name.startswith("os/") and name != "os/os.hpp" and folder != "os":
            yield f"{name} is an implementation of the os contract; include os/os.hpp"
        elif name.startswith("arch/") and name != "arch/arch.hpp" and folder != "arch":
            yield f"{name} is for one processor; include arch/arch.hpp"
    elif quoted and name.startswith(".."):
        yield f'"{name}": include by the path from src/ or include/'


def check_tree(root):
    problems, count = [], 0
    for top in ("src", "include", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                count += 1
                problems += check_file(root, path.relative_to(root))
    return count, problems


def self_test():
    """Each line: a file, one line of it, and whether that must be found."""
    cases = [
        ("src/base/a.hpp", '#include "alloc/span.hpp"', True),
        ("src/sync/a.hpp", '#include "events/counters.hpp"', True),
        ("src/alloc/a.cpp", '#include "os/os.hpp"', False),
        ("src/alloc/a.cpp", '#include "os/linux/guard.hpp"', True),
        ("src/alloc/a.cpp", '#include "proxy/linux.hpp"', True),
        ("src/alloc/a.cpp", '#include "sched/task.hpp"', True),
        ("src/sched/a.cpp", '#include "alloc/span.hpp"', True),
        ("src/alloc/a.cpp", "#include <sys/mman.h>", True),
        ("src/alloc/a.cpp", "#  include <sys/mman.h>", True),
        ("src/os/linux/a.cpp", "#include <sys/mman.h>", False),
        ("src/alloc/a.cpp", "#ifdef __linux__", True),
        ("src/alloc/a.cpp", "#include <immintrin.h>", True),
        ("src/alloc/c_api.cpp", "#include <corbel/malloc.h>", False),
        ("src/base/a.hpp", "#include <corbel/malloc.h>", True),
        ("include/corbel/a.hpp", '#include "alloc/span.hpp"', True),
        ("include/corbel/a.hpp", "#include <tbb/tick_count.h>", True),
        ("include/tbb/a.h", "#include <corbel/a.hpp>", False),
        ("tools/corbel/a.cpp", '#include "alloc/span.hpp"', True),
        ("tools/corbel/a.cpp", '#include "base/memory_amount.hpp"', False),
        ("tools/corbel/a.cpp", '#include "base/bits.hpp"', True),
        ("include/corbel/a.hpp", '#include "base/memory_amount.hpp"', True),
        ("tools/corbel/a.cpp", "#include <corbel/malloc.h>", False),
        ("tools/corbel/a.cpp", "#include <unistd.h>", False),
        ("src/proxy/a.cpp", '#include "compat/pool.hpp"', True),
        ("src/compat/a.cpp", '#include "alloc/span.hpp"', False),
        ("src/compat/a.cpp", '#include "sched/arena.hpp"', True),
        ("src/compat/sched/a.cpp", '#include "sched/arena.hpp"', False),
        ("src/compat/sched/a.cpp", '#include "compat/sched/b.hpp"', False),
        ("src/compat/sched/a.cpp", '#include "compat/pool.hpp"', True),
        ("src/compat/sched/a.cpp", '#include "alloc/span.hpp"', True),
        ("src/proxy/a.cpp", '#include "../alloc/span.hpp"', True),
        ("src/elsewhere/a.cpp", "#include <cstddef>", True),
    ]
    wrong = 0
    for file, line, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for layer in LAYERS:
                (root / "src" / layer).mkdir(parents=True)
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(line + "\n")
            found = bool(check_tree(root)[1])
            if found != expected:
                wrong += 1
                print(f"self-test: {file}: {line}: {'found' if found else 'not found'}")
    print(f"check_layers self-test: {len(cases) - wrong} of {len(cases)} cases right")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    count, problems = check_tree(root)
    for problem in problems:
        print(problem)
    if count == 0:
        print("check_layers: no source found")
        return 1
    print(f"check_layers: {count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
