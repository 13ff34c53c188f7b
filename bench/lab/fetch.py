# SPDX-License-Identifier: Apache-2.0
"""Gets packages with the registries' own clients and checks each against bench/peers.lock.

The lock is a sorted list with one entry per package: registry, package, version, and the SHA-256 of
the file if it is downloaded. It is the only place that names versions.
"""

import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from lab import paths

# Newest first; pip takes the first that it finds a wheel for.
WHEEL_TAGS = [f"manylinux_2_{minor}" for minor in (39, 38, 35, 34, 31, 28, 27, 24, 17)] + [
    "manylinux2014", "manylinux2010", "manylinux1"]
MACHINES = ["x86_64", "aarch64"]
SECONDS = 150  # of a download by pip, which counts its own limit anew for each piece
QUIET = {"CARGO_NET_RETRY": "1", "CARGO_TERM_COLOR": "never", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

# Variables that a user's shell may set for other builds and that would change ours. CC and CXX stay.
FOREIGN = re.compile(
    r"(C|CXX|CPP|LD|F|FC|AS|AR|OBJC|EXTRA_\w*)FLAGS|LIBS|CPATH|C(PLUS)?_INCLUDE_PATH|LIBRARY_PATH|"
    r"LD_PRELOAD|LD_RUN_PATH|CONFIG_SITE|(GNU)?MAKEFLAGS|MFLAGS|MAKELEVEL|MAKEFILES|DESTDIR|"
    r"CMAKE_\w+|RUSTC(_\w+)?|RUSTFLAGS|CARGO_(BUILD|PROFILE|TARGET|ENCODED|UNSTABLE)_\w+|"
    r"JEMALLOC_\w+|MALLOC_\w+|MIMALLOC_\w+|GLIBC_TUNABLES")

LOCK = paths.BENCH / "peers.lock"


class Unavailable(Exception):
    """This machine cannot provide a peer; the text is one line for the user."""


def read_lock():
    return json.loads(LOCK.read_text()) if LOCK.is_file() else []


def entry(lock, registry, package, series=None):
    """The entry of a package, or of one series of its versions."""
    for one in lock:
        if (one["registry"], one["package"], one.get("series")) == (registry, package, series):
            return one
    raise Unavailable(f"{package} is not in bench/peers.lock: ./dev bench lock")


def tool(name, hint=None):
    """The full path of a program; Unavailable, with a hint how to install it."""
    path = shutil.which(name)
    if not path:
        raise Unavailable(f"there is no {name} here" + (f" ({hint})" if hint else ""))
    return path


def cc():
    """The C compiler for everything; ./dev may have chosen one."""
    return tool(os.environ.get("CC") or "cc", "apt-get install g++")


def cxx():
    return tool(os.environ.get("CXX") or "g++", "apt-get install g++")


def tool_version(name):
    path = shutil.which(name)
    if not path:
        return f"no {name}"
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout


def own_environment(more=None, environ=os.environ):
    """The environment without the variables that configure other builds."""
    kept = {name: value for name, value in environ.items() if not FOREIGN.fullmatch(name)}
    return {**kept, **(more or {})}


def cargo_hint():
    """Debian 12 has two versions of cargo; the default one is too old for today's crates."""
    try:
        system = pathlib.Path("/etc/os-release").read_text()
    except OSError:
        system = ""
    old = all(re.search(f'^{line}"?$', system, re.M) for line in ('ID="?debian', 'VERSION_ID="?12'))
    return "apt-get install " + ("cargo-web" if old else "cargo")


def run(command, what, log, cwd, env=None, timeout=None):
    """Runs a command, appends its output to the log, and returns its standard output."""
    pathlib.Path(cwd).mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL,
                              env=own_environment(env), capture_output=True, text=True,
                              errors="replace", timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{what}: {error}") from None
    with open(log, "a") as out:
        out.write(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}\n")
    if done.returncode != 0:
        raise Unavailable(f"{what} failed ({paths.shown(log)})")
    return done.stdout


def compiled(name, inputs, command, what, built=paths.BUILT, suffix=""):
    """The path of a small program or library of the lab, compiled unless it is there already. The
    name holds a digest of the inputs. `command(output)` is the compiler's command."""
    folder = pathlib.Path(built) / name
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    made = folder / f"{name}-{digest}{suffix}"
    if made.is_file():
        return made
    # Another lab may compile the same one at the same time.
    draft = folder / f".{made.name}.{os.getpid()}"
    run(command(draft), what, folder / "log", folder)
    draft.replace(made)
    return made


def crate(package, lock, folder, log):
    """The unpacked sources of a crate, below folder. Cargo checks the archive against the registry;
    vendor() checks it against the lock."""
    locked = entry(lock, "crates", package)
    vendored = vendor([locked], pathlib.Path(folder) / "crates", log)
    sources = folder / package
    (vendored / package).rename(sources)
    shutil.rmtree(folder / "crates")
    return sources


def vendor(entries, folder, log):
    """Downloads crates and their dependencies into folder/vendor."""
    cargo = tool("cargo", cargo_hint())
    # The part after a plus sign is a remark, which cargo does not compare. Dependencies have the
    # features that the crate itself asks for, and no others.
    project(folder, {one["package"]: "=" + one["version"].partition("+")[0] for one in entries},
            {one["package"] for one in entries if "of" in one})
    run([cargo, "vendor", "--quiet", "vendor"], "downloading " + entries[0]["package"], log,
        folder, QUIET)
    for one in entries:
        checksums = folder / "vendor" / one["package"] / ".cargo-checksum.json"
        if json.loads(checksums.read_text()).get("package") != one["sha256"]:
            raise Unavailable(f"crate {one['package']} is not what bench/peers.lock says")
    return folder / "vendor"


def project(folder, dependencies, bare=()):
    """An empty Rust project with the given dependencies, as cargo needs one to download them; those in
    `bare` without their default features. The first resolver gives a package the same features in
    macros as in the program, so that those in `bare` have some."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "lib.rs").touch()
    lines = [f'{name} = {{ version = "{version}", default-features = '
             f'{"false" if name in bare else "true"} }}' for name, version in dependencies.items()]
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\nresolver = "1"\n[dependencies]\n'
        + "\n".join(lines) + "\n")


def wheel(package, series, lock, folder, log):
    """The data of a wheel (lib, include), unpacked below folder."""
    locked = entry(lock, "pypi", package, series)
    digest = locked["sha256"].get(platform.machine())
    if not digest:
        raise Unavailable(f"PyPI has no {package} {locked['version']} for {platform.machine()}")
    download = pathlib.Path(folder) / f"{package}.wheel"
    download.mkdir()
    (download / "wanted").write_text(f"{package}=={locked['version']} --hash=sha256:{digest}\n")
    run([*pip_download(), "--require-hashes", "-r", "wanted"], f"downloading {package}", log,
        download, QUIET, SECONDS)
    with zipfile.ZipFile(next(download.glob("*.whl"))) as archive:
        archive.extractall(download)
    data = folder / package
    next(lib.parent for lib in download.rglob("lib") if lib.is_dir()).rename(data)
    shutil.rmtree(download)
    return data


def pip_download():
    if not importlib.util.find_spec("pip"):
        raise Unavailable("python3 has no pip (Debian package python3-pip)")
    return [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
            ":all:", "--retries", "1", "--timeout", "20", "--dest", "."]


def debian(package, lock, folder, log):
    """(root, version) of a Debian package. The root is / if the locked version is installed;
    otherwise the package is unpacked below folder. A system that only has another version
    provides that one."""
    locked = entry(lock, "debian", package)
    have = installed(package)
    if have == locked["version"]:
        return pathlib.Path("/"), have
    root = pathlib.Path(folder) / package
    root.mkdir()
    try:
        run([tool("apt-get"), "download", f"{package}={locked['version']}"],
            f"downloading {package}", log, root)
    except Unavailable:
        if have:
            return pathlib.Path("/"), have
        run([tool("apt-get"), "download", package], f"downloading {package}", log, root)
    archive = next(root.glob("*.deb"))
    version, machine = (run(["dpkg-deb", "-f", archive, field], package, log, root).strip()
                        for field in ("Version", "Architecture"))
    wanted = locked.get("sha256", {}).get(machine)
    if version == locked["version"] and wanted not in (None, _sha256(archive)):
        raise Unavailable(f"package {package} is not what bench/peers.lock says")
    run(["dpkg", "-x", archive, root], f"unpacking {package}", log, root)
    return root, version


def installed(package):
    """The version of an installed Debian package, or None."""
    query = subprocess.run([tool("dpkg-query"), "-W", "-f", "${db:Status-Status} ${Version}",
                            package], capture_output=True, text=True).stdout.split()
    return query[1] if query[:1] == ["installed"] else None


def unlike_lock(package, version, lock):
    """A remark on a Debian package whose version is not the locked one, or ""."""
    locked = entry(lock, "debian", package)["version"]
    return "" if version == locked else f"{package} is {version}; bench/peers.lock has {locked}"


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refresh(recipes, report):
    """Asks the registries for the newest versions and writes the lock."""
    found = {}
    log = paths.BUILT / "peers" / "lock.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    with tempfile.TemporaryDirectory() as folder:
        for recipe in recipes:
            for source in recipe.SOURCES:
                resolve = {"crates": _newest_crates, "pypi": _newest_wheels,
                           "debian": _newest_debian}.get(source["registry"])
                if not resolve:
                    continue
                report(recipe.NAME, f"looking for the newest {source['package']}")
                for one in resolve(source, pathlib.Path(folder), log):
                    found[one["registry"], one["package"], one["version"], one.get("of", "")] = one
    entries = [found[key] for key in sorted(found)]
    LOCK.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n")


def _newest_crates(source, folder, log):
    """The crate and, for recipes that compile Rust, its dependencies."""
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    project(place, {source["package"]: source.get("series", "*")})
    run([tool("cargo"), "generate-lockfile", "--quiet"], f"resolving {source['package']}", log,
        place, QUIET)
    used = _used_crates(source, place, log) if source.get("dependencies") else ()
    for name, version, digest in re.findall(
            r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = [^\n]*\nchecksum = "([^"]+)"',
            (place / "Cargo.lock").read_text()):
        one = {"registry": "crates", "package": name, "version": version, "sha256": digest}
        if name == source["package"]:
            yield one
        elif (name, version) in used:
            yield {**one, "of": source["package"]}


def _used_crates(source, place, log):
    """{(name, version)} of what a program on Linux needs of a lock, which is for all systems."""
    told = run([tool("cargo"), "tree", "--quiet", "--prefix", "none", "--edges", "normal,build",
                "--target", f"{platform.machine()}-unknown-linux-gnu"],
               f"resolving {source['package']}", log, place, QUIET)
    return set(re.findall(r"^(\S+) v(\S+)", told, re.M))


def _newest_wheels(source, folder, log):
    wanted = source["package"] + (f"=={source['series']}.*" if "series" in source else "")
    digests, versions = {}, {}
    for machine in MACHINES:
        place = pathlib.Path(tempfile.mkdtemp(dir=folder))
        tags = [part for tag in WHEEL_TAGS for part in ("--platform", f"{tag}_{machine}")]
        try:
            run([*pip_download(), *tags, wanted], f"resolving {wanted}", log, place, QUIET, SECONDS)
        except Unavailable:
            continue  # not every package is built for every machine
        archive = next(place.glob("*.whl"))
        versions[machine] = archive.name.split("-")[1]
        digests[machine] = _sha256(archive)
    if not versions:
        raise Unavailable(f"PyPI has no wheel of {wanted}")
    newest = versions.get("x86_64", next(iter(versions.values())))
    yield {"registry": "pypi", "package": source["package"], "version": newest,
           "sha256": {m: d for m, d in digests.items() if versions[m] == newest},
           **({"series": source["series"]} if "series" in source else {})}


def _newest_debian(source, folder, log):
    """The version of this distribution; on other systems the entry stays as it is."""
    try:
        text = run(["apt-cache", "show", "--no-all-versions", source["package"]],
                   source["package"], log, folder)
    except Unavailable:
        text = ""
    facts = dict(re.findall(r"^(Version|Architecture|SHA256): (\S+)$", text, re.M))
    if len(facts) == 3:
        yield {"registry": "debian", "package": source["package"], "version": facts["Version"],
               "sha256": {facts["Architecture"]: facts["SHA256"]}}
    else:
        yield from (one for one in read_lock() if one["package"] == source["package"])
