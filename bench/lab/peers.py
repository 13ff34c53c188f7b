# SPDX-License-Identifier: Apache-2.0
"""The peers: the allocators and schedulers that Corbel is compared with.

A peer is one recipe, bench/peers/<name>.py. It names the source of its package and builds it. This
module loads the recipes, builds missing peers into build/bench/peers/<name>/ and checks that they
work. A peer that fails is left out with one line that says why; the lab works without it.

    load()                  -> {name: recipe}
    prepare(names, report)  -> {name: Prepared or Unavailable}; report(name, "current step")
    both take the folder of the recipes; the builds with checks are in bench/misuse/peers
    refresh(report)         rewrites bench/peers.lock with the newest versions (./dev bench lock)
"""

import dataclasses
import fcntl
import hashlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess

from lab import fetch, paths
from lab.fetch import Unavailable
from lab.paths import BENCH, ROOT
from lab.paths import BUILT as LAB_BUILT

RECIPES = BENCH / "peers"
CHECKED = BENCH / "misuse" / "peers"  # the allocators' builds with checks, see lab/misuse
BUILT = LAB_BUILT / "peers"
CORBEL = ROOT / "build" / "release" / "lib"
CONTROLS = RECIPES / "controls"
PROBE = BENCH / "lab" / "probe.c"


@dataclasses.dataclass
class Allocator:
    """How to run a program on an allocator. `preload` is in the order of LD_PRELOAD. `files` are all
    files that a run loads: when one changes, it is another contestant. A recipe names those outside
    its folder; the others are found."""
    preload: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Scheduler:
    """How to compile a program for one API: compiler, flags, the source, libs. `files` as in
    Allocator. `stamp` changes with the peer, because its headers and libraries keep their paths."""
    id: str
    title: str
    api: str  # the name of the source file: serial, tbb, classic, openmp, rayon
    compiler: str
    flags: list = dataclasses.field(default_factory=list)
    libs: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)
    stamp: str = ""


@dataclasses.dataclass
class Prepared:
    """A peer that is ready. `without` says why one of its kinds is missing; `note` is a remark for
    the user."""
    name: str
    title: str  # with the version
    version: str
    origin: str  # where it came from
    kinds: set
    control: bool = False
    allocator: Allocator = None
    schedulers: list = dataclasses.field(default_factory=list)
    without: dict = dataclasses.field(default_factory=dict)
    note: str = ""


class Context:
    """The services for a recipe: its folder, its packages, and logged commands."""

    def __init__(self, name, folder, report=None, lock=None):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.report = report or (lambda name, what: None)
        self.lock = fetch.read_lock() if lock is None else lock
        self.log = BUILT / f"{name}.log"
        self.root = ROOT
        self.corbel = CORBEL

    def say(self, what):
        self.report(self.name, what)

    def run(self, command, what, cwd=None, env=None):
        """Runs a command with its output in the log and returns its standard output; Unavailable,
        which names `what`, when it fails."""
        return fetch.run(command, what, self.log, cwd or self.folder, env)

    def crate(self, package):
        self.say(f"fetching {package}")
        return fetch.crate(package, self.lock, self.folder, self.log)

    def wheel(self, package, series=None):
        self.say(f"fetching {package}")
        return fetch.wheel(package, series, self.lock, self.folder, self.log)

    def debian(self, package):
        self.say(f"fetching {package}")
        return fetch.debian(package, self.lock, self.folder, self.log)

    def rust(self, *packages):
        """Downloads crates with their dependencies and compiles them for release."""
        cargo = fetch.tool("cargo", fetch.cargo_hint())
        entries = [one for name in packages for one in self.lock
                   if one["registry"] == "crates" and name in (one["package"], one.get("of"))]
        entries.sort(key=lambda one: one["package"] not in packages)
        place = self.folder / "rust"
        self.say(f"fetching {packages[0]}")
        fetch.vendor(entries, place, self.log)
        (place / ".cargo").mkdir()
        (place / ".cargo" / "config.toml").write_text(
            '[source.crates-io]\nreplace-with = "vendored"\n'
            '[source.vendored]\ndirectory = "vendor"\n')
        self.say("compiling")
        self.run([cargo, "build", "--release", "--offline", "--quiet", "--target-dir", "target"],
                 f"compiling {packages[0]}", cwd=place)

    def rust_schedulers(self, title, *packages):
        """The scheduler for programs that use crates, after rust()."""
        built = self.folder / "rust" / "target" / "release" / "deps"
        flags = ["--edition=2021", "-Copt-level=3", "-L", f"dependency={built}"]
        for package in packages:
            name = package.replace("-", "_")
            flags += ["--extern", f"{name}={next(built.glob(f'lib{name}-*.rlib'))}"]
        return [Scheduler(self.name, title, self.name, fetch.tool("rustc", fetch.cargo_hint()),
                          flags)]

    def debian_header(self, package, header):
        """A header-only library of the distribution: writes the version that was found, and where its
        headers are, for debian_scheduler()."""
        root, have = self.debian(package)
        include = root / "usr" / "include"
        if not (include / header).is_file():
            raise Unavailable(f"{package} has no {header}")
        if root != pathlib.Path("/"):
            include.rename(self.folder / "include")
        (self.folder / "version").write_text(have)

    def debian_version(self):
        return (self.folder / "version").read_text()

    def debian_scheduler(self, title):
        include = self.folder / "include"
        flags = ["-isystem", str(include)] if include.is_dir() else []
        return Scheduler(self.name, title, self.name, fetch.cxx(), flags)

    def copy_of_corbel(self):
        """Copies Corbel's libraries to the peer's folder, so that a build cannot replace them."""
        for name in ("libcorbelmalloc_proxy.so.1", "libcorbelmalloc.so.1"):
            if not (self.corbel / name).is_file():
                raise Unavailable("Corbel is not built")
        for library in corbel_libraries():
            shutil.copy2(library, self.folder / library.name)

    def shared_library(self, name, sources, flags, libs=()):
        """Compiles sources into folder/name with the release flags that every peer gets."""
        self.say(f"compiling {name}")
        common = ["-O3", "-DNDEBUG", "-fPIC", "-shared", "-w", "-pthread"]
        self.run([fetch.cc(), *common, *flags, *map(str, sources), "-o", str(self.folder / name),
                  *libs], f"compiling {name}")
        return self.folder / name


