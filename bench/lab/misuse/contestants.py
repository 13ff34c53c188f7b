# SPDX-License-Identifier: Apache-2.0
"""The contestants of the table: allocators with a setting, by strength. A strength says what it
costs the user, so that like is compared with like."""
import dataclasses
import shutil

from lab import fetch, peers
from lab.misuse import kinds

STRENGTHS = {
    "default": "as it comes",
    "hardened": "hardened: checks every call, meant for production",
    "sampled": "sampled: watches some blocks, meant for production",
    "testing": "for tests: watches every block",
    "tool": "tools: the program is recompiled, or runs on a simulated processor",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contestant before its peer is built. `sampled`: it watches a part of the blocks, so every
    outcome is chance. `slow`: too slow for many runs of a million allocations. `most` and `far` are
    the most runs of a cell and the number of those allocations where they must be smaller."""
    name: str
    peer: str
    strength: str
    title: str  # after the title of the peer
    env: dict = dataclasses.field(default_factory=dict)
    sampled: bool = False
    slow: bool = False
    most: int = 0
    far: int = 0


GWP = "GWP_ASAN_SampleRate=1:GWP_ASAN_MaxSimultaneousAllocations=20000"
SCUDO_ALL = ("delete_size_mismatch=1:dealloc_type_mismatch=1:pattern_fill_contents=1:"
             "quarantine_size_kb=4096:thread_local_quarantine_size_kb=1024:"
             "quarantine_max_chunk_size=1048576")
SAN = "san_guard_small:1,san_guard_large:1"
ENTRIES = (
    Entry("corbel", "corbel", "default", ""),
    Entry("glibc", "glibc", "default", ""),
    Entry("mimalloc3", "mimalloc3", "default", ""),
    Entry("jemalloc", "jemalloc", "default", ""),
    Entry("snmalloc", "snmalloc", "default", ""),
    Entry("rpmalloc", "rpmalloc", "default", ""),
    Entry("tcmalloc", "tcmalloc", "default", ""),
    Entry("tbbmalloc", "tbbmalloc", "default", ""),
    Entry("glibc-no-tcache", "glibc", "hardened", "without thread caches",
          {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}),
    Entry("glibc-check", "glibc-check", "hardened", "MALLOC_CHECK_=3", {"MALLOC_CHECK_": "3"}),
    # The messages of an optimised build are off unless asked for.
    Entry("mimalloc2-secure", "mimalloc2-secure", "hardened", "secure",
          {"MIMALLOC_SHOW_ERRORS": "1"}),
    Entry("mimalloc3-secure", "mimalloc3-secure", "hardened", "secure",
          {"MIMALLOC_SHOW_ERRORS": "1"}),
    Entry("jemalloc-safety", "jemalloc-safety", "hardened", "safety checks and guards",
          {"MALLOC_CONF": f"abort_conf:true,{SAN},lg_san_uaf_align:12"}),
    Entry("snmalloc-checks", "snmalloc-checks", "hardened", "checks"),
    Entry("scudo", "scudo", "hardened", ""),  # its default, which has GWP-ASan of 1 in 5000
    Entry("corbel-guards", "corbel", "sampled", "guards", {"CORBEL_CHECK": "guards"}, sampled=True),
    Entry("scudo-gwp-asan", "scudo", "sampled", "GWP-ASan of every block", {"SCUDO_OPTIONS": GWP},
          sampled=True, slow=True, far=20000),
    Entry("corbel-full", "corbel", "testing", "full", {"CORBEL_CHECK": "full"}, slow=True),
    Entry("corbel-full-guards", "corbel", "testing", "full, guard=all",
          {"CORBEL_CHECK": "full,guard=all"}, slow=True, far=20000),
    # A quarantine that keeps all that the program frees, as AddressSanitizer's does for a while.
    Entry("corbel-full-leaks", "corbel", "testing", "full, quarantine=1G, and leaks",
          {"CORBEL_CHECK": "full,quarantine=1G", "CORBEL_LEAKS": "1"}, slow=True),
    Entry("mimalloc3-debug", "mimalloc3-debug", "testing", "debug"),
    # mimalloc 3.3.2 has the same options, but reads them after it has set up the first heap.
    Entry("mimalloc2-guarded", "mimalloc2-debug", "testing", "debug, guards every block",
          {"MIMALLOC_GUARDED_SAMPLE_RATE": "1", "MIMALLOC_GUARDED_PRECISE": "1"}, slow=True),
    # Without lg_san_uaf_align, with which the debug build's assertions end a correct program.
    Entry("jemalloc-debug", "jemalloc-debug", "testing", "debug, junk and guards",
          {"MALLOC_CONF": f"abort_conf:true,junk:true,{SAN}"}, slow=True),
    Entry("scudo-all", "scudo", "testing", "all options", {"SCUDO_OPTIONS": SCUDO_ALL}),
    Entry("valgrind", "", "tool", "Valgrind memcheck", slow=True, most=2, far=10000),
    Entry("asan", "", "tool", "AddressSanitizer, recompiled"),
)


@dataclasses.dataclass(frozen=True)
class Contestant:
    name: str
    title: str
    strength: str
    version: str
    setting: str  # as the user writes it
    command: tuple  # before the kind
    env: dict
    sampled: bool = False
    slow: bool = False
    most: int = 0
    far: int = 0

    @property
    def ours(self):
        return self.name.startswith("corbel")


def choose(words):
    """The entries of the names in `words`; all for None. An unknown name raises Unavailable."""
    if words is None:
        return list(ENTRIES)
    known = {entry.name: entry for entry in ENTRIES}
    for word in words:
        if word not in known:
            raise fetch.Unavailable(f"there is no contestant '{word}'. Known are: "
                                    f"{', '.join(known)}")
    return [entry for entry in ENTRIES if entry.name in words]


def prepare(entries, report=None):
    """([Contestant], [why one is left out])"""
    checked = peers.load(peers.CHECKED)
    wanted = list(dict.fromkeys(entry.peer for entry in entries if entry.peer))
    built = peers.prepare([name for name in wanted if name not in checked], report)
    built |= peers.prepare([name for name in wanted if name in checked], report, peers.CHECKED)
    program = kinds.program()
    found, left = [], []
    for entry in entries:
        try:
            found.append(_tool(entry, program) if entry.strength == "tool" else
                         _allocator(entry, built[entry.peer], program))
        except fetch.Unavailable as why:
            left.append(f"{entry.name} is left out: {why}")
    return found, left


def _allocator(entry, prepared, program):
    if isinstance(prepared, fetch.Unavailable):
        raise prepared
    env = {**prepared.allocator.env, **entry.env}
    setting = " ".join(f"{name}={value}" for name, value in env.items()) + _fewer(entry)
    if prepared.allocator.preload:
        env["LD_PRELOAD"] = ":".join(map(str, prepared.allocator.preload))
    title = prepared.title if prepared.version in prepared.title else (
        f"{prepared.title} {prepared.version}")
    return Contestant(entry.name, ", ".join(filter(None, (title, entry.title))), entry.strength,
                      prepared.version, setting, (str(program),), env, entry.sampled, entry.slow,
                      entry.most, entry.far)


def _fewer(entry):
    return f"; {entry.far:,} allocations in place of a million" if entry.far else ""


def _tool(entry, program):
    if entry.name == "asan":
        version = fetch.tool_version(fetch.cxx()).splitlines()[0].split()[-1]
        return Contestant(entry.name, f"{entry.title} (g++ {version})", entry.strength, version,
                          "-fsanitize=address", (str(kinds.program(asan=True)),), {}, slow=True,
                      most=20)
    path = shutil.which("valgrind")
    if not path:
        raise fetch.Unavailable("there is no valgrind here (apt-get install valgrind)")
    version = fetch.tool_version("valgrind").strip().removeprefix("valgrind-")
    options = ("-q", "--leak-check=full", "--show-leak-kinds=definite", "--error-exitcode=99")
    setting = f"valgrind {' '.join(options)}{_fewer(entry)}"
    return Contestant(entry.name, f"{entry.title} {version}", entry.strength, version, setting,
                      (path, *options, str(program)), {}, slow=True, most=entry.most,
                      far=entry.far)
