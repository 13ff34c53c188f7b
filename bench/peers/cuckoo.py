# SPDX-License-Identifier: Apache-2.0
"""libcuckoo (efficient/libcuckoo on GitHub), as the distribution ships it. If the package is not
installed, it is only unpacked."""

from lab import fetch

NAME = "cuckoo"
TITLE = "libcuckoo"
KINDS = {"scheduler"}
SOURCES = [{"registry": "debian", "package": "libcuckoo-dev"}]


def build(context):
    context.debian_header("libcuckoo-dev", "libcuckoo/cuckoohash_map.hh")


def version(context):
    return context.debian_version() + (", not locked" if note(context) else "")


def note(context):
    return fetch.unlike_lock("libcuckoo-dev", context.debian_version(), context.lock)


def schedulers(context):
    return [context.debian_scheduler(TITLE)]
