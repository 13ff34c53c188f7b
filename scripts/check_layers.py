#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the architecture against the #include lines.

- No folder of src/ includes what lies above it in LAYERS.
- No components include each other in a cycle. A component is a header with its source, the two
  files that share a name.
- Operating system and processor stay behind src/os and src/arch, public headers stay apart.

So the picture in docs/design.md cannot drift away from the code unseen. Usage: check_layers.py
[ROOT], or check_layers.py --self-test.
"""

import pathlib
import re
import sys
import tempfile

BASE = ["base", "arch", "os", "unwind", "sync"]

# The levels of a library's rooms, bottom first; the rooms of one level do not know each other.
# "alloc" stands for the files that lie in no room: the allocator's interface.
LEVELS = {
    "alloc": [["alloc/map"], ["alloc/pages"], ["alloc/heap"], ["alloc/policy"], ["alloc/report"],
              ["alloc/stacks"], ["alloc/sample", "alloc/check"],
              ["alloc/profile", "alloc/guard"], ["alloc/time_profile", "alloc/leaks"],
              ["alloc/control"], ["alloc"]],
    "sched": [["sched/core"], ["sched/trace"], ["sched/arena"], ["sched/pool"], ["sched/fibers"],
              ["sched/api", "sched/classic"]],
}
ALLOC = [room for level in LEVELS["alloc"] for room in level]


def stacked(below, levels):
    """Each room may include `below`, and the rooms of the levels before its own."""
    return {room: {*below, *(lower for before in levels[:i] for lower in before)}
            for i, level in enumerate(levels) for room in level}


# Folder of src/ -> the folders of src/ that it may include besides itself.
LAYERS = {
    **stacked([], [[folder] for folder in BASE]),
    **stacked(BASE, LEVELS["alloc"]),
    **stacked(BASE, LEVELS["sched"]),
    "pools": {*BASE, *ALLOC},
    "proxy": {*BASE, *ALLOC},
    "tbb12": {"base"},
}
# What src/proxy/windows may include, which changes code of the system's libraries.
SYSTEM = {"os/windows/api.hpp", "arch/memory_access.hpp", "arch/x86_64/instruction.hpp"}

# Folder -> the families of public headers that it may include, by the first folder of their path.
PUBLIC = {
    "src/alloc": {"corbel"},
    "src/sched": {"corbel"},
    "src/pools": {"corbel"},
    "src/proxy": {"corbel"},
    "src/tbb12": {"corbel"},
    "include/corbel": {"corbel"},
    "include/tbb": {"corbel", "tbb", "oneapi"},
    "include/oneapi": {"corbel", "tbb", "oneapi"},
    "tools": {"corbel"},
}
# What only TBB 2020 had is built on the modern interface, never the other way round.
CLASSIC_HEADERS = "corbel/classic/"
MAY_INCLUDE_CLASSIC = ("include/corbel/classic/", "include/tbb/", "include/oneapi/", "src/sched/")

# Headers without state of the allocator on which it and the corbel command must agree.
SHARED_WITH_TOOLS = {
    "base/memory_amount.hpp", "os/os.hpp", "os/linux/container.hpp", "os/linux/request.hpp",
    "alloc/policy/limit_amount.hpp", "proxy/windows/functions.inc",
}

SYSTEM_HEADER = re.compile(
    r"^(sys/|linux/|asm/|bits/|windows\.h|mach/|unistd\.h|pthread\.h|dlfcn\.h|fcntl\.h|sched\.h"
    r"|signal\.h|link\.h|elf\.h|malloc\.h|syscall\.h)"
)
SYSTEM_MACRO = re.compile(r"\b(__linux__|__gnu_linux__|_WIN32|__APPLE__|__ANDROID__|__FreeBSD__)\b")
ARCH_HEADER = re.compile(r"^(\w*mmintrin\.h|cpuid\.h|arm_\w+\.h)$")
ARCH_MACRO = re.compile(r"\b(__x86_64__|__i386__|__aarch64__|_M_X64|_M_ARM64)\b")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"^\s*#\s*(if|elif|ifdef|ifndef)\b")
SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".in"}


def includes_of(text):
    """Yields (line number, whether it is quoted, name)."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def layer_of(folder):
    """The innermost folder around `folder`, itself included, that LAYERS has; None if there is
    none. src/os/linux belongs to os."""
    while folder not in LAYERS:
        folder, _, rest = folder.rpartition("/")
        if not folder:
            return None
    return folder


