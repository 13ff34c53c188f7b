# SPDX-License-Identifier: Apache-2.0
"""A Python program of four threads that read, change and pack records (json, re, zlib, sqlite3).

Usage: threads.py [ROUNDS [RECORDS]]. Run with PYTHONMALLOC=malloc, every object of it is a block of malloc's. Prints a digest.
"""
import json
import random
import re
import sqlite3
import sys
import threading
import zlib

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
RECORDS = int(sys.argv[2]) if len(sys.argv) > 2 else 2500
results = {}


def work(number):
    source = random.Random(number)
    digest = 0
    database = sqlite3.connect(":memory:")
    database.execute("create table record (id integer primary key, name text, body blob)")
    for _ in range(ROUNDS):
        records = [
            {"id": i, "name": f"record-{source.randrange(10**6)}",
             "tags": [f"tag{source.randrange(50)}" for _ in range(source.randrange(8))],
             "text": "lorem ipsum " * source.randrange(10)}
            for i in range(RECORDS)
        ]
        text = json.dumps(records)
        back = json.loads(text)
        numbers = [int(n) for n in re.findall(r"record-(\d+)", text)]
        packed = [zlib.compress(json.dumps(record).encode(), 1) for record in back]
        database.executemany("insert or replace into record values (?, ?, ?)",
                             [(r["id"], r["name"], p) for r, p in zip(back, packed)])
        (count,) = database.execute("select count(*) from record where name like '%7%'").fetchone()
        digest = zlib.crc32(f"{digest} {sum(numbers)} {count} {sum(map(len, packed))}".encode())
    results[number] = digest


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(" ".join(f"{results[i]:08x}" for i in sorted(results)))
