# SPDX-License-Identifier: Apache-2.0
"""Runs a command once and measures it, with the engine of `corbel compare`.

engine.cpp is the program around that engine. It is compiled on first use. It measures one process:
elapsed time from exec to exit, CPU time, exact peak memory, faults, and the CPU time that other
processes took meanwhile. It also ends commands that run too long.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from lab import fetch, paths

HERE = pathlib.Path(__file__).resolve().parent
TOOL = paths.ROOT / "tools" / "corbel"
SOURCES = [HERE / "engine.cpp", TOOL / "compare" / "linux" / "measure.cpp"]
INPUTS = [*SOURCES, TOOL / "compare" / "measure.hpp"]
# All symbols are bound at start: binding one between fork and exec would add to the memory that a
# command seems to use.
FLAGS = ["-std=c++17", "-O2", "-Wl,-z,now", f"-I{TOOL}"]


def program(built=paths.BUILT):
    """The path of the compiled engine; fetch.Unavailable without a compiler."""
    return fetch.compiled("engine", INPUTS, lambda output: [
        fetch.cxx(), *FLAGS, *SOURCES, "-o", output], "compiling the engine", built)


class Process:
    """A command that runs under the engine. `env` is its whole environment; `stdin`, `stdout`,
    `stderr` and `cwd` are those of subprocess.Popen; `timeout` is in seconds."""

    def __init__(self, command, env, timeout=None, **popen):
        words = [str(word) for word in command]
        words[0] = shutil.which(words[0], path=env.get("PATH")) or words[0]
        self._command = words[0]
        handle, self._report = tempfile.mkstemp(prefix="bench-report-")
        os.close(handle)
        line = [program(), "--report", self._report]
        if timeout is not None:
            line += ["--timeout", str(timeout)]
        for name, value in env.items():
            line += ["--set", f"{name}={value}"]
        self._engine = subprocess.Popen([*line, "--", *words], env={}, **popen)

    @property
    def engine_pid(self):
        return self._engine.pid

    def running(self):
        return os.waitid(os.P_PID, self._engine.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self):
        """What the engine reports. An interruption ends the command first. OSError when the command
        could not be started, or when the engine itself was killed."""
        try:
            self._engine.wait()
        except BaseException:
            self.stop()
            self._engine.wait()
            raise
        finally:
            text = pathlib.Path(self._report).read_text()
            os.unlink(self._report)
        found = json.loads(text) if text else {"error": "the engine was killed"}
        if "error" in found:
            raise OSError(f"{self._command}: {found['error']}")
        return found

    def stop(self):
        """Ends the command: SIGTERM to its process group, SIGKILL after two seconds."""
        self._engine.terminate()


def run(command, env, **more):
    return Process(command, env, **more).wait()
