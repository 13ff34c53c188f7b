# SPDX-License-Identifier: Apache-2.0
"""The queue of moodycamel (cameron314/concurrentqueue on GitHub), as the distribution ships it. If the package is not
installed, it is only unpacked."""

from lab import fetch

NAME = "moodycamel"
TITLE = "moodycamel"
KINDS = {"scheduler"}
SOURCES = [{"registry": "debian", "package": "libconcurrentqueue-dev"}]


def build(context):
    context.debian_header("libconcurrentqueue-dev", "concurrentqueue/concurrentqueue.h")


def version(context):
    return context.debian_version() + (", not locked" if note(context) else "")


def note(context):
    return fetch.unlike_lock("libconcurrentqueue-dev", context.debian_version(), context.lock)


def schedulers(context):
    return [context.debian_scheduler(TITLE)]
