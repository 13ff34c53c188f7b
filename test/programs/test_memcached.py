# SPDX-License-Identifier: Apache-2.0
"""memcached under load from several client threads. Every returned value is checked.

The cache is so small that it has to evict: a value may be missing, but never wrong.
"""

import os
import random
import socket
import threading

import common

CLIENTS = 8
ROUNDS = 500
BATCH = 20


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        return self.file.readline().rstrip(b"\r\n")

    def set_many(self, items):
        self.send(b"".join(b"set %s 0 0 %d\r\n%s\r\n" % (k, len(v), v) for k, v in items))
        return [self.line() for _ in items]

    def get_many(self, keys):
        self.send(b"get " + b" ".join(keys) + b"\r\n")
        found = {}
        while True:
            line = self.line()
            if line == b"END":
                return found
            word, key, _, size = line.split()
            common.check(word == b"VALUE", "unexpected answer %r" % line)
            found[key] = self.file.read(int(size) + 2)[:-2]

    def command(self, text):
        self.send(text + b"\r\n")
        return self.line()

    def stats(self, kind=b""):
        self.send(b"stats" + (b" " + kind if kind else b"") + b"\r\n")
        result = {}
        while True:
            line = self.line()
            if line == b"END":
                return result
            _, name, value = line.split(b" ", 2)
            result[name.decode()] = value.decode()


def size_of(rng):
    return rng.choice((rng.randrange(64), rng.randrange(2000), rng.randrange(2000), rng.randrange(60000)))


def work(number, path, tally, errors):
    try:
        rng = random.Random(number)
        client = Client(path)
        hits = asked = 0
        for turn in range(ROUNDS):
            items = [(b"k-%d-%d-%d" % (number, turn, i), size_of(rng)) for i in range(BATCH)]
            answers = client.set_many([(k, common.pattern(k.decode(), size)) for k, size in items])
            common.check(set(answers) <= {b"STORED"}, "set: %r" % answers)
            # This client's keys of this round, and keys of another client, which may be missing.
            found = client.get_many([k for k, _ in items])
            for key, size in items:
                asked += 1
                if key in found:
                    hits += 1
                    common.check(found[key] == common.pattern(key.decode(), size), "wrong value of %r" % key)
            client.command(b"delete " + items[0][0])
            common.check(items[0][0] not in client.get_many([items[0][0]]), "a deleted key came back")
            if turn % 10 == 0:  # A new connection: the old one's buffers are freed by a worker.
                client.socket.close()
                client = Client(path)
        # A counter of this client, appended text, and a large item.
        client.set_many([(b"n%d" % number, b"0")])
        for _ in range(200):
            last = client.command(b"incr n%d 3" % number)
        common.check(last == b"600", "incr gave %r" % last)
        large = common.pattern("large%d" % number, 900_000)
        client.set_many([(b"large%d" % number, large)])
        back = client.get_many([b"large%d" % number]).get(b"large%d" % number, large)
        common.check(back == large, "wrong large value")
        tally[number] = (hits, asked)
    except Exception as error:  # Reported by the main thread.
        errors.append("client %d: %r" % (number, error))


def run_load(mode, scratch, memcached):
    path = os.path.join(scratch, mode + ".sock")
    command = [memcached, "-s", path, "-a", "700", "-t", "4", "-m", "64", "-c", "512"]
    if os.geteuid() == 0:
        command += ["-u", "root"]
    server = common.Server(command, mode, scratch)
    try:
        server.wait_until(lambda: os.path.exists(path))
        if mode == "proxy":
            common.active_in(server.pid)
        tally, errors = {}, []
        threads = [threading.Thread(target=work, args=(i, path, tally, errors)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if server.process.poll() is not None:
            raise common.Failure("memcached ended with %d: %s; %r" % (
                server.process.returncode, errors, server.output()[-2000:]))
        common.check(not errors, "; ".join(errors[:3]))
        client = Client(path)
        stats = client.stats()
        hits, asked = (sum(t[i] for t in tally.values()) for i in (0, 1))
        common.check(int(stats["cmd_set"]) >= CLIENTS * ROUNDS * BATCH, "sets are missing: %r" % stats)
        common.check(int(stats["evictions"]) > 0, "the load was too small to evict")
        common.check(hits > asked * 9 // 10, "only %d of %d fresh values found" % (hits, asked))
        print("memcached, %s: %s sets, %d of %d values back, %s evictions" % (
            mode, stats["cmd_set"], hits, asked, stats["evictions"]))
        common.check(client.command(b"flush_all") == b"OK", "flush_all")
    except common.Failure:
        server.kill()
        raise
    server.stop()
    log = server.output()
    common.check(log in (b"", b"Signal handled: Terminated.\n"), "memcached's log: %r" % log[-2000:])


def test(scratch):
    memcached = common.require("memcached", package="memcached")
    common.bound_to_corbel(common.bindings([memcached, "-V"], "proxy", scratch))
    for mode in ("system", "proxy"):
        run_load(mode, scratch, memcached)


common.main(test)
