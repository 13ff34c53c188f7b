#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""git on a repository that is made once, the same on every machine, in build/bench/inputs."""
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402

FILES = 60
# Neither the user's nor the machine's settings.
SETTINGS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat",
            "LC_ALL": "C"}
COMMANDS = {
    "log": ["log", "-p", "--stat", "-M"],
    "blame": ["blame", "-C", "--line-porcelain", "HEAD", "--", "file0.txt"],
    # On one thread, because the deltas that several find depend on their order.
    "pack": ["pack-objects", "--all", "--stdout", "--no-reuse-delta", "--no-reuse-object",
             "--threads=1", "--window=20", "-q"],
}


def history(commits):
    """The input of git fast-import: each commit changes some lines of up to four files."""
    source = random.Random(1)
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randrange(2, 11)))
             for _ in range(3000)]

    def line():
        return " ".join(source.choices(words, k=source.randrange(1, 14)))

    files = [[line() for _ in range(source.randrange(40, 600))] for _ in range(FILES)]
    for number in range(commits):
        changed = range(FILES) if number == 0 else {0, *source.choices(range(FILES), k=3)}
        message = line()
        yield (f"commit refs/heads/main\ncommitter Name <name@example.com> {10**9 + number * 600} "
               f"+0000\ndata {len(message)}\n{message}\n")
        for at in sorted(changed):
            lines = files[at]
            for _ in range(source.randrange(1, 9)):
                place = source.randrange(len(lines))
                lines[place:place + source.randrange(4)] = [line() for _ in
                                                            range(source.randrange(4))]
                lines.append(line())
            text = "\n".join(lines) + "\n"
            yield f"M 100644 inline file{at}.txt\ndata {len(text)}\n{text}\n"


def make(folder, git, commits):
    def call(*words, given=None):
        subprocess.run([git, *words], cwd=folder, input=given, check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=runner.quiet_environment(**SETTINGS))
    folder.mkdir()
    call("init", "-q", "--bare", "--initial-branch=main")
    call("fast-import", "--quiet", given="".join(history(commits)).encode())
    # Without a bitmap, from which packing would copy the pack as it is.
    call("-c", "pack.threads=1", "-c", "repack.writeBitmaps=false", "repack", "-adfq")


def run(arguments, _folder):
    what, commits = arguments.text("what", "log"), arguments.number("commits", 100)
    program = runner.find("git")
    folder = runner.prepared(f"git-{commits}", lambda path: make(path, program, commits))
    given = folder / "no-input"
    given.touch()
    done = runner.measure([program, "-C", folder, "-c", "safe.directory=*", *COMMANDS[what]],
                          env=SETTINGS, stdin=given)
    if what == "log":
        runner.check(done.output.count(b"\ncommit ") == commits - 1, "not all commits are there")
    elif what == "blame":
        runner.check(done.output.count(b"\nfilename file") > 40, "lines are missing")
    else:
        # Its header names the number of objects; a commit has a tree and at least one file.
        runner.check(done.output[:4] == b"PACK" and
                     int.from_bytes(done.output[8:12], "big") >= 3 * commits, "an incomplete pack")
    return runner.result(done, extra={"output KiB": len(done.output) / 1024})


def case(what, *sizes):
    return (what, *(f"what={what} commits={commits}" for commits in sizes))


runner.main(runner.describe(
    name="git", title="git",
    what="git shows all changes of a repository (log), finds the origin of each line of its most "
         "edited file (blame), and packs all its objects with new deltas on one thread (pack). The "
         "repository is made once, and the output must not differ by a byte.",
    cases=[case("log", 120, 400, 4000), case("blame", 180, 500, 4000),
           case("pack", 60, 300, 2000)]), run)
