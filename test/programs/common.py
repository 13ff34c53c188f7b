# SPDX-License-Identifier: Apache-2.0
"""Shared by the program tests: ways to run a program on the system's malloc and on Corbel, and the
proof that Corbel was the allocator of a run.

A test never relies on a preload to have worked. It asks the dynamic linker (LD_DEBUG=bindings)
where each object's malloc, free, operator new ... were bound, or reads the memory map of the
running process.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROXY = "libcorbelmalloc_proxy.so.1"
CORE = "libcorbelmalloc.so.1"
SCHEDULER = "libcorbel.so.1"
DROPIN = "libtbbmalloc.so.2"
DROPIN_PROXY = "libtbbmalloc_proxy.so.2"
SKIP = 77
FULL = "CORBEL_FULL_TESTS" in os.environ  # ./dev test --full

# Text that an allocator, glibc or the dynamic linker prints on an error.
COMPLAINT = re.compile(
    rb"corbel|malloc|invalid pointer|double free|corrupt|heap|ld\.so: object|undefined symbol|"
    rb"symbol lookup error|Segmentation|Aborted|terminate called|bad_alloc|out of memory",
    re.IGNORECASE,
)

# The symbols whose binding decides which allocator a program uses.
FAMILY = {
    "malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign",
    "malloc_usable_size",
    "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZnwmSt11align_val_t",
    "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
}


def skip(reason):
    print("SKIP: " + reason, flush=True)
    sys.exit(SKIP)


def require(*programs, package=None):
    """The full paths of the programs. Skips the test if one is not installed."""
    found = []
    for program in programs:
        path = shutil.which(program)
        if not path:
            hint = " (Debian package %s)" % package if package else ""
            skip("%s is not installed%s" % (program, hint))
        found.append(path)
    return found[0] if len(found) == 1 else found


def lib_dir():
    path = os.environ.get("CORBEL_LIB_DIR")
    if not path:
        sys.exit("CORBEL_LIB_DIR must name the folder of the built libraries")
    return os.path.abspath(path)


def library(name):
    path = os.path.join(lib_dir(), name)
    if not os.path.exists(path):
        sys.exit("missing library: " + path)
    return path


def scheduler_dir():
    """The folder of the libraries; skips the test where the scheduler is not built."""
    if not os.path.exists(os.path.join(lib_dir(), SCHEDULER)):
        skip("the scheduler is not built")
    return lib_dir()


def include_dirs():
    source = os.environ.get("CORBEL_SOURCE_DIR") or os.path.abspath(os.path.join(HERE, "..", ".."))
    return [os.path.join(source, "include")]


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def same(what, expected, actual):
    """Fails with the first difference unless the two outputs are byte-identical."""
    if expected == actual:
        return
    a, b = (x if isinstance(x, bytes) else str(x).encode() for x in (expected, actual))
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    raise Failure(
        "%s differs at byte %d (%d and %d bytes):\n  expected: %r\n  on Corbel: %r"
        % (what, at, len(a), len(b), a[max(0, at - 40) : at + 80], b[max(0, at - 40) : at + 80])
    )


def no_complaint(what, text):
    found = [line for line in text.splitlines() if COMPLAINT.search(line)]
    check(not found, "%s complains:\n  %s" % (what, b"\n  ".join(found[:10]).decode("utf8", "replace")))


def environment(mode, extra=None):
    """The environment of one mode: "system", "proxy", "dropin_proxy" or a dict of variables."""
    env = dict(os.environ)
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_DEBUG", "LD_DEBUG_OUTPUT", "CORBEL_STATS"):
        env.pop(name, None)
    env.update({"LC_ALL": "C", "TZ": "UTC"})
    if mode == "proxy":
        env["LD_PRELOAD"] = library(PROXY)
    elif mode == "dropin_proxy":
        env["LD_PRELOAD"] = library(DROPIN_PROXY)
    elif isinstance(mode, dict):
        env.update(mode)
    elif mode != "system":
        raise ValueError(mode)
    if extra:
        env.update(extra)
    return env


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds


def run(command, mode="system", timeout=120, env=None, stdin=None, cwd=None, expect=0, **more):
    """Runs a command to its end. Fails on an unexpected exit code and shows its standard error."""
    start = time.monotonic()
    process = subprocess.Popen(
        command, env=environment(mode, env), cwd=cwd, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
        stdin=stdin if stdin is not None else subprocess.DEVNULL, **more)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        where = stacks(process.pid)
        kill_session(process)
        raise Failure("%s on %s did not end in %d s\n%s" % (command[0], mode, timeout, where))
    if expect is not None and process.returncode != expect:
        raise Failure("%s on %s ended with %d:\n%s" % (
            " ".join(map(str, command[:6])), mode, process.returncode,
            (err or out)[-2000:].decode("utf8", "replace")))
    return Result(process.returncode, out, err, time.monotonic() - start)


def stacks(pid):
    """Returns where a hanging process stands, if a debugger is installed."""
    if not shutil.which("gdb"):
        return ""
    try:
        done = subprocess.run(
            ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 25"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60,
            env=environment("system"))
        return done.stdout.decode("utf8", "replace")[-6000:]
    except (subprocess.TimeoutExpired, OSError):
        return ""


def kill_session(process):
    """Ends a process started with start_new_session, and all processes that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def maps_of(pid):
    with open("/proc/%s/maps" % pid) as maps:
        return maps.read()