def folder_of(name):
    return name.rpartition("/")[0]


# ---- one file ------------------------------------------------------------------------------------


def check_layers_of(path, name):
    """What is wrong with an include of `name`, a path below src/, in a file of src/."""
    folder = folder_of(path.as_posix())[len("src/"):]
    mine, other = layer_of(folder), layer_of(folder_of(name))
    if other != mine and other not in LAYERS[mine]:
        yield f"src/{mine} may not include {name}: {other or name} is not below it"
    elif folder == "proxy/windows" and name in SYSTEM:
        pass
    elif name.startswith("os/") and name != "os/os.hpp" and mine != "os":
        yield f"{name} is an implementation of the os contract; include os/os.hpp"
    elif name.startswith("arch/") and name != "arch/arch.hpp" and mine != "arch":
        yield f"{name} is for one processor; include arch/arch.hpp"


def check_public_header(path, top, name):
    place = "/".join(path.parts[:2]) if top != "tools" else "tools"
    if name.split("/")[0] not in PUBLIC.get(place, set()):
        yield f"{place} may not include the public header {name}"
    elif (name.startswith(CLASSIC_HEADERS) and top != "tools"
          and not path.as_posix().startswith(MAY_INCLUDE_CLASSIC)):
        yield f"{name} is of TBB 2020; what is not may not include it"


def check_include(root, path, quoted, name):
    top = path.parts[0]
    first = name.split("/")[0]
    if first in ("corbel", "tbb", "oneapi") and "/" in name:
        yield from check_public_header(path, top, name)
    elif "/" in name and (root / "src" / first).is_dir() and layer_of(folder_of(name)):
        if top == "src":
            yield from check_layers_of(path, name)
        elif top == "tools" and ((root / path.parent / name).exists() or name in SHARED_WITH_TOOLS):
            return
        else:
            yield f"{path.parent} may not include {name}: only public headers"
    elif quoted and name.startswith(".."):
        yield f'"{name}": include by the path from src/ or include/'


def check_system(path, text):
    """Yields (line, what) where a library names an operating system or a processor itself."""
    if path.parts[0] != "src":
        return
    knows_os, knows_arch = path.parts[1] in ("os", "proxy"), path.parts[1] in ("os", "arch")
    # Calling conventions and thread-local storage differ between systems on one processor.
    may_ask = knows_os or path.parts[1] == "arch" or path.as_posix() == "src/base/thread_variable.hpp"
    for number, _, name in includes_of(text):
        if SYSTEM_HEADER.match(name) and not knows_os:
            yield number, f"<{name}> belongs to the operating system; see src/os"
        if ARCH_HEADER.match(name) and not knows_arch:
            yield number, f"<{name}> belongs to a processor; see src/arch"
    for number, line in enumerate(text.splitlines(), 1):
        if not CONDITION.match(line):
            continue
        if SYSTEM_MACRO.search(line) and not may_ask:
            yield number, "asks which operating system this is outside src/os"
        if ARCH_MACRO.search(line) and not knows_arch:
            yield number, "asks which processor this is outside src/arch"


def check_file(root, path, text):
    if path.parts[0] == "src" and layer_of(folder_of(path.as_posix())[len("src/"):]) is None:
        return [f"{path}: this folder is in no layer; add it to scripts/check_layers.py"]
    problems = [f"{path}:{line}: {what}" for line, quoted, name in includes_of(text)
                for what in check_include(root, path, quoted, name)]
    return problems + [f"{path}:{line}: {what}" for line, what in check_system(path, text)]


# ---- cycles --------------------------------------------------------------------------------------


