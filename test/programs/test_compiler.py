# SPDX-License-Identifier: Apache-2.0
"""g++, and clang++ if it is installed, compile a template-heavy file: object code and program are
the same as on the system's malloc. The driver, cc1plus, as and ld all run on Corbel."""

import os
import shutil

import common

SOURCE = os.path.join(common.HERE, "template_heavy.cpp")


def read(path):
    with open(path, "rb") as data:
        return data.read()


def compile_with(compiler, scratch, variants):
    # Both runs write to the same path, because object files contain names.
    target = os.path.join(scratch, "object.o")
    program = os.path.join(scratch, "program")
    for variant in variants:
        kept = {}
        for mode in ("system", "proxy"):
            done = common.run([compiler, "-std=c++17", *variant, SOURCE, "-o", target], mode,
                              timeout=150)
            common.same("%s's messages" % compiler, b"", done.out + done.err)
            kept[mode] = read(target)
            print("%s %s on %s: %d bytes, %.1f s" % (
                compiler, " ".join(variant), mode, len(kept[mode]), done.seconds))
            os.unlink(target)
        common.same("object code of %s %s" % (compiler, variant), kept["system"], kept["proxy"])

    # Link the last object on both allocators and run it.
    with open(target, "wb") as out:
        out.write(kept["proxy"])
    linked = {}
    for mode in ("system", "proxy"):
        done = common.run([compiler, target, "-o", program], mode, timeout=60)
        common.same("the linker's messages", b"", done.out + done.err)
        linked[mode] = read(program)
    common.same("linked program", linked["system"], linked["proxy"])
    output = common.run([program], "proxy")
    common.check(output.out.endswith(b"alpha12beta7gamma300\n"), "the program printed %r" % output.out)


def test(scratch):
    compilers = [("g++", [["-O0", "-S"], ["-O2", "-g", "-c"]] if common.FULL else [["-O1", "-c"]])]
    common.require("g++", package="g++")
    for name in ("clang++", *("clang++-%d" % n for n in range(22, 13, -1))):
        if shutil.which(name):
            compilers.append((name, [["-O1", "-c"]]))
            break
    else:
        print("clang++ is not installed: not tried")

    small = os.path.join(scratch, "small.cpp")
    with open(small, "w") as out:
        out.write("#include <string>\nint main() { return std::string(\"x\").size() != 1; }\n")
    for compiler, variants in compilers:
        # Every malloc of the driver and of the processes it starts must be Corbel's.
        logs = common.bindings([compiler, small, "-o", os.path.join(scratch, "small")], "proxy", scratch)
        logs = [log for log in logs if log]
        common.bound_to_corbel(logs)
        with_malloc = sum(any(symbol == "malloc" for _, _, symbol in log) for log in logs)
        common.check(with_malloc >= 2, "only %d processes of %s used malloc" % (with_malloc, compiler))
        compile_with(compiler, scratch, variants)


common.main(test)
