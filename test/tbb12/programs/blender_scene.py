# SPDX-License-Identifier: Apache-2.0
"""For test_blender.py: modifiers, geometry nodes and a render. Arguments after "--": the detail, from
1 up, and the image. Some coordinates differ from run to run in their last bits, on oneTBB too."""

import hashlib
import sys

import bpy
import numpy as np

DETAIL = int(sys.argv[-2])
IMAGE = sys.argv[-1]


def show(name, holder):
    graph = bpy.context.evaluated_depsgraph_get()
    mesh = holder.evaluated_get(graph).to_mesh()
    points = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    points = points.reshape(-1, 3)
    box = " ".join(f"{value:.2f}" for value in (*points.min(0), *points.max(0), *points.mean(0)))
    print("result", name, len(mesh.vertices), len(mesh.edges), len(mesh.polygons), box)
    holder.evaluated_get(graph).to_mesh_clear()


def modifier(holder, kind, **settings):
    made = holder.modifiers.new(kind, kind)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def ball():
    bpy.ops.mesh.primitive_uv_sphere_add(segments=32 * DETAIL, ring_count=16 * DETAIL)
    made = bpy.context.object
    modifier(made, "SUBSURF", levels=2)
    modifier(made, "DISPLACE", texture=bpy.data.textures.new("clouds", "CLOUDS"), strength=0.3)
    show("subdivided", made)
    modifier(made, "REMESH", mode="VOXEL", voxel_size=0.08 / DETAIL)
    modifier(made, "SMOOTH", iterations=5)
    show("voxels", made)


def bitten_ring():
    bpy.ops.mesh.primitive_cube_add(size=1.5, location=(1, 0, 0))
    cube = bpy.context.object
    cube.hide_render = True
    bpy.ops.mesh.primitive_torus_add(major_segments=48 * DETAIL, minor_segments=24 * DETAIL)
    modifier(bpy.context.object, "BOOLEAN", object=cube, solver="EXACT")
    show("boolean", bpy.context.object)


def add(nodes, kind, **values):
    node = nodes.new(kind)
    for name, value in values.items():
        node.inputs[name].default_value = value
    return node


def node_graph():
    """Branches that do not depend on each other: Blender evaluates them as tasks."""
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=60 * DETAIL, y_subdivisions=60 * DETAIL)
    grid = bpy.context.object
    tree = bpy.data.node_groups.new("branches", "GeometryNodeTree")
    modifier(grid, "NODES", node_group=tree)
    tree.inputs.new("NodeSocketGeometry", "Geometry")
    tree.outputs.new("NodeSocketGeometry", "Geometry")
    nodes, link = tree.nodes, tree.links.new
    given, joined = nodes.new("NodeGroupInput"), nodes.new("GeometryNodeJoinGeometry")
    for number in range(6):
        noise = add(nodes, "ShaderNodeTexNoise", Scale=3 + number)
        offset, placed = nodes.new("ShaderNodeCombineXYZ"), nodes.new("GeometryNodeSetPosition")
        link(noise.outputs["Fac"], offset.inputs["Z"])
        link(given.outputs[0], placed.inputs["Geometry"])
        link(offset.outputs[0], placed.inputs["Offset"])
        moved = add(nodes, "GeometryNodeTransform", Translation=(3 * number, 0, 0))
        link(placed.outputs[0], moved.inputs["Geometry"])
        spread = add(nodes, "GeometryNodeDistributePointsOnFaces", Density=30 * DETAIL, Seed=number)
        link(moved.outputs[0], spread.inputs["Mesh"])
        instance = add(nodes, "GeometryNodeMeshIcoSphere", Radius=0.02, Subdivisions=2)
        many = nodes.new("GeometryNodeInstanceOnPoints")
        link(spread.outputs["Points"], many.inputs["Points"])
        link(instance.outputs[0], many.inputs["Instance"])
        real = nodes.new("GeometryNodeRealizeInstances")
        link(many.outputs[0], real.inputs[0])
        link(real.outputs[0], joined.inputs[0])
    link(joined.outputs[0], nodes.new("NodeGroupOutput").inputs[0])
    show("nodes", grid)


def render():
    scene = bpy.context.scene
    for name, data, place, turn in (
            ("camera", bpy.data.cameras.new("camera"), (0, -9, 4), (1.15, 0, 0)),
            ("sun", bpy.data.lights.new("sun", "SUN"), (0, 0, 0), (0.5, 0.3, 0))):
        holder = bpy.data.objects.new(name, data)
        holder.location, holder.rotation_euler = place, turn
        scene.collection.objects.link(holder)
    scene.camera = bpy.data.objects["camera"]
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.device = DETAIL, False, "CPU"
    scene.render.resolution_x, scene.render.resolution_y = 48 * DETAIL, 32 * DETAIL
    scene.render.filepath = IMAGE
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(IMAGE)
    means = np.array(image.pixels[:]).reshape(-1, 4).mean(0)
    print("result image", *image.size, " ".join(f"{value:.2f}" for value in means))


bpy.ops.wm.read_factory_settings(use_empty=True)
ball()
bitten_ring()
node_graph()
render()
print("result end")
