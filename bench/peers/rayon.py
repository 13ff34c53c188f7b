# SPDX-License-Identifier: Apache-2.0
"""rayon (rayon-rs/rayon on GitHub): the crate and its dependencies, compiled for release."""

from lab import fetch
from lab.peers import Scheduler

NAME = "rayon"
TITLE = "rayon"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "rayon", "dependencies": True}]
TOOLS = ["rustc"]
INSTALL = fetch.cargo_hint()


def build(context):
    cargo = fetch.tool("cargo", INSTALL)
    entries = [one for one in context.lock if "rayon" in (one["package"], one.get("of"))]
    entries.sort(key=lambda one: one["package"] != "rayon")
    place = context.folder / "rust"
    context.say("fetching rayon")
    fetch.vendor(entries, place, context.log)
    (place / ".cargo").mkdir()
    (place / ".cargo" / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "vendor"\n')
    context.say("compiling")
    context.run([cargo, "build", "--release", "--offline", "--quiet", "--target-dir", "target"],
                "compiling rayon", cwd=place)


def schedulers(context):
    built = context.folder / "rust" / "target" / "release" / "deps"
    library = next(built.glob("librayon-*.rlib"))
    return [Scheduler("rayon", TITLE, "rayon", fetch.tool("rustc", INSTALL),
                      ["--edition=2021", "-Copt-level=3", "--extern", f"rayon={library}",
                       "-L", f"dependency={built}"])]
