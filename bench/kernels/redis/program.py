#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""redis-server on the contestant under redis-benchmark on the system's malloc.

Debian's redis-server is linked with libjemalloc.so.2, but it calls malloc, free, calloc, realloc and
malloc_usable_size by these names, so a preloaded library takes all of them. Without one it would
run on jemalloc: for the C library, libc.so.6 itself is preloaded, which puts it before jemalloc.
"""
import csv
import io
import math
import re
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program_runner as runner  # noqa: E402

KEYS = 500  # our own keys, written before the benchmark and read after it
RANGE = 20000  # of the benchmark's random keys, fields and members
SIZE = 100  # of each value the benchmark writes, always the same bytes
PAGE = 1000  # replies are read in pieces, so that they do not show in the server's peak memory


class Client:
    """The part of Redis' protocol that the checks need."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words)
                            + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.reply()

    def reply(self):
        kind, rest = (line := self.file.readline())[:1], line[1:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind not in (b"+", b":"):
            raise runner.Failure(f"redis-server says {line!r}")
        return int(rest) if kind == b":" else rest

    def scan(self, command, key):
        """All results of SSCAN or HSCAN, possibly with duplicates."""
        cursor, found = b"0", []
        while True:
            cursor, part = self.call(command, key, cursor, "COUNT", PAGE)
            found += part
            if cursor == b"0":
                return found


def pattern(number):
    return (b"%d;" % (number * 2654435761)) * (1 + number * 7 % 300)


def answers(path):
    try:
        return Client(path).call("PING") == b"PONG"
    except (OSError, runner.Failure):
        return False


def benchmark(tool, path, tests, requests):
    """{test: requests per second}"""
    done = subprocess.run(
        [tool, "-s", str(path), "--csv", "-n", str(requests), "-P", "16", "-r", str(RANGE),
         "-d", str(SIZE), "-t", tests], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        env=runner.quiet_environment(), timeout=300)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    rates = {row["test"].split()[0]: float(row["rps"]) for row in rows}
    if done.returncode or len(rates) != len(tests.split(",")):
        raise runner.Failure(f"redis-benchmark failed: {done.stderr or done.stdout}")
    return rates


def check_names(names, start, requests):
    """The tool's random seed cannot be set. Only the number of different names is known, and much
    better than to the 5 % checked here."""
    wanted = {b"%s:%012d" % (start, i) for i in range(RANGE)}
    likely = RANGE * (1 - math.exp(-requests / RANGE))
    runner.check(set(names) <= wanted, f"a name that is not {start.decode()}:NUMBER")
    runner.check(abs(len(set(names)) - likely) < 0.05 * likely,
                 f"{len(set(names))} names of the form {start.decode()}:NUMBER, not {likely:.0f}")


def check_data(client, requests):
    """Checks all data of the benchmark, and that our own values are unchanged."""
    length = client.call("LLEN", "mylist")
    runner.check(requests <= length < requests + 1000, "a wrong number of list elements")
    data = client.call("LINDEX", "mylist", 0)
    runner.check(len(data) == SIZE, "a value of a wrong length")
    for i in range(0, length, PAGE):
        part = client.call("LRANGE", "mylist", i, i + PAGE - 1)
        runner.check(part == [data] * min(PAGE, length - i), "a wrong list element")
    check_names(client.scan("SSCAN", "myset"), b"element", requests)
    pairs = client.scan("HSCAN", "myhash")
    check_names(pairs[::2], b"element", requests)
    runner.check(set(pairs[1::2]) == {data}, "a wrong value in the hash")
    keys = [b"key:%012d" % i for i in range(RANGE)]
    found = {}
    for i in range(0, RANGE, PAGE):
        found.update(zip(keys[i:i + PAGE], client.call("MGET", *keys[i:i + PAGE])))
    check_names([key for key in keys if found[key] is not None], b"key", requests)
    runner.check(set(found.values()) <= {data, None}, "a wrong value")
    values = [client.call("GET", f"own:{i}") for i in range(KEYS)]
    runner.check(values == [pattern(i) for i in range(KEYS)], "a value is not what was written")
    return b"".join(values)


def run(arguments, folder):
    requests = arguments.number("requests", 100_000)
    tests = arguments.text("tests", "set,get,lpush,sadd,hset")
    server_program = runner.find("redis-server")
    tool = runner.find("redis-benchmark", package="redis-tools")
    path = folder / "redis.sock"
    command = [server_program, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
               "no", "--dir", folder, "--daemonize", "no"]
    with runner.Server(command, folder=folder, env={"LD_PRELOAD": "libc.so.6"}) as server:
        server.wait_until(lambda: answers(path))
        client = Client(path)
        for i in range(KEYS):
            client.call("SET", f"own:{i}", pattern(i))
        rates = benchmark(tool, path, tests, requests)
        text = check_data(client, requests)
        used = re.search(rb"used_memory:(\d+)", client.call("INFO", "memory"))
        extra = {f"{test.lower()} 1/s": rate for test, rate in rates.items()}
        extra["resident at the end MiB"] = runner.status_kib(server.pid, "VmRSS") / 1024
        extra["used by its own count MiB"] = int(used.group(1)) / 2**20
        client.socket.sendall(b"SHUTDOWN NOSAVE\r\n")
        done = server.wait()
    done.seconds = sum(requests / rate for rate in rates.values())
    return runner.result(done, value=len(rates) * requests / done.seconds, text=text, extra=extra)


runner.main(runner.describe(
    name="redis", title="redis-server",
    what="redis-benchmark sends pipelined set, get, lpush, sadd and hset to a server on the "
         "contestant; the figure is requests per second over all of them. Debian's server is linked "
         "with jemalloc but calls it as malloc, so a preload replaces it; for the C library, libc "
         "is preloaded too.",
    metric="rate", unit="1/s", higher_is_better=True,
    cases=[("", "requests=24000", "requests=80000", "requests=400000")]), run)
