# SPDX-License-Identifier: Apache-2.0
"""rayon (rayon-rs/rayon on GitHub): the crate and its dependencies, compiled for release."""

NAME = "rayon"
TITLE = "rayon"
KINDS = {"scheduler"}
SOURCES = [{"registry": "crates", "package": "rayon", "dependencies": True}]
TOOLS = ["rustc"]


def build(context):
    context.rust("rayon")


def schedulers(context):
    return context.rust_schedulers(TITLE, "rayon")