def components_of(texts):
    """Component -> the components that it includes, for files of src/ and include/ given as
    {path: text}."""
    roots = ("src/", "include/")
    known = {path.with_suffix("").as_posix() for path in texts}
    graph = {}
    for path, text in texts.items():
        mine = path.with_suffix("").as_posix()
        edges = graph.setdefault(mine, set())
        for _, _, name in includes_of(text):
            stem = name.rpartition(".")[0]
            edges.update(root + stem for root in roots if root + stem in known)
        edges.discard(mine)
    return graph


def cycles_of(graph):
    """The sets of components that reach each other (R. Tarjan, "Depth-first search and linear graph
    algorithms", 1972), without the recursion."""
    number, low, stack, on_stack, cycles = {}, {}, [], set(), []
    for start in sorted(graph):
        if start in number:
            continue
        work = [(start, iter(sorted(graph[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, edges = work[-1]
            following = next(edges, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    found = set()
                    while node not in found:
                        found.add(stack.pop())
                    on_stack -= found
                    if len(found) > 1:
                        cycles.append(found)
            elif following not in number:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(graph[following]))))
            elif following in on_stack:
                low[node] = min(low[node], number[following])
    return cycles


def check_cycles(texts):
    graph = components_of(texts)
    for cycle in cycles_of(graph):
        edges = [f"  {a} includes {b}" for a in sorted(cycle) for b in sorted(graph[a] & cycle)]
        yield f"cycle of {len(cycle)} components:\n" + "\n".join(edges)


# ---- the tree ------------------------------------------------------------------------------------


def check_tree(root):
    texts = {
        path.relative_to(root): path.read_text(errors="replace")
        for top in ("src", "include", "tools")
        for path in sorted((root / top).rglob("*"))
        if path.suffix in SUFFIXES and path.is_file()
    }
    problems = [what for path, text in texts.items() for what in check_file(root, path, text)]
    in_libraries = {path: text for path, text in texts.items() if path.parts[0] != "tools"}
    return len(texts), problems + list(check_cycles(in_libraries))


def order_of_rooms():
    for library, levels in LEVELS.items():
        names = [", ".join(room.rpartition("/")[2] if room != library else "interface"
                           for room in level) for level in levels]
        yield f"src/{library}: {' <- '.join(names)}"


def self_test():
    """Each case: files with one line each, and whether a problem must be found."""
    cases = [
        ({"src/base/a.hpp": '#include "alloc/map/span.hpp"'}, True),
        ({"src/sync/a.hpp": '#include "alloc/heap/heap.hpp"'}, True),
        ({"src/alloc/heap/a.cpp": '#include "os/os.hpp"'}, False),
        ({"src/alloc/heap/a.cpp": '#include "os/linux/guard.hpp"'}, True),
        ({"src/alloc/heap/a.cpp": '#include "proxy/linux/proxy.hpp"'}, True),
        ({"src/alloc/heap/a.cpp": '#include "sched/core/thread.hpp"'}, True),
        ({"src/alloc/heap/a.cpp": '#include "alloc/map/span.hpp"'}, False),
        ({"src/alloc/heap/a.cpp": '#include "alloc/heap/b.hpp"'}, False),
        ({"src/alloc/map/a.cpp": '#include "alloc/heap/heap.hpp"'}, True),
        ({"src/alloc/map/a.cpp": '#include "alloc/allocator.hpp"'}, True),
        ({"src/alloc/policy/a.cpp": '#include "alloc/report/stats.hpp"'}, True),
        ({"src/alloc/c_api.cpp": '#include "alloc/report/stats.hpp"'}, False),
        ({"src/alloc/elsewhere/a.cpp": '#include "alloc/report/stats.hpp"'}, False),
        ({"src/sched/core/a.cpp": '#include "alloc/map/span.hpp"'}, True),
        ({"src/sched/core/a.cpp": '#include "sched/arena/arena.hpp"'}, True),
        ({"src/sched/api/a.cpp": '#include "sched/classic/b.hpp"'}, True),
        ({"src/sched/a.cpp": '#include "sched/core/thread.hpp"'}, True),
        ({"src/alloc/heap/a.cpp": "#include <sys/mman.h>"}, True),
        ({"src/alloc/heap/a.cpp": "#  include <sys/mman.h>"}, True),
        ({"src/os/linux/a.cpp": "#include <sys/mman.h>"}, False),
        ({"src/alloc/heap/a.cpp": "#ifdef __linux__"}, True),
        ({"src/base/a.hpp": "#if defined(_WIN32)"}, True),
        ({"src/base/thread_variable.hpp": "#if defined(_WIN32)"}, False),
        ({"src/arch/x86_64/a.hpp": "#if defined(_WIN32)"}, False),
        ({"src/alloc/heap/a.cpp": "#include <immintrin.h>"}, True),
        ({"src/alloc/c_api.cpp": "#include <corbel/malloc.h>"}, False),
        ({"src/base/a.hpp": "#include <corbel/malloc.h>"}, True),
        ({"include/corbel/a.hpp": '#include "alloc/map/span.hpp"'}, True),
        ({"include/corbel/a.hpp": "#include <tbb/tick_count.h>"}, True),
        ({"include/corbel/a.hpp": "#include <corbel/classic/task.hpp>"}, True),
        ({"include/corbel/classic/a.hpp": "#include <corbel/classic/task.hpp>"}, False),
        ({"include/tbb/a.h": "#include <corbel/classic/task.hpp>"}, False),
        ({"include/tbb/a.h": "#include <corbel/a.hpp>"}, False),
        ({"tools/corbel/a.cpp": '#include "alloc/map/span.hpp"'}, True),
        ({"tools/corbel/a.cpp": '#include "base/memory_amount.hpp"'}, False),
        ({"tools/corbel/a.cpp": '#include "base/bits.hpp"'}, True),
        ({"include/corbel/a.hpp": '#include "base/memory_amount.hpp"'}, True),
        ({"tools/corbel/a.cpp": "#include <corbel/malloc.h>"}, False),
        ({"tools/corbel/a.cpp": "#include <unistd.h>"}, False),
        ({"src/proxy/a.cpp": '#include "pools/pool.hpp"'}, True),
        ({"src/pools/a.cpp": '#include "alloc/map/span.hpp"'}, False),
        ({"src/pools/a.cpp": '#include "sched/arena/arena.hpp"'}, True),
        ({"src/sched/classic/a.cpp": '#include "pools/pool.hpp"'}, True),
        ({"src/sched/classic/a.cpp": '#include "alloc/map/span.hpp"'}, True),
        ({"src/proxy/a.cpp": '#include "../alloc/map/span.hpp"'}, True),
        ({"src/elsewhere/a.cpp": "#include <cstddef>"}, True),
        # Cycles: two headers; a source and another component's header; three; none.
        ({"src/alloc/map/a.hpp": '#include "alloc/map/b.hpp"',
          "src/alloc/map/b.hpp": '#include "alloc/map/a.hpp"'}, True),
        ({"src/alloc/map/a.cpp": '#include "alloc/map/b.hpp"', "src/alloc/map/a.hpp": "",
          "src/alloc/map/b.hpp": '#include "alloc/map/a.hpp"'}, True),
        ({"include/corbel/a.hpp": "#include <corbel/b.hpp>",
          "include/corbel/b.hpp": "#include <corbel/c.hpp>",
          "include/corbel/c.hpp": "#include <corbel/a.hpp>"}, True),
        ({"src/alloc/map/a.cpp": '#include "alloc/map/a.hpp"', "src/alloc/map/a.hpp": "",
          "src/alloc/map/b.hpp": '#include "alloc/map/a.hpp"'}, False),
    ]
    wrong = 0
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for layer in LAYERS:
                (root / "src" / layer).mkdir(parents=True, exist_ok=True)
            for name, line in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(line + "\n")
            found = bool(check_tree(root)[1])
            if found != expected:
                wrong += 1
                print(f"self-test: {files}: {'found' if found else 'not found'}")
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
    for order in order_of_rooms():
        print(order)
    print(f"check_layers: {count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
