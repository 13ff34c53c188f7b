# SPDX-License-Identifier: Apache-2.0
"""The queue of atomic_queue (max0x7ba/atomic_queue on GitHub), as the distribution ships it. If the package is not
installed, it is only unpacked."""

from lab import fetch

NAME = "atomic_queue"
TITLE = "atomic_queue"
KINDS = {"scheduler"}
SOURCES = [{"registry": "debian", "package": "libatomic-queue-dev"}]


def build(context):
    context.debian_header("libatomic-queue-dev", "atomic_queue/atomic_queue.h")


def version(context):
    return context.debian_version() + (", not locked" if note(context) else "")


def note(context):
    return fetch.unlike_lock("libatomic-queue-dev", context.debian_version(), context.lock)


def schedulers(context):
    return [context.debian_scheduler(TITLE)]
