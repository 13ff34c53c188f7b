# SPDX-License-Identifier: Apache-2.0
"""The sqlite3 shell on a script of 300,000 rows, a million in the full tests. The whole output and
the database are compared."""

import hashlib
import os
import random

import common

ROWS = 1_000_000 if common.FULL else 300_000
ROWS_A_STATEMENT = 250


def write_script(path):
    """Writes a million rows as SQL text, so that parsing allocates and frees small blocks
    throughout."""
    rng = random.Random(20)
    with open(path, "w") as out:
        out.write("PRAGMA journal_mode=MEMORY;\nPRAGMA synchronous=OFF;\nPRAGMA cache_size=-20000;\n"
                  "PRAGMA temp_store=MEMORY;\n"
                  "CREATE TABLE item(id INTEGER PRIMARY KEY, maker INTEGER, name TEXT, price REAL);\n"
                  "CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT);\nBEGIN;\n")
        for start in range(0, ROWS, ROWS_A_STATEMENT):
            rows = ",".join(
                "(%d,%d,'%s',%d.25)" % (i, rng.randrange(2000), "n" * rng.randrange(1, 30) + str(i % 977),
                                        rng.randrange(10000))
                for i in range(start, start + ROWS_A_STATEMENT))
            out.write("INSERT INTO item VALUES%s;\n" % rows)
        out.write("INSERT INTO maker SELECT DISTINCT maker, 'maker ' || hex(maker * 7919) FROM item;\n")
        out.write("COMMIT;\n")
        out.write("""
CREATE INDEX by_maker ON item(maker, price);
CREATE INDEX by_name ON item(name);
SELECT count(*), sum(price), min(name), max(name) FROM item;
SELECT m.name, count(*), round(avg(i.price), 6), max(i.name) FROM item i JOIN maker m ON m.id = i.maker
  GROUP BY m.id ORDER BY 3 DESC, 1 LIMIT 50;
SELECT name, group_concat(id, ';') FROM (SELECT * FROM item WHERE name LIKE 'nnnn1%' ORDER BY id)
  GROUP BY name ORDER BY name LIMIT 100;
SELECT maker, id, rank() OVER (PARTITION BY maker ORDER BY price DESC, id) r FROM item
  WHERE maker < 40 ORDER BY maker, r LIMIT 500;
UPDATE item SET name = name || '-' || upper(hex(id)) WHERE maker % 5 = 0;
DELETE FROM item WHERE maker % 7 = 3;
CREATE TABLE wide AS SELECT maker, group_concat(name, ',') AS names FROM item GROUP BY maker;
SELECT count(*), sum(length(names)), max(length(names)) FROM wide;
WITH RECURSIVE n(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, substr(s || hex(i * i), -200) FROM n
  WHERE i < 20000) SELECT count(*), sum(length(s)), max(s) FROM n;
SELECT a.id, b.id FROM item a JOIN item b ON a.name = b.name AND a.id < b.id ORDER BY 1, 2 LIMIT 100;
VACUUM;
PRAGMA integrity_check;
""")


def digest(path):
    with open(path, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


def test(scratch):
    sqlite = common.require("sqlite3", package="sqlite3")
    probe = common.bindings([sqlite, ":memory:", "SELECT hex(zeroblob(100));"], "proxy", scratch)
    common.bound_to_corbel(probe)
    script = os.path.join(scratch, "million.sql")
    write_script(script)
    results = {}
    for mode in ("system", "proxy"):
        database = os.path.join(scratch, mode + ".db")
        with open(script) as stdin:
            results[mode] = common.run([sqlite, database], mode, stdin=stdin, timeout=100)
        common.same("standard error", b"", results[mode].err)
        results[mode].database = digest(database)
        os.unlink(database)
    common.check(results["system"].out.endswith(b"\nok\n"), "the script did not reach its end")
    common.same("output", results["system"].out, results["proxy"].out)
    common.same("the database file", results["system"].database, results["proxy"].database)
    print("sqlite3: %d bytes of output, %.1f s and %.1f s" % (
        len(results["proxy"].out), results["system"].seconds, results["proxy"].seconds))


common.main(test)
