# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests Debian's PyCUDA on softcuda.

PyCUDA is not adapted to softcuda. The test is skipped unless tests/fetch-pycuda has
unpacked PyCUDA for this version of Python. Environment: SOFTCUDA_DIR is the folder of
softcuda's libraries.
"""

import atexit
import gc
import glob
import os
import shutil
import sys
import tempfile
import unittest
from typing import List, Optional

SKIPPED = 77

# This variable is set in the process that restart() starts.
READY = "SOFTCUDA_TEST_PYCUDA"


def find_pycuda() -> Optional[str]:
    """Returns the folder with the PyCUDA of fetch-pycuda, or None."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    folders = glob.glob(os.path.join(cache, "softcuda", "pycuda-*"))
    version = f"cpython-{sys.version_info[0]}{sys.version_info[1]}"
    for folder in sorted(folders):
        driver = os.path.join(folder, "usr/lib/python3/dist-packages/pycuda")
        if glob.glob(os.path.join(driver, f"_driver.{version}*.so")):
            return folder
    return None


def prepend(name: str, folders: List[str]) -> None:
    before = os.environ.get(name)
    os.environ[name] = ":".join(folders + ([before] if before else []))


def restart() -> None:
    """Starts this program again with softcuda's libcuda.so.1 on the library
    path, because the dynamic linker reads the path before Python runs."""
    folder = find_pycuda()
    if folder is None:
        print("skipped: no PyCUDA for this Python: run tests/fetch-pycuda")
        sys.exit(SKIPPED)
    libraries = glob.glob(os.path.join(folder, "usr/lib/*-linux-gnu*"))
    softcuda = os.environ["SOFTCUDA_DIR"]
    prepend("LD_LIBRARY_PATH", [softcuda] + libraries)
    prepend("PYTHONPATH", [os.path.join(folder, "usr/lib/python3/dist-packages")])
    prepend("PATH", [softcuda])
    # PyCUDA's cache is in this folder.
    os.environ["XDG_CACHE_HOME"] = os.environ[READY] = tempfile.mkdtemp()
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])


if READY not in os.environ:
    restart()
atexit.register(shutil.rmtree, os.environ[READY])

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
    def test_device(self) -> None:
        self.assertEqual(cuda.Device.count(), 1)
        device = cuda.Device(0)
        self.assertRegex(device.name(), "^softcuda")
        self.assertEqual(device.compute_capability(), (9, 0))
        self.assertEqual(device.get_attribute(cuda.device_attribute.WARP_SIZE), 32)
        self.assertEqual(cuda.get_driver_version(), 13000)
        free, total = cuda.mem_get_info()
        self.assertLessEqual(free, total)

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
        caches = glob.glob(os.path.join(os.environ[READY], "pycuda", "**", "*.cubin"),
                           recursive=True)
        self.assertTrue(caches)
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
