# SPDX-License-Identifier: Apache-2.0
"""The C library's own malloc: no preload at all."""

import os

from lab.peers import Allocator

NAME = "glibc"
TITLE = "glibc"
KINDS = {"allocator"}
SOURCES = [{"registry": "system"}]


def build(context):
    pass


def version(context):
    return os.confstr("CS_GNU_LIBC_VERSION").split()[-1]


def allocator(context):
    return Allocator()
