# SPDX-License-Identifier: Apache-2.0
"""flurry (jonhoo/flurry on GitHub), Java's ConcurrentHashMap in Rust, from its crate."""

NAME = "flurry"
TITLE = "flurry"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "flurry", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("flurry")


def schedulers(context):
    return context.rust_schedulers(TITLE, "flurry")
