# SPDX-License-Identifier: Apache-2.0
"""crossbeam (crossbeam-rs/crossbeam on GitHub): queues and a skip list, from its crates."""

NAME = "crossbeam"
TITLE = "crossbeam"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "crossbeam", "dependencies": True},
           {"registry": "crates", "package": "crossbeam-skiplist", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("crossbeam", "crossbeam-skiplist")


def schedulers(context):
    return context.rust_schedulers(TITLE, "crossbeam", "crossbeam-skiplist")
