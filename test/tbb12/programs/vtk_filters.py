# SPDX-License-Identifier: Apache-2.0
"""For test_vtk.py: prints a hash of what each filter makes. Argument: half the edge of the volume."""

import hashlib
import sys

import vtk
from vtk.util.numpy_support import vtk_to_numpy

EDGE = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def show(name, data):
    total = hashlib.sha256()
    arrays = [data.GetPointData().GetArray(n) for n in range(data.GetPointData().GetNumberOfArrays())]
    if isinstance(data, vtk.vtkPointSet):
        arrays.append(data.GetPoints().GetData())
    for array in arrays:
        total.update(vtk_to_numpy(array).tobytes())
    print("result", name, data.GetNumberOfPoints(), data.GetNumberOfCells(), total.hexdigest())


def apply(name, a_filter, data):
    a_filter.SetInputData(data)
    a_filter.Update()
    show(name, a_filter.GetOutput())
    return a_filter.GetOutput()


def volume(edge):
    source = vtk.vtkRTAnalyticSource()
    source.SetWholeExtent(-edge, edge, -edge, edge, -edge, edge)
    source.Update()
    return source.GetOutput()


def of_volume(image):
    show("wavelet", image)
    cutter = vtk.vtkFlyingEdgesPlaneCutter()
    cutter.GetPlane().SetNormal(1, 1, 0.3)
    apply("plane", cutter, image)
    gradient = vtk.vtkImageGradient()
    gradient.SetDimensionality(3)
    apply("gradient", gradient, image)
    median = vtk.vtkImageMedian3D()
    median.SetKernelSize(3, 3, 3)
    apply("median", median, image)
    threshold = vtk.vtkThreshold()
    threshold.SetLowerThreshold(100)
    threshold.SetUpperThreshold(200)
    apply("threshold", threshold, image)
    surface = vtk.vtkFlyingEdges3D()
    surface.SetValue(0, 150)
    return apply("surface", surface, image)


def of_surface(surface, image):
    apply("normals", vtk.vtkPolyDataNormals(), surface)
    elevation = vtk.vtkElevationFilter()
    elevation.SetLowPoint(-EDGE, -EDGE, -EDGE)
    elevation.SetHighPoint(EDGE, EDGE, EDGE)
    apply("warp", vtk.vtkWarpScalar(), apply("elevation", elevation, surface))
    apply("smooth", vtk.vtkWindowedSincPolyDataFilter(), surface)
    apply("cluster", vtk.vtkQuadricClustering(), surface)
    apply("clean", vtk.vtkStaticCleanPolyData(), surface)
    outliers = vtk.vtkRadiusOutlierRemoval()
    outliers.SetRadius(2)
    outliers.SetNumberOfNeighbors(6)
    apply("outliers", outliers, surface)
    probe = vtk.vtkProbeFilter()
    probe.SetSourceData(image)
    apply("probe", probe, surface)
    interpolator = vtk.vtkPointInterpolator()
    interpolator.SetSourceData(surface)
    interpolator.SetKernel(vtk.vtkGaussianKernel())
    apply("interpolate", interpolator, volume(10))


assert vtk.vtkSMPTools.SetBackend("TBB"), "this VTK has no TBB backend"
vtk.vtkSMPTools.Initialize(2)
whole = volume(EDGE)
of_surface(of_volume(whole), whole)
print("result end")
