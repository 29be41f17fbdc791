# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests Debian's PyCUDA on softcuda.

PyCUDA is not adapted to softcuda. The test is skipped unless tests/fetch-pycuda has
unpacked PyCUDA for this version of Python. Environment: softcuda's folder is in PATH and
LD_LIBRARY_PATH.
"""

import ctypes
import gc
import glob
import os
import sys
import tempfile
import unittest

# PyCUDA's cache is in this folder.
cache = tempfile.TemporaryDirectory()
folder = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
os.environ["XDG_CACHE_HOME"] = cache.name
drivers = glob.glob(os.path.join(
    folder, "softcuda/pycuda-*/usr/lib/python3/dist-packages/pycuda",
    f"_driver.cpython-{sys.version_info[0]}{sys.version_info[1]}*.so"))
if not drivers:
    print("skipped: no PyCUDA for this Python: run tests/fetch-pycuda")
    sys.exit(77)
packages = os.path.dirname(os.path.dirname(drivers[0]))
sys.path.insert(0, packages)
# What PyCUDA needs, and the dynamic linker does not find.
for library in glob.glob(os.path.join(packages, "../../*-linux-gnu*/*.so*")):
    ctypes.CDLL(library)

import numpy as np  # noqa: E402
import pycuda.driver as cuda  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

KERNELS = """
__constant__ float factor[1];

__global__ void scale (float *data, int n, double by)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n)
    data[i] *= (float) by * factor[0];
}

__global__ void reverse (int *data)
{
  extern __shared__ int part[];

  part[threadIdx.x] = data[threadIdx.x];
  __syncthreads ();
  data[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

__global__ void stray (int *data)
{
  *(volatile int *) 8 = data[0];
}
"""


class WithContext(unittest.TestCase):
    def setUp(self) -> None:
        cuda.init()
        self.context = cuda.Device(0).retain_primary_context()
        self.context.push()
        self.addCleanup(self.leave)

    def leave(self) -> None:
        gc.collect()
        if cuda.Context.get_current() is not None:
            cuda.Context.pop()


class Driver(WithContext):
    def test_kernels(self) -> None:
        module = SourceModule(KERNELS)
        factor, size = module.get_global("factor")
        self.assertEqual(size, 4)
        cuda.memcpy_htod(factor, np.float32([0.5]))
        data = np.arange(1000, dtype=np.float32)
        memory = cuda.to_device(data)
        scale = module.get_function("scale")
        scale(memory, np.int32(1000), np.float64(6), block=(256, 1, 1), grid=(4, 1))
        np.testing.assert_array_equal(
            cuda.from_device_like(memory, data), 3 * data
        )
        scale.prepare("Pid")
        scale.prepared_call((4, 1), (256, 1, 1), memory, 1000, 4.0)
        np.testing.assert_array_equal(
            cuda.from_device_like(memory, data), 6 * data
        )

    def test_shared_memory(self) -> None:
        data = np.arange(64, dtype=np.int32)
        reverse = SourceModule(KERNELS).get_function("reverse")
        reverse(cuda.InOut(data), block=(64, 1, 1), shared=64 * 4)
        np.testing.assert_array_equal(data, np.arange(64)[::-1])

    def test_a_source_that_is_wrong(self) -> None:
        with self.assertRaisesRegex(cuda.CompileError, "nonsense"):
            SourceModule("__global__ void wrong () { nonsense; }")

    def test_cache(self) -> None:
        source = "__global__ void empty () { }"
        SourceModule(source).get_function("empty")
        self.assertTrue(glob.glob(cache.name + "/pycuda/**/*.cubin", recursive=True))
        SourceModule(source).get_function("empty")


class Arrays(WithContext):
    def test_arithmetic(self) -> None:
        from pycuda import cumath, gpuarray

        data = np.linspace(0, 1, 1000, dtype=np.float32)
        a = gpuarray.to_gpu(data)
        b = gpuarray.zeros_like(a) + 2
        np.testing.assert_allclose((3 * a + b).get(), 3 * data + 2, rtol=1e-6)
        np.testing.assert_allclose(cumath.sqrt(a).get(), np.sqrt(data), rtol=1e-6)
        np.testing.assert_array_equal(a[10:20].get(), data[10:20])
        np.testing.assert_allclose(gpuarray.sum(a).get(), data.sum(), rtol=1e-5)


class Faults(unittest.TestCase):
    """Uses a context of its own, because a fault makes the context unusable."""

    def test_wild_access(self) -> None:
        cuda.init()
        context = cuda.Device(0).make_context()
        try:
            stray = SourceModule(KERNELS).get_function("stray")
            memory = cuda.mem_alloc(4)
            with self.assertRaisesRegex(cuda.LogicError, "illegal memory access"):
                stray(memory, block=(1, 1, 1))
                context.synchronize()
            memory.free()
        finally:
            context.pop()
            context.detach()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
