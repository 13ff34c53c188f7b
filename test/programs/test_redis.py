# SPDX-License-Identifier: Apache-2.0
"""redis-server: all its data types are written and read back; its background threads delete, a
forked child saves while clients write; reloads, restarts, redis-benchmark. The digest of the data
set must be the same as on the system's malloc. The benchmark runs on Corbel, too."""

import os
import random
import re
import socket

import common

KEYS = 6000


class Client:
    """A small client of Redis' protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    @staticmethod
    def encode(words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)

    def answer(self):
        line = self.file.readline()
        common.check(line.endswith(b"\r\n"), "the connection is gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            raise common.Failure("redis says: %r" % rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        return [self.answer() for _ in range(int(rest))]

    def call(self, *words):
        self.socket.sendall(self.encode(words))
        return self.answer()

    def pipeline(self, commands):
        self.socket.sendall(b"".join(map(self.encode, commands)))
        return [self.answer() for _ in commands]


def size_of(rng):
    return rng.choice((rng.randrange(1, 50), rng.randrange(50, 500), rng.randrange(500, 30000)))


def in_batches(client, commands, size=200):
    result = []
    for start in range(0, len(commands), size):
        result += client.pipeline(commands[start:start + size])
    return result


def write_all(client):
    rng = random.Random(42)
    sizes = {"s:%d" % i: size_of(rng) for i in range(KEYS)}
    in_batches(client, [("SET", k, common.pattern(k, n)) for k, n in sizes.items()])
    commands = []
    for i in range(300):
        for j in range(rng.randrange(1, 60)):
            commands.append(("RPUSH", "l:%d" % i, common.pattern("l%d/%d" % (i, j), rng.randrange(200))))
            commands.append(("HSET", "h:%d" % i, "f%d" % j, common.pattern("h%d/%d" % (i, j), rng.randrange(300))))
            commands.append(("SADD", "m:%d" % i, "member-%d" % rng.randrange(10**6)))
            commands.append(("ZADD", "z:%d" % i, rng.randrange(1000), "member-%d" % rng.randrange(10**6)))
            commands.append(("XADD", "x:%d" % (i % 20), "%d-%d" % (i + 1, j + 1), "f", "v" * rng.randrange(50)))
            commands.append(("APPEND", "a:%d" % i, "x" * rng.randrange(80)))
    in_batches(client, commands)
    for i in range(0, 300, 7):  # Grow, shrink, overwrite with another type.
        client.call("SETRANGE", "a:%d" % i, 100_000, "end")
        client.call("LTRIM", "l:%d" % i, 3, 20)
        client.call("SPOP" if i % 2 else "SCARD", "nothing")
    client.call("EVAL", "for i = 1, 2000 do redis.call('SET', 'lua:' .. i, string.rep('ab', i)) end "
                "return #redis.call('KEYS', 'lua:*')", 0)
    client.call("SORT", "z:1", "ALPHA", "DESC")
    return sizes


def check_all(client, sizes):
    keys = list(sizes)
    for start in range(0, len(keys), 100):
        part = keys[start:start + 100]
        for key, value in zip(part, client.call("MGET", *part)):
            common.check(value == common.pattern(key, sizes[key]), "wrong value of " + key)
    for i in range(1, 2001, 97):
        common.check(client.call("GET", "lua:%d" % i) == b"ab" * i, "wrong value of lua:%d" % i)
    for i in range(300):
        for element in client.call("LRANGE", "l:%d" % i, 0, -1):
            if element:
                common.check(element[:len(b"l%d/" % i)] == (b"l%d/" % i)[:len(element)], "wrong list element")


def delete_some(client, sizes):
    """Redis' background thread frees large values; the thread that made the others frees them."""
    gone = [k for i, k in enumerate(sizes) if i % 3 == 0]
    in_batches(client, [("UNLINK" if i % 2 else "DEL", k) for i, k in enumerate(gone)])
    for key in gone:
        del sizes[key]
    client.call("UNLINK", *("h:%d" % i for i in range(0, 300, 2)))
    common.check(client.call("EXISTS", *gone[:50]) == 0, "deleted keys are still there")


def wait_for_save(client):
    import time
    for _ in range(600):
        info = client.call("INFO", "persistence").decode()
        if "rdb_bgsave_in_progress:0" in info and "aof_rewrite_in_progress:0" in info:
            common.check("rdb_last_bgsave_status:ok" in info, "the background save failed")
            common.check("aof_last_bgrewrite_status:ok" in info, "the rewrite of the log failed")
            return
        time.sleep(0.05)
    raise common.Failure("the background save does not end")


