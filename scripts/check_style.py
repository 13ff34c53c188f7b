#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the sources that a formatter cannot: the licence line, the length of files,
explicit memory orders and the comments that justify them, the words of comments and documents
(prose.py), that the TBB headers stay forwards, and that tbb.h includes them all.

Usage: check_style.py [ROOT], or check_style.py --self-test.
"""

import pathlib
import re
import subprocess
import sys

import prose

SPDX = "SPDX-License-Identifier: Apache-2.0"
CODE = {".h", ".hpp", ".cpp", ".c"}
SOURCES = CODE | {".py", ".sh", ".cmake", ".S", ".tcl"}
SOURCE_NAMES = {"dev", "run", "CMakeLists.txt"}
MAX_LINES = 600
MAX_FORWARD_LINES = 20
# One replaces malloc; names of the others collide with those of std or of parallel_pipeline.h.
# tbb.h has two locks from oneapi/tbb/detail: their own headers include atomic.h and tbb_thread.h.
NOT_IN_UMBRELLA = {"tbb.h", "tbbmalloc_proxy.h", "atomic.h", "tbb_thread.h", "pipeline.h",
                   "critical_section.h", "reader_writer_lock.h"}
# What only TBB 2020 had is in tbb/tbb.h and not in oneapi/tbb.h.
ONLY_IN_TBB_2020 = {"parallel_do.h", "recursive_mutex.h"}

ATOMIC_CALL = re.compile(
    r"[.>]\s*(load|store|exchange|fetch_(?:add|sub|and|or|xor)|compare_exchange_(?:weak|strong)"
    r"|test_and_set)\s*\("
)
ATOMIC_DECLARATION = re.compile(r"\bstd::atomic(?:<[^;=]*?>|_\w+)\s+(\w+)\s*(?:[;{=\[]|$)")


def arguments(text, start):
    """The text between the parenthesis before `start` and its partner."""
    depth = 1
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    return text[start:]


def without_comments(text):
    """The same text, comments and strings blanked, so that line numbers stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_atomics(text):
    """Yields (line, what) for each operation on an atomic that leaves its order to the default."""
    code = without_comments(text)
    for match in ATOMIC_CALL.finditer(code):
        given = arguments(code, match.end())
        # An order may also come through a parameter called `order`, as in a policy.
        if "memory_order" not in given and not re.search(r"\border\b|\bk\w*Order\b", given):
            if match.group(1) in ("load", "test_and_set") and given.strip():
                continue  # a function of the same name with arguments of its own
            yield code.count("\n", 0, match.start()) + 1, f"{match.group(1)} without a memory order"
    for name in set(ATOMIC_DECLARATION.findall(code)):
        hidden = re.compile(rf"(?:\+\+|--)\s*(?:\w+(?:\.|->))*{name}\b|\b{name}\s*(?:\+\+|--|[-+|&^]=)"
                            rf"|(?:\.|->|[;{{}})]\s|^)\s*{name}\s*=(?!=)", re.M)
        for match in hidden.finditer(code):
            yield (code.count("\n", 0, match.start() + 1) + 1,
                   f"operator on the atomic {name}: its order is not written")


# An order that synchronises. Every such operation, and every fence, has a number in its comment, by
# which its partner names it: `// (4) acquire: sees the slab fields published by (2)`.
SYNCHRONISING = re.compile(r"\bmemory_order_(?:consume|acquire|release|acq_rel|seq_cst)\b"
                           r"|\b__ATOMIC_(?:CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b")
NUMBER = re.compile(r"\(\d+\)")
OPERATION = re.compile(r"\b(?:load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set|clear"
                       r"|atomic_thread_fence|__atomic_\w+)\s*\(")
STATEMENT_ENDS = re.compile(r"[;{}:]\s*$|^\s*$|^\s*#")


def statement_around(code, line):
    """The first and the last line of the statement that `line` is part of."""
    first = last = line
    while first > 0 and not STATEMENT_ENDS.search(code[first - 1]):
        first -= 1
    while last + 1 < len(code) and not re.search(r"[;{}]\s*$", code[last]):
        last += 1
    return first, last


