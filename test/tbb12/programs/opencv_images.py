# SPDX-License-Identifier: Apache-2.0
"""For test_opencv.py: prints a hash of what each function makes of an image. Argument: how often."""

import hashlib
import sys

import cv2
import numpy as np

HEIGHT, WIDTH = 576, 768
TILT = np.array([[1, 0.1, 3], [0.05, 1.1, 2], [1e-4, 1e-4, 1]])


def show(name, *arrays):
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    print("result", name, [array.shape for array in arrays][:2], total.hexdigest())


def filters(image, gray, values):
    show("blur", image)
    show("median", cv2.medianBlur(image, 5))
    show("bilateral", cv2.bilateralFilter(image, 7, 30, 30))
    show("denoise", cv2.fastNlMeansDenoising(gray[:150, :150], None, 10, 5, 11))
    show("convolution", cv2.filter2D(values, -1, np.ones((7, 7)) / 49), cv2.Sobel(values, -1, 1, 0))
    show("histogram", cv2.calcHist([image], [0, 1], None, [32, 32], [0, 256] * 2),
         cv2.equalizeHist(gray), cv2.createCLAHE(2).apply(gray))
    show("threshold", cv2.adaptiveThreshold(gray, 255, cv2.ADAPTIVE_THRESH_MEAN_C,
                                            cv2.THRESH_BINARY, 11, 2))


def transforms(image, values):
    show("resize", cv2.resize(image, (1500, 901), interpolation=cv2.INTER_CUBIC),
         cv2.resize(image, (333, 222), interpolation=cv2.INTER_AREA))
    show("dft", cv2.dft(values, flags=cv2.DFT_COMPLEX_OUTPUT))
    show("dct", cv2.dct(values))
    show("warp", cv2.warpPerspective(image, TILT, (900, 700)))
    show("jpeg", cv2.imencode(".jpg", image)[1])


def features(gray, values):
    points, about = cv2.ORB_create(500).detectAndCompute(gray, None)
    show("orb", cv2.KeyPoint_convert(points), about)
    points, about = cv2.SIFT_create(300).detectAndCompute(gray[:300, :400], None)
    show("sift", cv2.KeyPoint_convert(points), about)
    moved = np.roll(gray, (2, 3), (0, 1))
    show("farneback", cv2.calcOpticalFlowFarneback(gray[:200, :300], moved[:200, :300], None, 0.5, 3,
                                                   15, 3, 5, 1.2, 0))
    corners = cv2.goodFeaturesToTrack(gray, 200, 0.01, 7)
    show("lucas-kanade", *cv2.calcOpticalFlowPyrLK(gray, moved, corners, None)[:2])
    show("stereo", cv2.StereoSGBM_create(0, 32, 5).compute(gray[:200], moved[:200]))
    cv2.setRNGSeed(1)
    labels, centers = cv2.kmeans(values.reshape(-1, 4)[:20000], 5, None, (3, 10, 0.1), 3,
                                 cv2.KMEANS_PP_CENTERS)[1:]
    show("k-means", labels, centers)


def main():
    frame = [line for line in cv2.getBuildInformation().splitlines() if "Parallel framework" in line]
    assert "TBB" in frame[0], frame
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        image = np.random.RandomState(number).randint(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        image = cv2.normalize(cv2.GaussianBlur(image, (9, 9), 3), None, 0, 255, cv2.NORM_MINMAX)
        gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        values = gray.astype(np.float32)
        filters(image, gray, values)
        transforms(image, values)
        features(gray, values)
    print("result end")


main()
