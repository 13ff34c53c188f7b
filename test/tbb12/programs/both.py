# SPDX-License-Identifier: Apache-2.0
"""Runs a program that was built for oneTBB on oneTBB's library and on Corbel's, and compares
the results. The dynamic linker says for each run (LD_DEBUG=bindings) to which library each object of
each process was bound."""

import concurrent.futures
import dataclasses
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import onetbb  # noqa: E402
from onetbb import common  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REPEATS = 5 if common.FULL else 1
CROWD = 6  # runs at a time with CORBEL_FULL_TESTS

BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol "
                     r"`(_ZN3tbb6detail2r1\w+|TBB_runtime_\w+)'")
# What CORBEL_TRACE=summary prints at exit.
SUMMARY = re.compile(rb"^corbel: \d+ threads of at most \d+; work ([\d.]+) ms.*\n", re.MULTILINE)


@dataclasses.dataclass
class Way:
    """A way to run a program: words in front of its command, and variables."""
    name: str
    corbel: bool
    prefix: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    traced: bool = False
    times: int = 1


def ways(original, by_path):
    """oneTBB first, then Corbel: with a trace, by `corbel run --tbb` on one processor, and with the
    library preloaded. `original`: the folder of the wheel's library; None: the system's."""
    bin_dir = os.environ.get("CORBEL_BIN_DIR") or os.path.join(common.lib_dir(), "..", "bin")
    corbel = [os.path.join(bin_dir, "corbel"), "run"]
    preload = [*corbel, "--tbb=preload", "--"]
    path = {"LD_LIBRARY_PATH": original} if original else {}
    processor = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    yield Way("oneTBB", False, env=path)
    if by_path:
        yield Way("Corbel on the library path, traced", True, env={"LD_LIBRARY_PATH": onetbb.ours()},
                  traced=True)
        yield Way("corbel run on one processor", True, [*processor, *corbel, "--tbb", "--"], path,
                  times=REPEATS)
    else:
        yield Way("Corbel preloaded, traced", True, preload, path, traced=True)
        yield Way("Corbel preloaded on one processor", True, [*processor, *preload], path,
                  times=REPEATS)
    yield Way("Corbel preloaded", True, preload, path, times=REPEATS)


def check_bindings(label, corbel, logs, uses):
    """Every function of oneTBB was bound to the right library, those in `uses` among them. Returns
    the library."""
    ours = os.path.realpath(os.path.join(onetbb.ours(), onetbb.LIBRARY))
    libraries, names, is_logged = set(), set(), False
    for path in logs:
        with open(path, errors="replace") as log:
            lines = []
            for line in log:
                is_logged = is_logged or "binding file" in line
                if "tbb6detail2r1" in line or "TBB_runtime" in line:
                    lines.append(line)
        for source, target, name in (m.groups() for m in map(BINDING.search, lines) if m):
            if corbel != (os.path.realpath(target) == ours):
                raise common.Failure(f"{label}: {name} in {source} is bound to {target}")
            libraries.add(target)
            if not os.path.basename(source).startswith("libtbb."):
                names.add(name)
        os.unlink(path)
    common.check(is_logged, f"{label}: the dynamic linker reports no binding")
    if not libraries and not corbel:
        common.skip(f"{label}: this program was not built for {onetbb.LIBRARY}")
    common.check(libraries, f"{label}: nothing is bound to {onetbb.LIBRARY}")
    for name in uses:
        common.check(any(f"{len(name)}{name}" in found for found in names),
                     f"{label}: the program is not linked to {name}")
    return ", ".join(sorted(libraries))


def run(label, way, command, scratch, read, env, uses, timeout):
    """One run in a folder of its own. Returns what `read` takes of it, and its standard error."""
    folder = os.path.join(scratch, re.sub(r"\W+", "-", label))
    os.mkdir(folder)
    more = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": os.path.join(folder, "bindings"), **(env or {})}
    path = [way.env.get("LD_LIBRARY_PATH"), more.pop("LD_LIBRARY_PATH", None)]
    more["LD_LIBRARY_PATH"] = ":".join(filter(None, path))
    if not more["LD_LIBRARY_PATH"]:
        del more["LD_LIBRARY_PATH"]
    if way.traced:
        more["CORBEL_TRACE"] = "summary"
    done = common.run([*way.prefix, *command], timeout=timeout, env=more, cwd=folder)
    library = check_bindings(label, way.corbel, glob.glob(os.path.join(folder, "bindings.*")), uses)
    if way.traced:
        work = [float(found) for found in SUMMARY.findall(done.err)]
        common.check(sum(work) > 0, f"{label}: Corbel ran no task\n{done.err.decode()}")
        done.err = SUMMARY.sub(b"", done.err)
    print(f"{label}: {done.seconds:.1f} s on {library}", flush=True)
    return read(done, folder), done.err


def complaints(text):
    return {line for line in text.splitlines() if common.COMPLAINT.search(line)}


def compare(name, command, scratch, read=lambda done, folder: done.out, same=common.same, env=None,
            uses=(), original=None, by_path=True, timeout=120):
    """Runs the command in each way. `read` takes from a run (its result, its folder) what must be
    the same as on oneTBB; `same` fails unless it is. `uses`: functions that it must be bound to.
    `by_path`: whether a library path suffices."""
    expected = known = None

    def once(way, label):
        found, err = run(label, way, command, scratch, read, env, uses, timeout)
        if expected is not None:
            same(label, expected, found)
            new = complaints(err) - known
            common.check(not new, f"{label} complains:\n{b'; '.join(new).decode(errors='replace')}")
        return found, complaints(err)

    for way in ways(original, by_path):
        for number in range(way.times):
            found = once(way, f"{name} {way.name} {number + 1}")
            if expected is None:
                expected, known = found
                common.check(expected, f"{name}: nothing to compare")
    if common.FULL:  # as the last way
        with concurrent.futures.ThreadPoolExecutor(CROWD) as crowd:
            list(crowd.map(lambda n: once(way, f"{name} in a crowd {n + 1}"), range(2 * CROWD)))


def debian_python(module, package):
    """The Python that Debian's modules are for. Skips the test if the module is not installed."""
    python = "/usr/bin/python3"
    if not os.path.exists(python) or common.run([python, "-c", "import " + module], expect=None).code:
        common.skip(f"{python} has no {module} (Debian package {package})")
    return python


def compiled(source, scratch, *options):
    """The program made of a source file of this folder, as Debian's compiler and headers make it."""
    compiler = common.require("g++", package="g++")
    program = os.path.join(scratch, os.path.splitext(os.path.basename(source))[0])
    common.run([compiler, "-std=c++17", "-O1", "-w", os.path.join(HERE, source), "-o", program,
                *options], timeout=300)
    return program


def result_lines(done, _folder=None):
    """The lines of the output that say what came out. Fails unless the last one says that it is all."""
    found = [line for line in done.out.splitlines() if line.startswith(b"result")]
    common.check(found and found[-1] == b"result end",
                 f"the end is missing:\n{(done.out + done.err)[-2000:].decode(errors='replace')}")
    return b"\n".join(found)
