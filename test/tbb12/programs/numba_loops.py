# SPDX-License-Identifier: Apache-2.0
"""For test_numba.py: loops that numba runs in parallel. Argument: the number of elements."""

import hashlib
import os
import sys

import numba
import numpy as np

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 300000


@numba.njit(parallel=True, cache=True)
def total(values):
    result = 0
    for i in numba.prange(values.size):
        result += (values[i] * 2654435761) & 0xFFFF
    return result


@numba.njit(parallel=True, cache=True)
def waves(count):
    result = np.empty(count)
    for i in numba.prange(count):
        result[i] = np.sqrt(i) * np.sin(i)
    return result


@numba.njit(parallel=True, cache=True)
def nested(rows):
    result = np.zeros(rows, dtype=np.int64)
    for i in numba.prange(rows):
        for j in numba.prange(200):
            result[i] += (i * j) % 17
    return result


@numba.vectorize(["float64(float64, float64)"], target="parallel", cache=True)
def hypotenuse(a, b):
    return (a * a + b * b) ** 0.5


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


numba.set_num_threads(2)
print("result total", total(np.arange(COUNT)))
print("result waves", digest(waves(COUNT)))
print("result nested", digest(nested(COUNT // 100)))
print("result vectorized", digest(hypotenuse(waves(COUNT), np.arange(COUNT, dtype=float))))
numba.set_num_threads(1)
print("result total on one thread", total(np.arange(COUNT)))
print("result layer", numba.threading_layer())
print("result end")
sys.stdout.flush()
child = os.fork()  # numba's layer lets a child of a fork use its own threads
if child == 0:
    os._exit(0 if total(np.arange(COUNT)) == total(np.arange(COUNT)) else 1)
assert os.waitpid(child, 0)[1] == 0, "the child of the fork failed"