def check_numbers(text):
    """Yields (line, what) for each synchronising operation whose comment has no number: a comment in
    the statement, or the one right above it."""
    lines, code = text.split("\n"), without_comments(text).split("\n")
    for at, line in enumerate(code):
        order = SYNCHRONISING.search(line)
        if not order:
            continue
        first, last = statement_around(code, at)
        if not OPERATION.search(" ".join(code[first:last + 1])):
            continue  # the name of an order alone
        while first > 0 and lines[first - 1].strip().startswith("//"):
            first -= 1
        comments = " ".join(l[len(c.rstrip()):] for l, c in
                            zip(lines[first:last + 1], code[first:last + 1]))
        if not NUMBER.search(comments):
            yield at + 1, f"{order.group(0)} without a number that its partner names"


def first_lines_hold_licence(text):
    lines = text.split("\n", 2)[:2]
    if not lines[0].startswith("#!"):
        lines = lines[:1]
    return any(SPDX in line for line in lines)


def length_of_forward(text):
    """An #include is no logic, and tbb.h has one for each of the others."""
    return sum(1 for line in without_comments(text).splitlines()
               if line.strip() and not line.startswith("#include"))


def check_text(path, text):
    problems = []
    if path.suffix != ".md" and not first_lines_hold_licence(text):
        problems.append(f"{path}:1: the first line is not '{SPDX}'")
    lines = text.count("\n")
    if lines > MAX_LINES and path.suffix != ".md":
        problems.append(f"{path}: {lines} lines; split it (over {MAX_LINES} needs a reason)")
    if path.parts[0] in ("src", "include") and path.suffix in CODE:
        problems += [f"{path}:{line}: {what}" for line, what in check_atomics(text)]
        problems += [f"{path}:{line}: {what}" for line, what in check_numbers(text)]
    problems += [f"{path}:{line}: {what}" for line, what in prose.check_prose(path, text)]
    if path.parts[:2] == ("include", "tbb") or path.parts[:2] == ("include", "oneapi"):
        length = length_of_forward(text)
        if length > MAX_FORWARD_LINES and path.suffix in CODE:
            problems.append(f"{path}: {length} lines of code in a forwarding header "
                            f"(at most {MAX_FORWARD_LINES}); the code belongs to include/corbel")
    return problems


def check_umbrellas(new, old, new_umbrella, old_umbrella):
    """What is missing in the texts of oneapi/tbb.h and tbb/tbb.h, given the names of the headers in
    the two folders. tbb/tbb.h includes the other one."""
    new = new - ONLY_IN_TBB_2020
    for name in sorted(new - NOT_IN_UMBRELLA):
        if f"#include <oneapi/tbb/{name}>" not in new_umbrella:
            yield f"include/oneapi/tbb.h: does not #include <oneapi/tbb/{name}>"
    for name in sorted(old - new - NOT_IN_UMBRELLA):
        if f"#include <tbb/{name}>" not in old_umbrella:
            yield f"include/tbb/tbb.h: does not #include <tbb/{name}>"


def check_umbrellas_of(root):
    include = root / "include"
    if not (include / "tbb/tbb.h").is_file():
        return []
    new, old = ({path.name for path in (include / folder).glob("*.h")}
                for folder in ("oneapi/tbb", "tbb"))
    return list(check_umbrellas(new, old, (include / "oneapi/tbb.h").read_text(),
                                (include / "tbb/tbb.h").read_text()))