def active_in(pid, names=(PROXY,)):
    maps = maps_of(pid)
    for name in names:
        check(name in maps, "%s is not mapped in process %s" % (name, pid))


BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `([^']+)'")


def bindings(command, mode, scratch, timeout=120, env=None, **more):
    """Runs the command under LD_DEBUG=bindings. Returns {executable: [(from, to, symbol)]}."""
    prefix = os.path.join(tempfile.mkdtemp(dir=scratch), "ld")
    debug = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": prefix}
    debug.update(env or {})
    if "user" in more:
        os.chmod(os.path.dirname(prefix), 0o777)
    run(command, mode, timeout=timeout, env=debug, **more)
    result = []
    for path in glob.glob(prefix + ".*"):
        with open(path, errors="replace") as log:
            result.append([m.groups() for m in map(BINDING.search, log) if m])
        os.unlink(path)
    return result


def bound_to_corbel(logs, ours=(PROXY, CORE), needed=("malloc", "free"), objects=1):
    """Checks in the logs of every process that each object's malloc was bound to Corbel."""
    seen = set()
    for log in logs:
        log = [entry for entry in log if entry[2] in FAMILY]
        reached = {(s, symbol) for s, t, symbol in log if any(name in t for name in ours)}
        for source, target, symbol in log:
            if any(name in source for name in (PROXY, CORE, DROPIN, DROPIN_PROXY)):
                continue  # The replacement itself looks up the functions it replaces.
            # A target that is itself bound to Corbel is a stub in a program that takes the address
            # of free. One with its own, statically linked operator new gets its memory from malloc.
            below = "malloc" if symbol.startswith("_Z") else symbol
            check((source, symbol) in reached or (target, symbol) in reached or (target, below) in reached,
                  "%s in %s is bound to %s" % (symbol, source, target))
            seen.add((source, symbol))
    for symbol in needed:
        count = sum(1 for s in seen if s[1] == symbol)
        check(count >= objects, "%s was bound to Corbel in %d objects only" % (symbol, count))


def pattern(key, size):
    """A text of the given size that differs for each key."""
    if size == 0:
        return b""
    unit = ("%s|%d|" % (key, size)).encode()
    return (unit * (size // len(unit) + 1))[:size]


class Server:
    """A server process. Its standard error and output go to a file."""

    def __init__(self, command, mode, scratch, env=None, **more):
        self.name = os.path.basename(command[0])
        self.log = tempfile.NamedTemporaryFile(dir=scratch, prefix=self.name, suffix=".log", delete=False)
        self.process = subprocess.Popen(
            command, env=environment(mode, env), stdout=self.log, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True, **more)
        self.pid = self.process.pid

    def output(self):
        with open(self.log.name, "rb") as log:
            return log.read()

    def wait_until(self, ready, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failure("%s ended with %d:\n%s" % (
                    self.name, self.process.returncode, self.output()[-3000:].decode("utf8", "replace")))
            if ready():
                return
            time.sleep(0.05)
        where = stacks(self.pid)
        self.kill()
        raise Failure("%s was not ready in %d s\n%s\n%s" % (
            self.name, seconds, self.output()[-2000:].decode("utf8", "replace"), where))

    def stop(self, sig=signal.SIGTERM, seconds=30, codes=(0,)):
        """Asks the server to end, and checks its exit."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            where = stacks(self.pid)
            self.kill()
            raise Failure("%s did not stop in %d s\n%s" % (self.name, seconds, where))
        check(code in codes, "%s ended with %d:\n%s" % (
            self.name, code, self.output()[-3000:].decode("utf8", "replace")))

    def kill(self):
        kill_session(self.process)


def main(test):
    """Runs test(scratch folder), prints one line, and exits with the code that ctest expects."""
    scratch = tempfile.mkdtemp(prefix="programs-")
    start = time.monotonic()
    try:
        test(scratch)
    except Failure as failure:
        print("FAIL: %s" % failure, flush=True)
        sys.exit(1)
    finally:
        if os.environ.get("CORBEL_KEEP"):
            print("kept: " + scratch)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print("PASS in %.1f s" % (time.monotonic() - start), flush=True)
