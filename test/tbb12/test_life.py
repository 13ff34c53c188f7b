# SPDX-License-Identifier: Apache-2.0
"""The programs of life/, compiled with oneTBB's headers, print the same and end in the same way on
oneTBB's library and on Corbel's. What oneTBB's cannot do is run on Corbel's alone."""

import concurrent.futures
import os
import sys

import onetbb
from onetbb import common

sys.path[:0] = [os.path.join(onetbb.ROOT, "test", "container"), os.path.join(onetbb.ROOT, "test", "sched")]

import cgroup  # noqa: E402
import quota  # noqa: E402

FOLDER = os.path.join(onetbb.HERE, "life")
ROUNDS = 5
SECONDS = 60  # of one run
WAYS = {  # to end, each with its exit code; SIGABRT where an enqueued task throws
    "unused": 3, "asleep": 4, "task": 5, "worker": 6, "nested": 7, "busy": 11, "busy_at_exit": 10,
    "at_exit_function": 11, "quick_exit": 8, "pthread_exit": 9, "left_group": 11, "static": 11,
    "terminate": -6,
}


class Programs:
    """Compiles programs, two at a time, and runs them."""

    def __init__(self, scratch, flags=(), compiler=None):
        self.compiler = compiler or common.require("g++", package="g++")
        self.headers, self.theirs = onetbb.folders()
        self.ours = onetbb.ours()
        self.scratch = scratch
        self.flags = list(flags)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def build(self, *targets):
        """Each target is a name, or a name and the words that its command has besides."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self._build, *([t] if isinstance(t, str) else t)) for t in targets]:
                done.result()

    def _build(self, name, *words):
        libraries = [] if "-no-tbb" in words else [os.path.join(self.theirs, onetbb.LIBRARY)]
        common.run([self.compiler, *onetbb.FLAGS, *self.flags,
                    os.path.join(FOLDER, name + ".cpp"), "-o", self.path(os.path.basename(name)), "-isystem", self.headers,
                    *(w for w in words if w != "-no-tbb"), *libraries, "-ldl"], timeout=300)

    def beside(self, library, name):
        """A plug-in linked to a copy of the library under another name. Only with another name of
        its own does a process load a second one."""
        other = b"libtb%c.so.12" % name[-1].encode()
        with open(os.path.join(library, onetbb.LIBRARY), "rb") as file:
            code = file.read().replace(onetbb.LIBRARY.encode() + b"\0", other + b"\0")
        with open(self.path(other.decode()), "wb") as file:
            file.write(code)
        common.run([self.compiler, *onetbb.FLAGS, *self.flags, "-shared", "-fPIC",
                    os.path.join(FOLDER, "plugin.cpp"), "-o", self.path(name), "-isystem", self.headers,
                    self.path(other.decode()), "-Wl,--allow-shlib-undefined"], timeout=300)
        return self.path(name)

    def run(self, name, library, *words, expect=0, before=(), **more):
        env = {"LD_LIBRARY_PATH": library + ":" + self.scratch}
        env.update(more.pop("env", {}))
        return common.run([*before, self.path(name), *words], env, timeout=SECONDS, expect=expect, **more)

    def same(self, name, *words, expect=0, rounds=ROUNDS, before=(), **more):
        """What it prints is the same on both libraries."""
        what = "what %s prints" % " ".join([name, *words])
        command = [*before, self.path(name), *words]
        wanted = onetbb.theirs(command, self.theirs, expect=expect, timeout=SECONDS, **more).out
        common.same(what, wanted, onetbb.corbels(command, expect=expect, timeout=SECONDS, **more).out)
        for _ in range(rounds - 1):
            done = self.run(name, self.ours, *words, expect=expect, before=before, **more)
            common.same(what, wanted, done.out)
        return wanted.decode()


def ends(programs):
    for way, code in WAYS.items():
        if way == "unused":  # which no library notes
            for library in programs.theirs, programs.ours:
                common.same("the output", b"", programs.run("ends", library, way, expect=code).out)
        else:
            programs.same("ends", way, expect=code, rounds=3)


def check_children(out):
    lines = out.decode().splitlines()
    common.check(len(lines) == 10 and all(line.endswith(": 0") for line in lines),
                 "children failed:\n" + "\n".join(lines))


def forks(programs):
    """Not beside oneTBB's own library, whose children hang at times."""
    for _ in range(ROUNDS):
        check_children(programs.run("fork", programs.ours).out)


def loads(programs):
    """oneTBB's own library unloads itself under its workers, and crashes."""
    plugin = programs.path("plugin")
    library = os.path.join(programs.ours, onetbb.LIBRARY)
    for other in (programs.beside(programs.ours, "plugin_x"), programs.beside(programs.theirs, "plugin_y")):
        lines = programs.run("loads", programs.ours, library, plugin, other).out.decode().splitlines()
        common.same("what loads prints",
                    ["loaded and unloaded: 20", "used by a plug-in: 40020", "a thread ended later: 1",
                     "one: 2001", "other has its own: 1", "apart: 1002", "apart, in a thread: 1002"], lines)


def widths(programs):
    if not quota.has_quota():  # oneTBB does not look at that of a group above
        programs.same("widths")
    one = str(min(os.sched_getaffinity(0)))
    common.check("default: 1" in programs.same("widths", before=["taskset", "-c", one]), "one processor")
    for version, _, where in cgroup.mounts(controller="cpu"):
        group = quota.make_group(version, where, 100000)
        if group is None:
            continue
        try:
            enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
            common.check("default: 1\n" in programs.same("widths", before=enter), "a quota of one")
        finally:
            quota.remove(group)
        return
    common.skip("all passed but a quota: no cgroup can be made here")


def test(scratch):
    programs = Programs(scratch)
    common.require("taskset", package="util-linux")
    programs.build("ends", "fork", "handles", "exceptions", "suspends", "enqueues", "observers",
                   "controls", "contexts", "widths", ["plugin", "-shared", "-fPIC"], ["loads", "-no-tbb"])
    one = str(min(os.sched_getaffinity(0)))
    for name in "handles", "suspends", "enqueues", "observers", "controls", "contexts":
        programs.same(name)
        if name != "observers":  # which waits for a worker in an arena of the default width
            programs.same(name, before=["taskset", "-c", one], rounds=1)
    programs.same("controls", "alone")
    programs.same("exceptions", programs.path("plugin"))
    for _ in range(ROUNDS):
        programs.run("suspends", programs.ours, "more")
    ends(programs)
    forks(programs)
    loads(programs)
    widths(programs)


if __name__ == "__main__":
    common.main(test)
