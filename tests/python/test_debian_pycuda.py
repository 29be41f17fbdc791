# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests memory of vkgdr.pycuda in Debian's PyCUDA, which runs on softcuda.

The test is skipped unless softcuda's tests/fetch-pycuda has unpacked PyCUDA for this
version of Python.
"""

import gc
import glob
import os
import sys
import unittest
from typing import Any, List, Optional

SKIPPED = 77

# This variable is set in the process that restart() starts.
READY = "VKGDR_TEST_PYCUDA"


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
        print("skipped: no PyCUDA for this Python; see softcuda's tests/fetch-pycuda")
        sys.exit(SKIPPED)
    libraries = glob.glob(os.path.join(folder, "usr/lib/*-linux-gnu*"))
    softcuda = os.environ["VKGDR_SOFTCUDA_DIR"]
    prepend("LD_LIBRARY_PATH", [softcuda] + libraries)
    prepend("PYTHONPATH", [os.path.join(folder, "usr/lib/python3/dist-packages")])
    prepend("PATH", [softcuda])
    os.environ["PYCUDA_DISABLE_CACHE"] = "1"
    os.environ[READY] = "1"
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])


if READY not in os.environ:
    restart()

import numpy as np  # noqa: E402
import pycuda.driver as cuda  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

import vkgdr  # noqa: E402
import vkgdr.pycuda  # noqa: E402

KERNELS = """
__global__ void reverse (int *data)
{
  extern __shared__ int part[];

  part[threadIdx.x] = data[threadIdx.x];
  __syncthreads ();
  data[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}
"""


class Vkgdr(unittest.TestCase):
    def setUp(self) -> None:
        cuda.init()
        self.context = cuda.Device(0).retain_primary_context()
        self.context.push()
        self.addCleanup(self.leave)
        self.owner = vkgdr.Vkgdr.open_current_context()

    def leave(self) -> None:
        gc.collect()
        if cuda.Context.get_current() is not None:
            cuda.Context.pop()

    def test_memory_is_used_by_kernels(self) -> None:
        memory = vkgdr.pycuda.Memory(self.owner, 64 * 4)
        view = np.array(memory, copy=False).view(np.int32)
        view[:] = np.arange(64)
        SourceModule(KERNELS).get_function("reverse")(
            np.uintp(int(memory)), block=(64, 1, 1), shared=64 * 4
        )
        self.context.synchronize()
        np.testing.assert_array_equal(view, np.arange(64)[::-1])

    def test_memory_carries_an_array(self) -> None:
        from pycuda import gpuarray

        memory = vkgdr.pycuda.Memory(self.owner, 100 * 4)
        array = gpuarray.GPUArray((100,), np.float32, gpudata=memory)
        array.fill(np.float32(1.5))
        np.testing.assert_array_equal((array + array).get(), np.full(100, 3.0))

    def allocate(self) -> Any:
        return vkgdr.pycuda.Memory(self.owner, 100)

    def test_is_a_pointer_holder_and_a_memory(self) -> None:
        memory = self.allocate()
        self.assertIsInstance(memory, cuda.PointerHolderBase)
        self.assertIsInstance(memory, vkgdr.RawMemory)
        self.assertEqual(memory.get_pointer(), memory.device_ptr)
        self.assertEqual(int(memory), memory.device_ptr)
        self.assertEqual(len(memory), 100)

    def test_free_enters_its_context(self) -> None:
        memory = self.allocate()
        cuda.Context.pop()
        memory.free()
        memory.free()
        self.assertIsNone(cuda.Context.get_current())
        with self.assertRaisesRegex(vkgdr.VkgdrError, "has been freed"):
            memory.get_pointer()

    def test_arrays_keep_the_memory(self) -> None:
        memory = self.allocate()
        pointer = memory.device_ptr
        view = np.array(memory, copy=False)
        del memory
        gc.collect()
        view.view(np.uint8)[99] = 7
        self.assertEqual(cuda.from_device(pointer + 99, 1, np.uint8)[0], 7)

    def test_garbage_collection_frees_in_its_context(self) -> None:
        memory = self.allocate()
        pointer = memory.device_ptr
        cuda.Context.pop()
        del memory
        gc.collect()
        self.assertIsNone(cuda.Context.get_current())
        self.context.push()
        with self.assertRaises(cuda.LogicError):
            cuda.from_device(pointer, 1, np.uint8)

    def test_needs_a_context(self) -> None:
        cuda.Context.pop()
        with self.assertRaisesRegex(vkgdr.VkgdrError, "no CUDA context"):
            self.allocate()

    def test_what_cannot_be_allocated(self) -> None:
        for size, flags in ((0, 0), (1 << 62, 0), (1, 1)):
            with self.assertRaises(vkgdr.VkgdrError):
                vkgdr.pycuda.Memory(self.owner, size, flags)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
