# SPDX-License-Identifier: Apache-2.0
"""dashmap (xacrimon/dashmap on GitHub), a hash map in shards, from its crate."""

NAME = "dashmap"
TITLE = "dashmap"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "dashmap", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("dashmap")


def schedulers(context):
    return context.rust_schedulers(TITLE, "dashmap")
