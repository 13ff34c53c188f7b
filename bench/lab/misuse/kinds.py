# SPDX-License-Identifier: Apache-2.0
"""The kinds of misuse. Each is a file in bench/misuse/programs; all are one program."""
import dataclasses
import json
import subprocess

from lab import fetch, paths

PROGRAMS = paths.BENCH / "misuse" / "programs"
CONTROL = "none"
SIZES = (24, 100, 3000, 200000)
ANY_SIZE = (100,)  # of a kind to which the size makes no difference
# In the order of the table, by the chapter of the fault.
CHAPTERS = {
    "freed twice": ["double_free", "double_free_in_turns", "double_free_later",
                    "double_free_by_threads", "realloc_freed"],
    "not the start of a block": ["free_interior", "free_misaligned", "free_stack", "free_static",
                                 "free_foreign"],
    "outside a block": ["overflow_1", "overflow_8", "overflow_4096", "underflow_1", "underflow_8"],
    "after its free": ["write_after_free", "write_after_free_later", "read_after_free",
                       "read_after_free_later", "planted_address"],
    "freed by the wrong function": ["wrong_size", "malloc_delete", "new_free", "array_delete",
                                    "aligned_new_delete", "memalign_delete"],
    "neither freed nor written": ["leak", "uninitialised_read"],
}
ORDER = [name for names in CHAPTERS.values() for name in names]
# The compiler must neither remove a call nor know what it does.
FLAGS = ["-std=c++20", "-g1", "-O1", "-Wall", "-Wextra", "-pthread", "-fno-builtin"]
ASAN = ["-fsanitize=address", "-fno-omit-frame-pointer"]


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    fault: str  # a key of judge.WORDS
    what: str
    by_chance: bool
    any_size: bool
    far: bool

    @property
    def title(self):
        return self.name.replace("_", " ")

    @property
    def sizes(self):
        return ANY_SIZE if self.any_size else SIZES


def program(asan=False, built=paths.BUILT):
    """The path of the compiled program; with AddressSanitizer in it if `asan`."""
    sources = sorted(PROGRAMS.glob("*.cpp"))
    flags = [*FLAGS, *(ASAN if asan else ())]
    return fetch.compiled("misuse-asan" if asan else "misuse",
                          [*sources, PROGRAMS / "misuse.hpp", paths.Path(__file__)],
                          lambda output: [fetch.cxx(), *flags, *sources, "-o", output],
                          "compiling the kinds of misuse", built)


def listed(path):
    """{name: Kind} as the program describes them, in the order of the table; the control is first."""
    told = subprocess.run([path, "--list"], capture_output=True, text=True, check=True).stdout
    found = {one["name"]: Kind(**one) for one in map(json.loads, told.splitlines())}
    return {name: found[name] for name in [CONTROL, *ORDER]}
