# SPDX-License-Identifier: Apache-2.0
"""The names, order, colours and markers of the contestants on the page."""

# The order in tables and plots; all others follow by name.
ORDER = ("corbel", "glibc", "tbbmalloc", "mimalloc3", "mimalloc2", "snmalloc", "jemalloc",
         "rpmalloc", "tcmalloc", "serial", "corbel-tbb12", "onetbb", "tbb2020", "libomp",
         "libgomp", "rayon", "moodycamel", "lockfree", "atomic_queue", "cuckoo", "papaya",
         "dashmap", "scc", "flurry", "crossbeam")
CONTROLS = ("corbel-copy", "corbel-slowed")
# Corbel, in both forms in which programs have it.
OWN = ("corbel", "corbel-tbb12")

# Colour (tools/report/colours.py) and marker; the marker helps where colours look alike.
LOOKS = {
    "corbel": ("corbel", "o"),
    "corbel-copy": ("olive", "s"), "corbel-slowed": ("magenta", "X"),
    "glibc": ("system", "s"), "tbbmalloc": ("blue", "^"), "mimalloc3": ("orange", "D"),
    "mimalloc2": ("olive", "d"), "snmalloc": ("purple", "v"), "jemalloc": ("magenta", "P"),
    "rpmalloc": ("sky", "X"), "tcmalloc": ("coal", "*"),
    "serial": ("system", "s"), "onetbb": ("blue", "^"), "tbb2020": ("purple", "v"),
    "libomp": ("orange", "D"), "libgomp": ("olive", "d"), "rayon": ("magenta", "P"),
    "moodycamel": ("orange", "D"), "lockfree": ("olive", "d"), "atomic_queue": ("sky", "X"),
    "cuckoo": ("coal", "*"), "papaya": ("orange", "D"), "dashmap": ("olive", "d"),
    "scc": ("magenta", "P"), "flurry": ("sky", "X"), "crossbeam": ("purple", "v"),
}
SPARE = (("brown", "p"), ("other", "h"), ("sky", ">"), ("olive", "<"))
NAMES = {"corbel": "Corbel", "corbel-copy": "a copy of Corbel", "corbel-slowed": "Corbel, slowed",
         "corbel-tbb12": "Corbel as libtbb.so.12",
         "onetbb": "oneTBB", "tbb2020": "TBB 2020", "mimalloc3": "mimalloc 3",
         "mimalloc2": "mimalloc 2", "serial": "serial", "lockfree": "Boost.Lockfree",
         "cuckoo": "libcuckoo"}


def parts(identity):
    """An id such as "tbb2020+CBR@glibc" as (contestant, variant, allocator)."""
    identity, _, allocator = identity.partition("@")
    identity, _, variant = identity.partition("+")
    base, _, interface = identity.partition(".")
    return base, " ".join(filter(None, (interface, variant))), allocator


def name(identity, newline=False):
    """The short name for the reader."""
    base, variant, allocator = parts(identity)
    text = NAMES.get(base, base)
    gap = "\n" if newline else " "
    if variant:
        text += f"{gap}+{variant}"
    if allocator:
        text += f"{gap}on {NAMES.get(allocator, allocator)}"
    return text


def look(identity):
    """(colour, marker) of a contestant; variants have their contestant's colour."""
    base = parts(identity)[0]
    if base in LOOKS:
        return LOOKS[base]
    return SPARE[sum(base.encode()) % len(SPARE)]


def sort_key(identity):
    base, variant, allocator = parts(identity)
    first = ORDER.index(base) if base in ORDER else len(ORDER) + (base in CONTROLS)
    return (first, base, len(variant), variant, allocator)


def is_control(identity):
    return parts(identity)[0] in CONTROLS


def is_peer(identity):
    return parts(identity)[0] not in OWN + CONTROLS
