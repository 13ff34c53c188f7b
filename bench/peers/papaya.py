# SPDX-License-Identifier: Apache-2.0
"""papaya (ibraheemdev/papaya on GitHub), a hash map whose readers take no lock, from its crate."""

NAME = "papaya"
TITLE = "papaya"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "papaya", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("papaya")


def schedulers(context):
    return context.rust_schedulers(TITLE, "papaya")
