# SPDX-License-Identifier: Apache-2.0
"""scc (wvwwvwwv/scalable-concurrent-containers on GitHub): a hash map and a tree, from its crate."""

NAME = "scc"
TITLE = "scc"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "scc", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("scc")


def schedulers(context):
    return context.rust_schedulers(TITLE, "scc")
