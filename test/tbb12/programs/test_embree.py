# SPDX-License-Identifier: Apache-2.0
"""Embree's tutorials make trees of scenes and trace rays: isolated arenas, observers, and tasks with
an affinity. Their images must be the same."""

import os

import both
from both import common

MODEL = "/usr/share/doc/embree3/models/cornell_box.ecs"
SCENES = {
    "pathtracer": ["-c", MODEL, "--spp", "4"],
    "subdivision_geometry": [],
    "lazy_geometry": [],
    "dynamic_scene": [],
    "closest_point": [],
}
MORE = ("multiscene_geometry", "instanced_geometry", "motion_blur_geometry", "hair_geometry")


def image(_done, folder):
    with open(os.path.join(folder, "image.ppm"), "rb") as found:
        return found.read()


def test(scratch):
    if common.FULL:
        SCENES.update({name: [] for name in MORE})
    if not os.path.exists(MODEL):  # documentation, which some systems leave out
        del SCENES["pathtracer"]
    programs = common.require(*SCENES, package="embree-tools")
    for program, (name, options) in zip(programs, SCENES.items()):
        both.compare(name, [program, *options, "--size", "160", "120", "-o", "image.ppm"], scratch,
                     image, uses=["isolate_within_arena", "observe", "spawn"])


common.main(test)
