# SPDX-License-Identifier: Apache-2.0
"""What the recipes of jemalloc's checked builds share."""
import shutil

from lab import fetch

CRATE = "tikv-jemalloc-sys"


def build(context, options):
    make = fetch.tool("make", "apt-get install make")
    crate = context.crate(CRATE)
    sources = crate / "jemalloc"
    shutil.copy2(crate / "configure" / "configure", sources)
    context.say("compiling")
    context.run(["sh", "./configure", f"--with-version={full_version(context)}", "--disable-doc",
                 *options], "configuring jemalloc", cwd=sources)
    context.run([make, "-j2", "build_lib_shared"], "compiling jemalloc", cwd=sources)
    shutil.copy2(sources / "lib" / "libjemalloc.so.2", context.folder)


def full_version(context):
    """The part of the crate's version that is jemalloc's own: 5.3.1-0-g<commit>."""
    return fetch.entry(context.lock, "crates", CRATE)["version"].partition("+")[2]


def version(context):
    return full_version(context).partition("-")[0]
