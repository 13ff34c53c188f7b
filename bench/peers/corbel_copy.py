# SPDX-License-Identifier: Apache-2.0
"""A control: a byte-identical copy of Corbel. The lab must find the two equal."""

from lab.peers import Allocator

NAME = "corbel-copy"
TITLE = "Corbel again"
KINDS = {"allocator"}
SOURCES = [{"registry": "corbel"}]
CONTROL = True
REMEDY = "./dev build release"


def build(context):
    context.copy_of_corbel()


def version(context):
    return ""


def allocator(context):
    return Allocator([str(context.folder / "libcorbelmalloc_proxy.so.1")])
