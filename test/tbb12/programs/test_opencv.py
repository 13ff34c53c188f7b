# SPDX-License-Identifier: Apache-2.0
"""Debian's OpenCV, whose parallel loops are TBB's, filters images and looks for features."""

import os

import both
from both import common


def test(scratch):
    python = both.debian_python("cv2", "python3-opencv")
    both.compare("OpenCV", [python, os.path.join(both.HERE, "opencv_images.py")], scratch,
                 both.result_lines, uses=["execute_and_wait", "spawn"])


common.main(test)
