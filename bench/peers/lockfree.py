# SPDX-License-Identifier: Apache-2.0
"""The queue of Boost.Lockfree, as the distribution ships it. Its Boost is too old for the concurrent
maps of Boost.Unordered, which came with 1.83. If the package is not
installed, it is only unpacked."""

from lab import fetch

NAME = "lockfree"
TITLE = "Boost.Lockfree"
KINDS = {"scheduler"}
SOURCES = [{"registry": "debian", "package": "libboost1.74-dev"}]


def build(context):
    context.debian_header("libboost1.74-dev", "boost/lockfree/queue.hpp")


def version(context):
    return context.debian_version() + (", not locked" if note(context) else "")


def note(context):
    return fetch.unlike_lock("libboost1.74-dev", context.debian_version(), context.lock)


def schedulers(context):
    return [context.debian_scheduler(TITLE)]
