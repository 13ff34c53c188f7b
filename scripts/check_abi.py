#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the built libraries export with the stored description of the last version.

Usage: check_abi.py [--store] LIB_FOLDER, or check_abi.py --self-test, or check_abi.py --can-run.

A description (scripts/abi/LIBRARY.txt) lists the exported symbols with the types of their functions
and variables, and the layout of every type of Corbel that these lead to, private members included:
inlined code in programs depends on them. `abidw` (Debian's abigail-tools) reads all that from the
debug information. A symbol or type that is gone or has changed is an error; a new one is not. The
rules are in docs/versioning.md. Exit code 77: this machine cannot run the check, for the reason printed.
"""

import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

FOLDER = pathlib.Path(__file__).resolve().parent / "abi"
HEADERS = FOLDER.parents[1] / "include"  # a type that is defined elsewhere is opaque to programs
LIBRARIES = ["libcorbelmalloc.so.1", "libcorbelmalloc_proxy.so.1", "libcorbel.so.1",
             "libtbbmalloc.so.2", "libtbbmalloc_proxy.so.2", "corbel/libtbb.so.12"]
# Described by its names alone, which say the parameters. The types are oneTBB's: the tests of tbb12
# compare them with its headers.
NAMES_ALONE = {"corbel/libtbb.so.12"}
# Symbols of these version nodes serve libraries of the same release alone.
PRIVATE = re.compile(r"@@?CORBEL_PRIVATE_\d+$")
# The layout of types of other namespaces is not Corbel's to promise, nor to describe.
OURS = re.compile(r"^(corbel|rml|tbb)::(?!(alloc|arch|base|os|pools|proxy|sched|sync)::)|^[^:<]+$")
STANDARD = re.compile(r"^(__.*|u?int\w*_t|size_t|ptrdiff_t)$")
OLDEST = (2, 2)  # of libabigail: Debian 12 has it, Ubuntu 22.04 an older one
SKIPPED = 77


class Corpus:
    """One file of abidw: its symbols, and its types by their identifiers."""

    def __init__(self, root):
        self.soname = root.get("soname", "")
        self.symbols = {}  # name@version -> kind
        self.aliases = {}  # name@version -> the names of the same address, one of which is declared
        for symbol in root.iter("elf-symbol"):
            name = self._with_version(symbol)
            is_data = symbol.get("type") in ("object-type", "tls-type")
            self.symbols[name] = "variable" if is_data else "function"
            names = {name, *filter(None, symbol.get("alias", "").split(","))}
            names.update(*(self.aliases.get(each, ()) for each in names))
            self.aliases.update((each, names) for each in names)
        self.types = {}    # identifier -> (qualified name, element)
        self.exported = {}  # name@version -> element of its declaration
        for part in root.iter("abi-instr"):
            self._walk(part, "")

    @staticmethod
    def _with_version(symbol):
        version = symbol.get("version")
        at = "@@" if symbol.get("is-default-version") == "yes" else "@"
        return symbol.get("name") + (at + version if version else "")

    def _walk(self, element, scope):
        for child in element:
            name = scope + child.get("name", "")
            if "id" in child.attrib and child.get("id") not in self.types or (
                    child.get("is-declaration-only") != "yes" and "id" in child.attrib):
                self.types[child.get("id")] = (name, child)
            if child.get("elf-symbol-id"):
                self.exported[child.get("elf-symbol-id")] = child
            inner = child.tag in ("namespace-decl", "class-decl", "union-decl")
            self._walk(child, name + "::" if inner else scope)

    def name_of(self, identifier):
        """The C++ name of a type, typedefs kept."""
        if identifier not in self.types:
            return "void"
        name, element = self.types[identifier]
        inner = element.get("type-id")
        if element.tag == "pointer-type-def":
            if inner in self.types and self.types[inner][1].tag == "function-type":
                return self.signature_of(self.types[inner][1], "(*)")
            return self.name_of(inner) + "*"
        if element.tag == "reference-type-def":
            return self.name_of(inner) + ("&" if element.get("kind") == "lvalue" else "&&")
        if element.tag == "qualified-type-def":
            words = [word for word in ("const", "volatile") if element.get(word) == "yes"]
            return " ".join([self.name_of(inner), *words])
        if element.tag == "array-type-def":
            lengths = [part.get("length") for part in element.iter("subrange")]
            return self.name_of(inner) + "".join(f"[{length}]" for length in lengths)
        if element.tag == "function-type":
            return self.signature_of(element)
        return name

    def signature_of(self, element, name=""):
        """The type of a function, as C++ writes it."""
        given = ["..." if part.get("is-variadic") == "yes" else self.name_of(part.get("type-id"))
                 for at, part in enumerate(element.findall("parameter"))
                 if at == 0 or part.get("is-artificial") != "yes"]  # `this`, but no hidden flags
        back = element.find("return")
        result = self.name_of(back.get("type-id")) + " " if back is not None else ""
        return f"{result}{name}({', '.join(given)})"

    def parts_of(self, identifier, seen):
        """All types that a type leads to, itself included, are added to `seen`."""
        if identifier in seen or identifier not in self.types:
            return
        seen.add(identifier)
        element = self.types[identifier][1]
        if element.tag in ("class-decl", "union-decl") and not OURS.match(self.name_of(identifier)):
            return
        if element.get("type-id"):
            self.parts_of(element.get("type-id"), seen)
        for child in element:
            if child.tag in ("parameter", "return", "base-class"):
                self.parts_of(child.get("type-id"), seen)
            elif child.tag == "data-member":
                self.parts_of(child.find("var-decl").get("type-id"), seen)

    def layout_of(self, element):
        """The lines of a type's description; none for a type that has no layout of its own."""
        if element.tag == "typedef-decl":
            return [f"is {self.name_of(element.get('type-id'))}"]
        if element.tag == "enum-decl":
            return sorted((f"{part.get('value')} {part.get('name')}"
                           for part in element.findall("enumerator")),
                          key=lambda line: int(line.split()[0]))
        if element.tag not in ("class-decl", "union-decl"):
            return []
        if element.get("is-declaration-only") == "yes":
            return ["opaque"]
        lines = [f"{int(element.get('size-in-bits', 0)) // 8} bytes"]
        for base in element.findall("base-class"):
            where = int(base.get("layout-offset-in-bits", 0)) // 8
            lines.append(f"{where} base {self.name_of(base.get('type-id'))}")
        for member in element.findall("data-member"):
            variable = member.find("var-decl")
            if member.get("static") == "yes":
                continue
            bits = int(member.get("layout-offset-in-bits", 0))
            where = str(bits // 8) + (f".{bits % 8}" if bits % 8 else "")
            lines.append(f"{where} {variable.get('name')}: {self.name_of(variable.get('type-id'))}")
        for function in element.findall("member-function"):
            if int(function.get("vtable-offset", -1)) >= 0:
                name = function.find("function-decl").get("name")
                lines.append(f"virtual {function.get('vtable-offset')} {name}")
        return lines

    def description(self):
        """What is compared and stored: {key: [line, ...]}."""
        result, reached = {"soname": [self.soname]}, set()
        for symbol, kind in self.symbols.items():
            if PRIVATE.search(symbol):
                continue
            declared = [each for each in [symbol, *sorted(self.aliases[symbol])]
                        if each in self.exported]
            element, lines = self.exported[declared[0]] if declared else None, []
            if element is not None and element.tag == "function-decl":
                lines = [self.signature_of(element)]
                for part in element:
                    self.parts_of(part.get("type-id"), reached)
            elif element is not None:
                lines = [self.name_of(element.get("type-id"))]
                self.parts_of(element.get("type-id"), reached)
            result[f"{kind} {symbol}"] = lines
        for identifier in reached:
            name, element = self.types[identifier]
            lines = self.layout_of(element)
            if lines and OURS.match(name) and not STANDARD.match(name):
                result[f"type {name}"] = lines
        return result


def read_library(path, headers=HEADERS):
    """The description of a built library; a SystemExit says what is wrong with it."""
    only = ["--headers-dir", str(headers), "--drop-private-types"] if headers else []
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "abi.xml"
        run = subprocess.run(
            ["abidw", "--no-show-locs", "--exported-interfaces-only", "--no-corpus-path",
             "--no-comp-dir-path", "--drop-undefined-syms", *only, "--out-file", str(out), str(path)],
            capture_output=True, text=True)
        if run.returncode != 0 or not out.is_file():
            raise SystemExit(f"check_abi: abidw cannot read {path}: {run.stderr.strip()}")
        root = tree.parse(out).getroot()
    if root.find("abi-instr") is None:
        raise SystemExit(f"check_abi: {path} has no debug information; build the preset release")
    return Corpus(root).description()


def to_text(description):
    lines = []
    for key in sorted(description):
        lines.append(key)
        lines += [f"  {line}" for line in description[key]]
    return "\n".join(lines) + "\n"


def from_text(text):
    description, key = {}, None
    for line in text.splitlines():
        if line.startswith("  "):
            description[key].append(line[2:])
        elif line and not line.startswith("#"):
            key = line
            description[key] = []
    return description


def readable(key):
    """The key with a C++ symbol's name as the source has it."""
    kind, name = (key.split(" ", 1) + [""])[:2]
    if name.startswith("_Z") and shutil.which("c++filt"):
        symbol, at, version = name.partition("@")
        plain = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()
        return f"{kind} {plain}{at}{version}"
    return key


def compare(stored, built):
    """(problems, news): lines that say what is gone or has changed, and the keys that are new. The
    debug information has no type for a function that the compiler has folded into an equal one: such a
    function is compared by its name alone."""
    problems = []
    for key, lines in stored.items():
        if key not in built:
            problems.append(f"removed: {readable(key)}")
        elif lines and built[key] and lines != built[key]:
            problems.append(f"changed: {readable(key)}")
            problems += [f"  was: {line}" for line in lines if line not in built[key]]
            problems += [f"  is:  {line}" for line in built[key] if line not in lines]
            if sorted(lines) == sorted(built[key]):
                problems.append("  the order of the lines")
    return problems, [key for key in built if key not in stored]


HEADER = """# What {library} exports (x86-64, gcc). Written by `scripts/check_abi.py --store`; see
# docs/versioning.md. Sizes and offsets are in bytes.
"""

ADVICE = """\
Programs that were linked to the last version need what was removed or changed. Either keep it, or, if the
change is meant and docs/versioning.md allows it, store the new description and commit it together with
the change and a line in CHANGELOG.md:
    scripts/check_abi.py --store build/release/lib"""


def described(folder, library):
    """The file of the description, and what the built library gives for it."""
    built = read_library(folder / library)
    if library in NAMES_ALONE:
        built = {key: lines if key == "soname" else [] for key, lines in built.items()
                 if not key.startswith("type ")}
    return FOLDER / f"{pathlib.Path(library).name}.txt", built


def store(folder):
    for library in LIBRARIES:
        file, built = described(folder, library)
        text = HEADER.format(library=file.stem) + to_text(built)
        file.write_text(text)
        print(f"check_abi: stored {file.name}, {len(text)} bytes")
    return 0


def check(folder):
    count = 0
    for library in LIBRARIES:
        file, built = described(folder, library)
        if not file.is_file():
            print(f"check_abi: {library}: no stored description; run check_abi.py --store")
            count += 1
            continue
        problems, news = compare(from_text(file.read_text()), built)
        for line in problems:
            print(f"check_abi: {library}: {line}")
        if news:
            print(f"check_abi: {library}: {len(news)} new, which is allowed: "
                  + ", ".join(readable(key) for key in news[:5]) + (", …" if news[5:] else ""))
        count += len(problems)
    if count:
        print(ADVICE)
    print(f"check_abi: {len(LIBRARIES)} libraries, {'differences' if count else 'no difference'}")
    return 1 if count else 0


MAP = "CORBEL_1 {{ global: {0}; local: *; }};\nCORBEL_PRIVATE_1 {{ global: inner*; }};\n"
BASE = """
struct point { int x; struct point* next; };
enum colour { red, green };
int area(struct point* p, enum colour c) { return p->x + c; }
void forget(void) {}
int total;
void inner_step(int a) { total += a; }
"""
# (what is planted, its source, its exported names, words that the problems must have: none = no problem)
CASES = [
    ("the same", BASE, "area; forget; total", []),
    ("a new function", BASE + "void fresh(void) {}", "area; forget; total; fresh", []),
    ("another private function", BASE.replace("inner_step(int", "inner_jump(long"),
     "area; forget; total", []),
    ("a removed function", BASE, "area; total", ["removed: function forget@@CORBEL_1"]),
    ("a function without its node", BASE.replace("forget", "inner_forget"), "area; total",
     ["removed: function forget@@CORBEL_1"]),
    ("another parameter", BASE.replace("forget(void)", "forget(int a)"), "area; forget; total",
     ["changed: function forget@@CORBEL_1", "is:  void (int)"]),
    ("another result", BASE.replace("int area", "long area"), "area; forget; total",
     ["changed: function area@@CORBEL_1", "is:  long int (point*, colour)"]),
    ("another variable", BASE.replace("int total", "long total"), "area; forget; total",
     ["changed: variable total@@CORBEL_1"]),
    ("a longer structure", BASE.replace("int x;", "int x; long y;"), "area; forget; total",
     ["changed: type point", "24 bytes", "8 y: long int"]),
    ("another enumerator", BASE.replace("red, green", "green, red"), "area; forget; total",
     ["changed: type colour", "0 green"]),
]


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def build(source, exported):
            (folder / "a.c").write_text(source)
            (folder / "a.map").write_text(MAP.format(exported))
            subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,-soname,liba.so.1",
                            "-Wl,--version-script,a.map", "a.c", "-o", "liba.so"],
                           cwd=folder, check=True)
            return read_library(folder / "liba.so", headers=None)

        stored = from_text(to_text(build(BASE, "area; forget; total")))
        for planted, source, exported, words in CASES:
            problems = "\n".join(compare(stored, build(source, exported))[0])
            if bool(problems) != bool(words) or not all(word in problems for word in words):
                wrong += 1
                print(f"self-test: {planted}: found {problems or 'nothing'}, expected {words}")
    print(f"check_abi self-test: {len(CASES) - wrong} of {len(CASES)} cases right")
    return 1 if wrong else 0


def why_not():
    """Why this machine cannot run the check; empty if it can."""
    if platform.machine() != "x86_64":
        return "the descriptions are of x86-64"
    if not shutil.which("abidw"):
        return "no abidw here (Debian's abigail-tools)"
    version = subprocess.run(["abidw", "--version"], capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", version)
    if not found or tuple(map(int, found.groups())) < OLDEST:
        return f"abidw is older than {'.'.join(map(str, OLDEST))}"
    return ""


def main(words):
    reason = why_not()
    if reason:
        print(f"exported interface: {reason}")
        return SKIPPED
    if words == ["--can-run"]:
        return 0
    if words == ["--self-test"]:
        return self_test()
    if len(words) == 2 and words[0] == "--store":
        return store(pathlib.Path(words[1]))
    if len(words) == 1 and not words[0].startswith("-"):
        return check(pathlib.Path(words[0]))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