class Redis:
    def __init__(self, mode, scratch, debug):
        self.mode, self.scratch, self.debug = mode, scratch, debug
        self.folder = os.path.join(scratch, mode)
        os.makedirs(self.folder, exist_ok=True)
        self.path = os.path.join(self.folder, "socket")
        self.server = None

    def start(self, threads):
        """With several threads, these read and write for the clients, and so free each other's
        memory. They also spin, which slows a benchmark on few processors too much."""
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server = common.Server(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", self.folder, "--save", "",
             "--dbfilename", "dump.rdb", "--io-threads", str(threads), "--io-threads-do-reads", "yes",
             "--hash-max-listpack-entries" if self.debug else "--hash-max-ziplist-entries", "30",
             *(["--enable-debug-command", "yes", "--lazyfree-lazy-user-flush", "yes"] if self.debug else [])],
            self.mode, self.scratch, cwd=self.folder)

        def ready():
            try:
                return os.path.exists(self.path) and Client(self.path).call("PING") == b"PONG"
            except (OSError, common.Failure):
                return False

        self.server.wait_until(ready)
        if self.mode == "proxy":
            common.active_in(self.server.pid)
        return Client(self.path)

    def stop(self):
        self.server.stop()
        log = self.server.output()
        common.no_complaint("redis-server", b"\n".join(
            line for line in log.splitlines() if b"Memory overcommit" not in line and b"vm.overcommit" not in line
            and b"jemalloc" not in line and b"Transparent Huge" not in line))
        common.check(b"BUG REPORT" not in log, "redis reports a bug:\n%s" % log[-3000:].decode("utf8", "replace"))


def exercise(mode, scratch, debug):
    """Returns the digests of the data set at each stage."""
    redis = Redis(mode, scratch, debug)
    digests = []
    client = redis.start(2)
    try:
        sizes = write_all(client)
        check_all(client, sizes)
        digests.append(client.call("DEBUG", "DIGEST"))
        # A forked child saves while this process overwrites and frees.
        client.call("BGSAVE")
        in_batches(client, [("SET", k, common.pattern(k, n + 5)) for k, n in list(sizes.items())[:2000]])
        sizes.update({k: n + 5 for k, n in list(sizes.items())[:2000]})
        wait_for_save(client)
        delete_some(client, sizes)
        check_all(client, sizes)
        digests.append(client.call("DEBUG", "DIGEST"))
        common.check(client.call("DEBUG", "RELOAD") == b"OK", "reload")
        check_all(client, sizes)
        digests.append(client.call("DEBUG", "DIGEST"))
        client.call("CONFIG", "SET", "appendonly", "yes")
        wait_for_save(client)
        client.call("BGREWRITEAOF")
        wait_for_save(client)
        client.call("CONFIG", "SET", "appendonly", "no")
        client.call("BGSAVE")
        wait_for_save(client)
        info = client.call("INFO", "memory").decode()
        used = int(re.search(r"used_memory:(\d+)", info).group(1))
        common.check(30e6 < used < 500e6, "used_memory is %d" % used)
        client.call("MEMORY", "USAGE", "l:1")
        client.call("MEMORY", "DOCTOR")
        redis.stop()

        client = redis.start(1)  # From the saved file.
        check_all(client, sizes)
        digests.append(client.call("DEBUG", "DIGEST"))
        if mode == "proxy":
            benchmark(redis, client)
        client.call("FLUSHALL")
        common.check(client.call("DBSIZE") == 0, "FLUSHALL left keys")
        redis.stop()
    except BaseException:
        print(redis.server.output()[-4000:].decode("utf8", "replace"))
        redis.server.kill()
        raise
    return digests


def benchmark(redis, client):
    client.call("FLUSHALL")
    rounds = 50000
    tool = ["redis-benchmark", "-s", redis.path, "-q", "-n", str(rounds), "-d", "96", "-r", "5000", "-c", "30"]
    for more in (["-t", "set,get,lpush"], ["-t", "set,get,lpush", "-P", "16", "--threads", "2"]):
        done = common.run([*tool, *more], redis.mode, timeout=200)
        common.check(done.out.count(b"requests per second") == 3, "redis-benchmark said %r" % done.out[-500:])
        common.no_complaint("redis-benchmark", done.err)
        rates = re.findall(rb"(\w+): ([\d.]+) requests per second", done.out)
        print("redis-benchmark %s: %s" % (" ".join(more), " ".join(
            "%s %.0f/s" % (n.decode(), float(r)) for n, r in rates)))
    # The benchmark's data: every value is the same 96 bytes, and no list element is missing.
    keys = client.call("KEYS", "key:*")
    common.check(4900 <= len(keys) <= 5000, "%d keys of 5000" % len(keys))
    values = {v for start in range(0, len(keys), 500) for v in client.call("MGET", *keys[start:start + 500])}
    common.check(len(values) <= 2 and {len(v) for v in values} == {96}, "values are not what was written")
    lists = client.call("KEYS", "mylist*")
    length = sum(client.call("LLEN", name) for name in lists)
    common.check(length >= 2 * rounds, "%d list elements of %d" % (length, 2 * rounds))
    for name in lists:
        size = client.call("LLEN", name)
        for start in range(0, size, 5000):
            elements = set(client.call("LRANGE", name, start, start + 4999))
            common.check(elements <= values and len(elements) <= 2, "list elements are not what was written")


def test(scratch):
    common.require("redis-server", package="redis-server")
    common.require("redis-benchmark", package="redis-tools")
    version = common.run(["redis-server", "--version"], "system").out.decode()
    print(version.strip())
    probe = common.bindings(["redis-server", "--version"], "proxy", scratch)
    common.bound_to_corbel(probe, needed=("malloc",))
    debug = int(re.search(r"v=(\d+)", version).group(1)) >= 7
    expected = exercise("system", scratch, debug)
    actual = exercise("proxy", scratch, debug)
    common.same("digest of the data set", expected, actual)
    common.check(expected[1] == expected[2] == expected[3], "the digest changed by reloading")
    print("digests: " + b" ".join(expected).decode())


common.main(test)
