# SPDX-License-Identifier: Apache-2.0
"""The program that test_python.py runs: threads that use json, re, zlib and sqlite3 at the same
time.

Prints only digests, so that two runs can be compared. The last line of standard error names the
file that this process's malloc comes from.
"""

import ctypes
import decimal
import hashlib
import json
import os
import queue
import random
import re
import sqlite3
import subprocess
import sys
import threading
import zlib

THREADS = 6
ROUNDS = int(os.environ.get("ROUNDS", 10))


def document(rng, depth=0):
    if depth > 3 or rng.random() < 0.2:
        return rng.choice([rng.random(), rng.randrange(10**9), "é" * rng.randrange(40), None, True])
    if rng.random() < 0.5:
        return [document(rng, depth + 1) for _ in range(rng.randrange(12))]
    return {"key%d" % rng.randrange(1000): document(rng, depth + 1) for _ in range(rng.randrange(12))}


def use_json(rng):
    text = json.dumps([document(rng) for _ in range(20)], sort_keys=True)
    return json.dumps(json.loads(text), sort_keys=True, indent=1).encode()


def use_re(rng):
    words = " ".join("%s-%d@x%d.org" % ("abc"[: rng.randrange(1, 4)], rng.randrange(999), rng.randrange(9))
                     for _ in range(2000))
    swapped = re.sub(r"(\w+)-(\d+)@(x\d)\.org", lambda m: m.group(3) + m.group(2) + m.group(1), words)
    return (swapped + "|".join(re.findall(r"x[0-4]\d+a?b", swapped))).encode()


def use_zlib(rng):
    data = bytes(rng.choices(b"abcdefgh", k=200_000))
    packed = zlib.compress(data, rng.randrange(1, 9))
    stream = zlib.decompressobj()
    back = b"".join(stream.decompress(packed[i : i + 777]) for i in range(0, len(packed), 777))
    assert back + stream.flush() == data
    return hashlib.sha256(data).digest()


def use_sqlite(rng):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t(a INTEGER, b TEXT, c BLOB)")
    base.executemany("INSERT INTO t VALUES(?,?,?)",
                     ((rng.randrange(500), "v" * rng.randrange(60), bytes(rng.randrange(300)))
                      for _ in range(3000)))
    base.execute("CREATE INDEX i ON t(a)")
    base.create_function("twice", 1, lambda s: s + s)
    rows = base.execute("SELECT a, count(*), max(twice(b)), sum(length(c)) FROM t GROUP BY a ORDER BY a")
    text = repr(rows.fetchall()).encode()
    base.close()
    return text


def use_decimal(rng):
    decimal.getcontext().prec = 400
    total = sum((decimal.Decimal(rng.randrange(1, 10**6)).sqrt() for _ in range(40)), decimal.Decimal(0))
    return str((total, int(total) ** rng.randrange(90))).encode()


def worker(number, results, mail):
    digest = hashlib.sha256()
    for turn in range(ROUNDS):
        rng = random.Random(number * 1000 + turn)
        for use in (use_json, use_re, use_zlib, use_sqlite, use_decimal):
            block = use(rng)
            digest.update(block)
            mail.put((number, bytearray(block)))  # Freed by another thread.
    results[number] = digest.hexdigest()


def forked(number):
    """Work in a forked child, whose result is read from a pipe. It takes no lock that another
    thread may have held at the fork: malloc has to cope with that, SQLite and OpenSSL do not."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            rng = random.Random(number)
            text = use_json(rng) + use_re(rng) + zlib.compress(use_json(rng))
            os.write(writer, b"%d %08x" % (len(text), zlib.crc32(text)))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(pid, 0)
    return "%s status %d" % (result.decode(), status)


def origin(function):
    """The file that contains the address of a C function."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), function), ctypes.c_void_p).value
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split()
            low, high = (int(x, 16) for x in fields[0].split("-"))
            if low <= address < high:
                return fields[-1]
    return "nowhere"


def main():
    results = {}
    mail = queue.Queue(maxsize=64)
    taken = [0]

    def collect():
        while True:
            item = mail.get()
            if item is None:
                return
            taken[0] += len(item[1])

    collector = threading.Thread(target=collect)
    collector.start()
    threads = [threading.Thread(target=worker, args=(i, results, mail)) for i in range(THREADS)]
    for thread in threads:
        thread.start()

    # Children are forked and spawned while the threads allocate.
    children = [forked(number) for number in range(12)]
    echo = [subprocess.run(["/bin/echo", str(i)], stdout=subprocess.PIPE, check=True).stdout
            for i in range(10)]

    for thread in threads:
        thread.join()
    mail.put(None)
    collector.join()
    for number in range(THREADS):
        print(number, results[number])
    print(taken[0], children, echo)
    print(" ".join("%s=%s" % (f, origin(f)) for f in ("malloc", "free", "calloc", "realloc")),
          file=sys.stderr)


if __name__ == "__main__":
    main()
