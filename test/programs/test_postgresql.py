# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: a new cluster, a script of queries whose output must be the same, and pgbench from
four clients, with its balances checked. Server, initdb, psql and pgbench all run on Corbel."""

import glob
import os
import pwd
import shutil
import signal

import common

QUERIES = os.path.join(common.HERE, "postgresql_queries.sql")


def programs():
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))
    for folder in reversed(folders):
        if all(os.path.exists(os.path.join(folder, name)) for name in ("initdb", "postgres", "psql", "pgbench")):
            return folder
    if shutil.which("initdb") and shutil.which("postgres") and shutil.which("pgbench"):
        return os.path.dirname(shutil.which("initdb"))
    common.skip("PostgreSQL is not installed (Debian package postgresql)")


def unprivileged():
    """The server refuses to run as root, so it runs as its own or as another unprivileged user."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    common.skip("running as root, and there is no user postgres or nobody")


def exercise(name, mode, bin_dir, scratch, who):
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    if who:
        os.chown(folder, who["user"], who["group"])
    data, env = os.path.join(folder, "data"), {"HOME": folder, "PGHOST": folder, "PGUSER": "tester",
                                               "PGDATABASE": "postgres"}

    def tool(program, *arguments, timeout=120, quiet=True):
        done = common.run([os.path.join(bin_dir, program), *arguments], mode, timeout=timeout, env=env,
                          cwd=folder, **who)
        if quiet:
            common.no_complaint(program, done.err)
        return done.out

    tool("initdb", "-D", data, "-U", "tester", "-A", "trust", "--locale=C", "-E", "UTF8", "-N")
    server = common.Server(
        [os.path.join(bin_dir, "postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=",
         "-c", "fsync=off", "-c", "max_connections=30", "-c", "shared_buffers=64MB"],
        mode, scratch, env=env, cwd=folder, **who)
    try:
        server.wait_until(lambda: b"ready to accept connections" in server.output(), 60)
        if mode != "system":
            common.active_in(server.pid)
        output = tool("psql", "-X", "-q", "-f", QUERIES)
        if mode != "system":
            # The backend of a client is a forked child of the server.
            backend = tool("psql", "-X", "-A", "-t", "-c", "SELECT pg_backend_pid()").strip()
            common.check(backend.isdigit(), "no backend: %r" % backend)
            maps = tool("psql", "-X", "-A", "-t", "-c", "SELECT pg_read_file('/proc/self/maps')")
            common.check(common.PROXY.encode() in maps, "the backend does not run on Corbel")
        tool("pgbench", "-i", "-s", "2", "-q", quiet=False)
        report = tool("pgbench", "-c", "4", "-j", "2", "-t", "500", "-n", quiet=False)
        common.check(b"number of transactions actually processed: 2000/2000" in report, report.decode())
        sums = tool("psql", "-X", "-A", "-t", "-c", "SELECT (SELECT sum(abalance) FROM pgbench_accounts), "
                    "(SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers), "
                    "(SELECT sum(delta) FROM pgbench_history), (SELECT count(*) FROM pgbench_history)")
        fields = sums.strip().split(b"|")
        common.check(len(set(fields[:4])) == 1 and fields[4] == b"2000", "the books do not balance: %r" % sums)
    except BaseException:
        print(server.output()[-3000:].decode("utf8", "replace"))
        server.kill()
        raise
    server.stop(signal.SIGINT, 60)
    log = server.output()
    common.check(b"database system is shut down" in log, "no clean end")
    common.check(b"was terminated by signal" not in log and b"PANIC" not in log, "a server process died")
    common.no_complaint("postgres", log)
    return output


def test(scratch):
    bin_dir, who = programs(), unprivileged()
    os.chmod(scratch, 0o755)
    # The other user may not have access to the build folder.
    libs = os.path.join(scratch, "lib")
    os.mkdir(libs)
    for library in (common.PROXY, common.CORE):
        shutil.copy(common.library(library), libs)
        os.chmod(os.path.join(libs, library), 0o755)
    proxy = {"LD_PRELOAD": os.path.join(libs, common.PROXY)}
    common.bound_to_corbel(common.bindings(
        [os.path.join(bin_dir, "postgres"), "-C", "port", "--config-file=/dev/null", "-D", "/tmp"], proxy, scratch,
        expect=None, **who))
    expected = exercise("system", "system", bin_dir, scratch, who)
    common.check(len(expected.splitlines()) > 100, "the queries did not run to their end")
    actual = exercise("preloaded", proxy, bin_dir, scratch, who)
    common.same("output of the queries", expected, actual)
    print("%s: %d bytes of output" % (bin_dir, len(actual)))


common.main(test)
