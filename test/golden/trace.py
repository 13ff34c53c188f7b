#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the allocator's hot paths and compares with hot_paths.json.

Usage: trace.py PROGRAM LIBRARY COMPILER [--update] [--verbose]

PROGRAM (hot_paths.cpp) runs with LIBRARY preloaded and is single-stepped with ptrace. Every
instruction outside of PROGRAM itself is counted: the called function up to its return, and all that
it calls. The caller's call instruction and its PLT stub are in PROGRAM and are not counted.
LD_BIND_NOW keeps the dynamic linker out.

Each path runs 64 times. "typical" figures are those of the median run; "mean" includes the runs in
which a free list was empty and had to be refilled.

Exit code: 0 within the tolerance, 1 outside of it, 77 if this machine cannot be compared (another
processor or another compiler than the recorded one, or no ptrace).
"""
import collections
import ctypes
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hot_paths.json")
KINDS = ("instructions", "loads", "stores", "branches")
TOLERANCE = {"instructions": 2, "loads": 1, "stores": 1, "branches": 1}
MEAN_TOLERANCE = 4.0  # instructions
PAIR_LIMIT = 40  # for malloc(16) and its free together

PTRACE_TRACEME, PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_GETREGS = 0, 7, 9, 12
INT3 = 0xCC


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
        "fs_base gs_base ds es fs gs").split()]


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Skip(Exception):
    """No comparison is possible here."""


def ptrace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) == -1:
        error = ctypes.get_errno()
        raise Skip(f"ptrace request {request}: {os.strerror(error)}")


# ---- the traced program ------------------------------------------------------------------------


class Tracee:
    def __init__(self, program, library):
        self.program = os.path.realpath(program)
        read_end, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(write_end, 1)
            libc.ptrace(PTRACE_TRACEME, 0, None, None)
            environment = {"LD_BIND_NOW": "1", "PATH": os.environ.get("PATH", "")}
            if library:
                environment["LD_PRELOAD"] = os.path.realpath(library)
            os.execve(self.program, [self.program], environment)
        os.close(write_end)
        self.output = os.fdopen(read_end)
        self.registers = Registers()
        self.wait()  # the exec stops it

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        self.exited = os.WIFEXITED(status) or os.WIFSIGNALED(status)
        if os.WIFSIGNALED(status):
            raise RuntimeError(f"the program died of signal {os.WTERMSIG(status)}")
        if not self.exited and os.WSTOPSIG(status) != signal.SIGTRAP:
            raise RuntimeError(f"the program stopped by signal {os.WSTOPSIG(status)}")

    def rip(self):
        ptrace(PTRACE_GETREGS, self.pid, ctypes.byref(self.registers))
        return self.registers.rip

    def resume_to_mark(self):
        """Runs to the next mark. Returns False at the end of the program."""
        ptrace(PTRACE_CONT, self.pid)
        self.wait()
        return not self.exited

    def maps(self):
        """(start, end, file offset, path) of each executable mapping."""
        result = []
        with open(f"/proc/{self.pid}/maps") as lines:
            for line in lines:
                fields = line.split(maxsplit=5)
                if "x" not in fields[1]:
                    continue
                start, end = (int(x, 16) for x in fields[0].split("-"))
                path = fields[5].strip() if len(fields) > 5 else ""
                result.append((start, end, int(fields[2], 16), path))
        return result

    def step_to_mark(self, memory):
        """Returns the addresses of the instructions executed up to the next mark."""
        addresses = []
        while True:
            rip = self.rip()
            memory.seek(rip)
            if memory.read(1)[0] == INT3:
                ptrace(PTRACE_CONT, self.pid)  # over the mark: it traps after the instruction
                self.wait()
                return addresses
            addresses.append(rip)
            ptrace(PTRACE_SINGLESTEP, self.pid)
            self.wait()
            if len(addresses) > 1_000_000:
                raise RuntimeError("no mark reached")


def trace(program, library):
    """{section: [list of (path, file address) per run]}"""
    tracee = Tracee(program, library)
    if not tracee.resume_to_mark():
        raise RuntimeError("the program has no marks")
    sections = tracee.output.readline().split()
    runs = collections.defaultdict(list)
    maps = tracee.maps()
    with open(f"/proc/{tracee.pid}/mem", "rb", buffering=0) as memory:
        while not tracee.exited:
            for name in sections:
                run = []
                for rip in tracee.step_to_mark(memory):
                    place = next((m for m in maps if m[0] <= rip < m[1]), None)
                    if place is None:
                        raise RuntimeError(f"the instruction at 0x{rip:x} is in no file")
                    if place[3] != tracee.program:
                        run.append((place[3], rip - place[0] + place[2]))
                runs[name].append(run)
                tracee.resume_to_mark()
                if tracee.exited:
                    break
    return runs


# ---- what an instruction does ------------------------------------------------------------------


class Disassembly:
    """The instructions of one file, by offset."""

    LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")

    def __init__(self, path):
        self.instructions = {}
        offsets = self.text_offsets(path)
        output = subprocess.run(
            ["objdump", "-d", "-M", "intel", "--no-show-raw-insn", path],
            check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            match = self.LINE.match(line)
            if match:
                address = int(match.group(1), 16)
                for start, end, delta in offsets:
                    if start <= address < end:
                        self.instructions[address - delta] = match.group(2)

    @staticmethod
    def text_offsets(path):
        output = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True,
                                text=True).stdout
        result = []
        for line in output.splitlines():
            fields = line.split()
            if fields and fields[0] == "LOAD":
                offset, address, size = (int(fields[i], 16) for i in (1, 2, 4))
                result.append((address, address + size, address - offset))
        return result


PREFIXES = {"lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "ds", "es", "fs",
            "gs"}
NO_ACCESS = re.compile(r"^(lea|nop|prefetch|endbr|clflush)")
MOVES = re.compile(r"^v?(mov|set|cvt|pextr|extract)")
ONLY_READ = re.compile(r"^(cmp|test|bt$|ucomis|comis|ptest|mul$|imul|div|idiv)")


def classify(text):
    """(loads, stores, branches) of one instruction in Intel syntax."""
    text = re.sub(r"\s*(<.*|#.*)$", "", text)
    words = text.split(maxsplit=1)
    while words and words[0] in PREFIXES and len(words) == 2:
        words = words[1].split(maxsplit=1)
    name = words[0]
    operands = words[1].split(",") if len(words) == 2 else []
    in_memory = [i for i, operand in enumerate(operands) if "[" in operand or "ds:" in operand
                 or "fs:" in operand or "gs:" in operand]
    load = store = branch = 0
    if name.startswith("j") or name.startswith("loop"):
        branch, load = 1, len(in_memory)
    elif name.startswith("call"):
        branch, store, load = 1, 1, len(in_memory)
    elif name.startswith("ret"):
        branch, load = 1, 1
    elif name.startswith("push"):
        store, load = 1, len(in_memory)
    elif name.startswith("pop") and not name.startswith("popcnt"):
        load, store = 1, len(in_memory)
    elif name == "leave":
        load = 1
    elif in_memory and not NO_ACCESS.match(name):
        if in_memory[0] > 0 or ONLY_READ.match(name):
            load = 1
            store = 1 if name.startswith(("xchg", "xadd")) else 0
        elif MOVES.match(name):
            store = 1
        elif len(operands) == 1 and not re.match(r"^(inc|dec|neg|not|sh|sa|ro)", name):
            load = 1
        else:
            load = store = 1
    return load, store, branch


def measure(program, library, verbose):
    files = {}
    result = {}
    for name, runs in trace(program, library).items():
        counted = []
        for run in runs:
            figures = dict.fromkeys(KINDS, 0)
            for path, offset in run:
                if path not in files:
                    files[path] = Disassembly(path)
                text = files[path].instructions.get(offset)
                if text is None:
                    raise RuntimeError(f"{path}+0x{offset:x} is not in its disassembly")
                for kind, n in zip(KINDS, (1,) + classify(text)):
                    figures[kind] += n
            counted.append(figures)
        order = sorted(range(len(counted)), key=lambda i: counted[i]["instructions"])
        middle = order[len(order) // 2]
        result[name] = {
            "typical": counted[middle],
            "mean_instructions": round(
                statistics.mean(c["instructions"] for c in counted), 1),
        }
        if verbose:
            print(f"--- {name}, run {middle} of {len(runs)}; instructions of all: "
                  f"{[c['instructions'] for c in counted]}")
            for path, offset in runs[middle]:
                text = files[path].instructions[offset]
                print(f"  {os.path.basename(path)}+0x{offset:x}  {classify(text)}  {text}")
    return result


# ---- the golden file ---------------------------------------------------------------------------


def compiler_of(command):
    version = subprocess.run([command, "-dumpfullversion", "-dumpversion"], check=True,
                             capture_output=True, text=True).stdout.strip()
    banner = subprocess.run([command, "--version"], check=True, capture_output=True,
                            text=True).stdout
    kind = "clang" if "clang" in banner else "gcc"
    return f"{kind} {version.split('.')[0]}"


def print_table(measured, golden):
    print(f"{'':14}" + "".join(f"{kind:>16}" for kind in KINDS) + f"{'mean instr.':>16}")
    for name, figures in measured.items():
        expected = golden.get(name, {})
        cells = []
        for kind in KINDS:
            was = expected.get("typical", {}).get(kind, "-")
            cells.append(f"{figures['typical'][kind]} ({was})")
        cells.append(f"{figures['mean_instructions']} ({expected.get('mean_instructions', '-')})")
        print(f"{name:14}" + "".join(f"{cell:>16}" for cell in cells))


def differences(measured, golden):
    for name in sorted(set(measured) | set(golden)):
        if name not in measured or name not in golden:
            yield f"{name}: only in one of the two"
            continue
        for kind in KINDS:
            now, was = measured[name]["typical"][kind], golden[name]["typical"][kind]
            if abs(now - was) > TOLERANCE[kind]:
                yield f"{name}: {kind} {now}, recorded {was}, tolerance {TOLERANCE[kind]}"
        now, was = measured[name]["mean_instructions"], golden[name]["mean_instructions"]
        if abs(now - was) > MEAN_TOLERANCE:
            yield f"{name}: mean instructions {now}, recorded {was}"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) != 3:
        sys.exit(__doc__)
    program, library, compiler_command = arguments
    if platform.machine() != "x86_64":
        raise Skip(f"the tracer knows x86-64 only, this is {platform.machine()}")
    compiler = compiler_of(compiler_command)
    measured = measure(program, library, "--verbose" in sys.argv)
    with open(GOLDEN) as file:
        golden = json.load(file)
    print_table(measured, golden["paths"])
    pair = sum(measured[name]["typical"]["instructions"] for name in ("malloc", "free"))
    print(f"malloc(16) and free: {pair} instructions (fewer than {PAIR_LIMIT} wanted)")
    if "--update" in sys.argv:
        golden = {"compiler": compiler, "machine": "x86-64", "paths": measured}
        with open(GOLDEN, "w") as file:
            json.dump(golden, file, indent=2)
            file.write("\n")
        print(f"wrote {GOLDEN}")
        return 0
    if compiler != golden["compiler"]:
        raise Skip(f"recorded with {golden['compiler']}, this is {compiler}")
    failures = list(differences(measured, golden["paths"]))
    if pair >= PAIR_LIMIT:
        failures.append(f"malloc(16) and free take {pair} instructions")
    for failure in failures:
        print(f"FAILED: {failure}")
    if failures:
        print("If the change is intended: run this with --update and commit hot_paths.json.")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
