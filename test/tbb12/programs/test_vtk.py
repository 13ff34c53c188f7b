# SPDX-License-Identifier: Apache-2.0
"""Debian's VTK with vtkSMPTools on its TBB backend: filters of a volume and of a surface."""

import os

import both
from both import common


def test(scratch):
    python = both.debian_python("vtkmodules.vtkCommonCore", "python3-vtk9")
    both.compare("VTK", [python, os.path.join(both.HERE, "vtk_filters.py")], scratch,
                 both.result_lines, uses=["execute_and_wait", "initialize"])


common.main(test)
