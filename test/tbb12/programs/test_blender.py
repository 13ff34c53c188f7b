# SPDX-License-Identifier: Apache-2.0
"""Blender without a window: modifiers of meshes, geometry nodes and a render with Cycles. With Xvfb
also a drawing, because Blender's flow graph (task_arena, submit) makes what a graphics card shows."""

import contextlib
import os
import shutil
import subprocess

import both
from both import common


@contextlib.contextmanager
def screen():
    """A screen in memory: the value of DISPLAY."""
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        number = server.stdout.readline().decode().strip()
        common.check(number, "Xvfb did not start")
        yield ":" + number
    finally:
        server.terminate()
        server.wait()


def test(scratch):
    blender = common.require("blender", package="blender")
    env = {"PATH": "/usr/bin:/bin",  # Blender takes the modules of the first Python there
           "HOME": scratch, "TMPDIR": scratch}
    options = [blender, "--factory-startup", "--python-exit-code", "1"]
    both.compare("Blender",
                 [*options, "--background", "--python", os.path.join(both.HERE, "blender_scene.py"), "--",
                  "1", "image.png"],
                 scratch, both.result_lines, env=env, timeout=400, uses=["isolate_within_arena", "spawn"])
    if not shutil.which("Xvfb"):
        common.skip("all passed but a drawing: Xvfb is not installed (Debian package xvfb)")
    with screen() as display:
        both.compare("drawing", [*options, "--python", os.path.join(both.HERE, "blender_drawing.py"),
                                 "--", "image.png"],
                     scratch, both.result_lines, uses=["submit", "attach"],
                     env={**env, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"})


common.main(test)