def load(folder=None):
    """All recipes of a folder by the name of the peer."""
    recipes = {}
    for path in sorted((folder or RECIPES).glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"lab_peer_{path.stem}", path)
        recipe = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(recipe)
        recipes[recipe.NAME] = recipe
    return recipes


def prepare(names, report=None, folder=None):
    """Builds the named peers that are not built. An unknown name gives an Unavailable."""
    recipes = load(folder) if folder else load()
    found = {}
    for name in names:
        if name not in recipes:
            where = paths.shown(folder or RECIPES)
            found[name] = Unavailable(f"there is no recipe {where}/{name.replace('-', '_')}.py")
            continue
        try:
            found[name] = _prepare(recipes[name], report)
        except Unavailable as why:
            remedy = getattr(recipes[name], "REMEDY", None)
            found[name] = Unavailable(f"{why}: {remedy}") if remedy else why
        except Exception as error:  # a broken recipe must not end the lab
            found[name] = Unavailable(f"its recipe failed: {type(error).__name__}: {error}")
    return found


def refresh(report=None):
    fetch.refresh([*load().values(), *load(CHECKED).values()], report or (lambda name, what: None))


def _prepare(recipe, report):
    BUILT.mkdir(parents=True, exist_ok=True)
    final = BUILT / recipe.NAME
    with open(BUILT / f"{recipe.NAME}.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # another lab may prepare at the same time
        stamp = _stamp(recipe)
        context = Context(recipe.NAME, final, report)
        if _built_with(final) == stamp:
            return _describe(recipe, context, stamp)
        draft = BUILT / f".{recipe.NAME}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        context.log.write_text("")
        recipe.build(Context(recipe.NAME, draft, report))
        shutil.rmtree(final, ignore_errors=True)
        draft.rename(final)
        prepared = _describe(recipe, context, stamp)
        if prepared.allocator and not getattr(recipe, "UNSEEN_BY_DLSYM", False):
            _check_served(prepared, context)
        (final / "stamp").write_text(stamp)
        return prepared


def _describe(recipe, context, stamp):
    version = recipe.version(context) if hasattr(recipe, "version") else _locked(recipe, context)
    # The first source, or a later one if the recipe fell back to it.
    source = next((one for one in recipe.SOURCES
                   if "package" in one and (context.folder / one["package"]).is_dir()),
                  recipe.SOURCES[0])
    origin = {"pypi": "PyPI", "crates": "crate", "debian": "Debian"}.get(source["registry"])
    origin = f"{origin} {source['package']}" if origin else source["registry"]
    title = recipe.title(context) if hasattr(recipe, "title") else f"{recipe.TITLE} {version}"
    note = recipe.note(context) if hasattr(recipe, "note") else ""
    prepared = Prepared(recipe.NAME, title.strip(), version, origin, set(recipe.KINDS),
                        getattr(recipe, "CONTROL", False), note=note)
    for kind, make in (("allocator", "allocator"), ("scheduler", "schedulers")):
        if kind not in recipe.KINDS:
            continue
        try:
            setattr(prepared, make, getattr(recipe, make)(context))
        except Unavailable as why:
            prepared.without[kind] = str(why)
    for one in prepared.schedulers:
        one.stamp = stamp.strip()
        one.files = _files(context.folder, one.libs, one.files)
        if one.title == recipe.TITLE:
            one.title = prepared.title
    if prepared.allocator:
        one = prepared.allocator
        for path in one.preload:
            if re.search(r"[\s:]", str(path)):
                raise Unavailable(f"LD_PRELOAD has no way to name {path}: move the repository to "
                                  "a path without spaces and colons")
        one.files = _files(context.folder, one.preload, one.files)
    if len(prepared.without) == len(prepared.kinds):
        raise Unavailable(next(iter(prepared.without.values())))
    return prepared


def _files(folder, given, more):
    """The given files, `more`, and every library next to one of them in the peer's folder: they load
    one another by NEEDED or, like libtbb, by name."""
    found = [pathlib.Path(path) for path in (*given, *more) if not str(path).startswith("-")]
    home = pathlib.Path(folder).resolve()
    for path in list(found):
        if home in path.resolve().parents:
            found += path.parent.glob("*.so*")
    return sorted({str(path.resolve()) for path in found})


def corbel_libraries():
    return sorted(CORBEL.glob("libcorbel*.so.1"))


def _locked(recipe, context):
    source = recipe.SOURCES[0]
    return fetch.entry(context.lock, source["registry"], source["package"],
                       source.get("series"))["version"]


def _built_with(folder):
    stamp = folder / "stamp"
    return stamp.read_text() if stamp.is_file() else None


def _stamp(recipe):
    """A digest of all inputs of the build: recipe, helpers, versions, compilers, Corbel itself."""
    digest = hashlib.sha256(inspect.getsource(Context).encode())
    for path in (recipe.__file__, PROBE, *getattr(recipe, "INPUTS", [])):
        digest.update(pathlib.Path(path).read_bytes())
    lock = fetch.read_lock()
    for source in recipe.SOURCES:
        entries = [e for e in lock if source.get("package") in (e["package"], e.get("of"))]
        digest.update(json.dumps([source, entries], sort_keys=True).encode())
        if source["registry"] == "corbel":
            for library in (*corbel_libraries(), *sorted(CORBEL.glob("corbel/*.so.*"))):
                digest.update(library.read_bytes())
    compilers = [os.environ.get("CC") or "cc", os.environ.get("CXX") or "g++"]
    for tool in (*compilers, *getattr(recipe, "TOOLS", [])):
        digest.update(f"{tool} {fetch.tool_version(tool)}".encode())
    return digest.hexdigest() + "\n"


def _check_served(prepared, context):
    """A preload that does not work fails silently, so a program checks which library serves it."""
    context.say("checking that malloc is its own")
    probe = context.folder / "probe"
    context.run([fetch.cc(), "-O1", "-o", str(probe), str(PROBE), "-ldl"],
                "compiling the check")
    env = {**os.environ, **prepared.allocator.env,
           "LD_PRELOAD": ":".join(map(str, prepared.allocator.preload))}
    try:
        done = subprocess.run([str(probe)], env=env, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise Unavailable("a program under its preload does not end") from None
    if done.returncode != 0 or done.stderr:
        raise Unavailable(f"a program under its preload fails: code {done.returncode} "
                          f"{done.stderr.strip()[:200]}")
    allowed = {os.path.realpath(path) for path in prepared.allocator.preload}
    for line in done.stdout.splitlines():
        function, _, library = line.partition(" ")
        library = os.path.realpath(library)
        own = library in allowed if allowed else os.path.basename(library).startswith("libc.so")
        if not own:
            raise Unavailable(f"under its preload {function} is served by {library}")