def files_of(root):
    """What git tracks or would track."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout.splitlines()
    for name in sorted(set(listed)):
        path = pathlib.Path(name)
        if path.suffix in SOURCES or path.suffix == ".md" or path.name in SOURCE_NAMES:
            if (root / path).is_file():
                yield path


def self_test():
    cases = [
        ("src/a/a.cpp", "int a;\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nint a;\n", False),
        ("dev", f"#!/usr/bin/env bash\n# {SPDX}\n", False),
        ("dev", "#!/usr/bin/env bash\n", True),
        ("src/a/a.cpp", f"// {SPDX}\n" + "int a;\n" * 600, True),
        ("src/a/a.cpp", f"// {SPDX}\nint f() {{ return x.load(); }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nint f() {{ return x.load(std::memory_order_relaxed); }}\n", False),
        ("src/a/a.cpp", f"// {SPDX}\nvoid f() {{ x.store(g(1),\n   std::memory_order_release); }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\n// (1) release: with (2)\nvoid f() {{ x.store(g(1),\n"
                        "   std::memory_order_release); }\n", False),
        ("src/a/a.cpp", f"// {SPDX}\n// release: with (2)\nvoid f() {{ x.store(g(1),\n"
                        "   std::memory_order_release); }\n", False),
        ("src/a/a.cpp", f"// {SPDX}\n// release: with the load\nvoid f() {{ x.store(g(1),\n"
                        "   std::memory_order_release); }\n", True),
        ("src/a/a.cpp", f"// {SPDX}\n// (1) release\nint a;\n"
                        "void f() { x.store(1, std::memory_order_release); }\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nint f() {{\n  int y;  // (3) of another line\n"
                        "  return x.load(std::memory_order_acquire);  // (3) acquire: with (2)\n}\n", False),
        ("src/a/a.cpp", f"// {SPDX}\nvoid f() {{ __atomic_x(__ATOMIC_ACQ_REL); }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nint f() {{ return std::memory_order_acq_rel; }}\n", False),
        # Words.
        ("src/a/a.cpp", f"// {SPDX}\n// Who finds nothing looks on.\n", True),
        ("src/a/a.cpp", f"// {SPDX}\n// An idle worker polls. const char* who;\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nconst char* who = \"who\";\n", False),
        ("src/a/a.cpp", f"// {SPDX}\n// What comes to\n// its end behind it.\n", True),
        ("README.md", "For people who read, and users who do not.\n", False),
        ("README.md", "For threads who read.\n", True),
        ("README.md", "```\nwho\n```\n", False),
        ("a/a.py", f"# {SPDX}\n\"\"\"Nobody.\"\"\"\n", True),
        ("a/a.py", f"# {SPDX}\nx = \"nobody\"  # a user\n", False),
        ("a/a.sh", f"# {SPDX}\necho x # for somebody\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nvoid f() {{ x->store(g(1)); }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nvoid f() {{ while (!x.compare_exchange_weak(a, b)) {{}} }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nvoid f() {{ x.exchange(1, order); }}\n", False),
        ("src/a/a.cpp", f"// {SPDX}\nstd::atomic<int> n{{0}};\nvoid f() {{ ++n; }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\nstd::atomic<int> n;\nvoid f() {{ n = 3; }}\n", True),
        ("src/a/a.cpp", f"// {SPDX}\n// x.load() here is only talk\n", False),
        ("include/tbb/a.h", f"// {SPDX}\n" + "int a;\n" * 21, True),
        ("include/tbb/a.h", f"// {SPDX}\n" + "// talk\n" * 21, False),
    ]
    wrong = 0
    for name, text, expected in cases:
        found = bool(check_text(pathlib.Path(name), text))
        if found != expected:
            wrong += 1
            print(f"self-test: {name}: {text!r}: {'found' if found else 'not found'}")
    headers = [
        ({"a.h"}, {"a.h", "tbb.h"}, "#include <oneapi/tbb/a.h>\n", "", False),
        ({"a.h", "b.h"}, {"a.h"}, "#include <oneapi/tbb/a.h>\n", "", True),
        ({"a.h"}, {"a.h", "old.h"}, "#include <oneapi/tbb/a.h>\n", "", True),
        (set(), {"old.h", "atomic.h"}, "", "#include <tbb/old.h>\n", False),
        ({"parallel_do.h"}, {"parallel_do.h"}, "", "#include <tbb/parallel_do.h>\n", False),
        ({"parallel_do.h"}, {"parallel_do.h"}, "#include <oneapi/tbb/parallel_do.h>\n", "", True),
    ]
    for new, old, new_text, old_text, expected in headers:
        if bool(list(check_umbrellas(new, old, new_text, old_text))) != expected:
            wrong += 1
            print(f"self-test: umbrella of {new} and {old}: {'not ' if expected else ''}found")
    cases += headers
    print(f"check_style self-test: {len(cases) - wrong} of {len(cases)} cases right")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems, count = [], 0
    for path in files_of(root):
        count += 1
        problems += check_text(path, (root / path).read_text(errors="replace"))
    problems += check_umbrellas_of(root)
    for problem in problems:
        print(problem)
    print(f"check_style: {count} files, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
