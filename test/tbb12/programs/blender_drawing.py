# SPDX-License-Identifier: Apache-2.0
"""For test_blender.py, with a screen: draws objects. Blender makes what it draws in its flow graph."""

import sys

import bpy
import numpy as np

IMAGE = sys.argv[-1]

for number in range(5):
    bpy.ops.mesh.primitive_uv_sphere_add(segments=64, ring_count=32, location=(number - 2, 0, 0))
    bpy.ops.mesh.primitive_torus_add(location=(0, number - 2, 1))
scene = bpy.context.scene
scene.render.engine = "BLENDER_WORKBENCH"
scene.render.resolution_x, scene.render.resolution_y = 160, 120
scene.render.filepath = IMAGE
bpy.ops.render.render(write_still=True)
image = bpy.data.images.load(IMAGE)
means = np.array(image.pixels[:]).reshape(-1, 4).mean(0)
print("result", *image.size, " ".join(f"{value:.3f}" for value in means))
print("result end")
sys.exit(0)
