# SPDX-License-Identifier: Apache-2.0
"""Runs Open CASCADE's DRAW without a window, from Debian's packages occt-draw and occt-misc, with the
script conversions.tcl. The lab's kernel and the test of programs use it.
"""
import glob
import os
import re

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conversions.tcl")
PROGRAM = "occt-draw"


class Missing(Exception):
    """A part is not installed; the text names its package."""


def resources():
    for folder in ("/usr/share/opencascade/resources", "/usr/share/opencascade"):
        if os.path.isdir(os.path.join(folder, "DrawResources")):
            return folder
    raise Missing("Open CASCADE's resources are not installed (Debian package occt-misc)")


def environment(scratch):
    """DRAW's resources, and a folder for LD_LIBRARY_PATH with its plug-ins under the unversioned
    names that it loads."""
    base = resources()
    links = os.path.join(scratch, "plugins")
    os.mkdir(links)
    for path in glob.glob("/usr/lib/*/libTK*.so.*"):
        name = re.match(r"(libTK\w+\.so)\.[\d.]+$", os.path.basename(path))
        if name and not os.path.lexists(os.path.join(links, name.group(1))):
            os.symlink(path, os.path.join(links, name.group(1)))
    draw = os.path.join(base, "DrawResources")
    standard = os.path.join(base, "StdResource")
    return links, {
        "CASROOT": "/usr", "CSF_OCCTResourcePath": base, "DRAWHOME": draw,
        "CSF_DrawPluginDefaults": draw, "DRAWDEFAULT": os.path.join(draw, "DrawDefault"),
        "CSF_LANGUAGE": "us", "CSF_STEPDefaults": os.path.join(base, "XSTEPResource"),
        "CSF_XSMessage": os.path.join(base, "XSMessage"),
        "CSF_SHMessage": os.path.join(base, "SHMessage"), "CSF_PluginDefaults": standard,
        "CSF_StandardDefaults": standard, "CSF_XCAFDefaults": standard,
    }


def without_date(path):
    """The bytes of a STEP file without the date in its header."""
    with open(path, "rb") as data:
        return re.sub(rb"'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d'", b"'DATE'", data.read())


def results(lines):
    """The lines that must be the same on every allocator; None if the script did not finish."""
    found = [line for line in lines if line.startswith("result")]
    return found if found and found[-1] == "result end" else None


def times(lines):
    """The CPU time of each conversion, in nanoseconds."""
    return [int(line.split()[2]) for line in lines if line.startswith("time")]
