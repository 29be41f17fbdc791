# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests memory of vkgdr.pycuda: with PyCUDA on a GPU, and with Debian's PyCUDA on softcuda.

Without a GPU, the test is skipped unless softcuda's tests/fetch-pycuda has unpacked PyCUDA
for this version of Python.
"""

import gc
import glob
import os
import shutil
import sys
from typing import Any

import support
import numpy as np

# This variable is set in the process that restart() starts.
READY = "VKGDR_TEST_PYCUDA"


def restart() -> None:
    """Starts this program again with softcuda's libcuda.so.1 on the library
    path, because the dynamic linker reads the path before Python runs."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    drivers = sorted(glob.glob(os.path.join(
        cache, "softcuda/pycuda-*/usr/lib/python3/dist-packages/pycuda",
        "_driver.cpython-{}{}*.so".format(*sys.version_info))))
    if not drivers:
        print("skipped: no PyCUDA for this Python; see softcuda's tests/fetch-pycuda")
        sys.exit(support.SKIPPED)
    packages = os.path.dirname(os.path.dirname(drivers[0]))
    libraries = glob.glob(os.path.join(packages, "../../*-linux-gnu*"))
    softcuda = os.environ["VKGDR_SOFTCUDA_DIR"]
    for name, folders in (("LD_LIBRARY_PATH", [softcuda, *libraries]),
                          ("PYTHONPATH", [packages]), ("PATH", [softcuda])):
        os.environ[name] = ":".join([*folders, os.environ.get(name, "")])
    os.environ["PYCUDA_DISABLE_CACHE"] = os.environ[READY] = "1"
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)])


if support.is_software() and READY not in os.environ:
    restart()
if support.is_missing("pycuda"):
    print("skipped: pycuda is missing")
    sys.exit(support.SKIPPED)

import pycuda.driver as cuda  # noqa: E402
from pycuda import gpuarray  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

import vkgdr  # noqa: E402
import vkgdr.pycuda  # noqa: E402

SIZE = 400


class Memory(support.TestCase):
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

    def allocate(self, *arguments: Any) -> Any:
        return vkgdr.pycuda.Memory(self.owner, *(arguments or (SIZE,)))

    def test_memory_is_used_by_kernels(self) -> None:
        if shutil.which("nvcc") is None:
            self.skipTest("nvcc is missing")
        memory = self.allocate()
        np.asarray(memory).view(np.int32)[:] = np.arange(SIZE // 4)
        memory.flush(0, SIZE)
        SourceModule("__global__ void add (int *x) { x[threadIdx.x] += 5; }").get_function("add")(
            memory, block=(SIZE // 4, 1, 1))
        self.context.synchronize()
        np.testing.assert_array_equal(
            cuda.from_device(memory, SIZE // 4, np.int32), np.arange(5, 5 + SIZE // 4))

    def test_an_array_keeps_its_memory(self) -> None:
        """On the device, and on the host."""
        memory = self.allocate()
        self.assertIsInstance(memory, cuda.PointerHolderBase)
        self.assertIsInstance(memory, vkgdr.RawMemory)
        pointer, view = memory.device_ptr, np.asarray(memory)
        self.assertEqual((memory.get_pointer(), int(memory), len(memory)), (pointer, pointer, SIZE))
        array = gpuarray.GPUArray((SIZE,), np.uint8, gpudata=memory)
        cuda.memcpy_htod(memory, support.pattern(SIZE))
        del memory
        gc.collect()
        self.assertEqual(array.get().tobytes(), support.pattern(SIZE))
        del array
        gc.collect()
        view[SIZE - 1] = 7
        self.assertEqual(cuda.from_device(pointer + SIZE - 1, 1, np.uint8)[0], view[SIZE - 1])

    def test_it_is_freed_in_its_context(self) -> None:
        """By free(), and by the garbage collection."""
        for _ in range(100):
            self.allocate(16 << 20)
        memory, other = self.allocate(), self.allocate()
        pointer = other.device_ptr
        cuda.Context.pop()
        memory.free()
        memory.free()
        del other
        gc.collect()
        self.assertIsNone(cuda.Context.get_current())
        self.assert_raise((vkgdr.VkgdrError, "has been freed", memory.get_pointer),
                          (vkgdr.VkgdrError, "no CUDA context", self.allocate))
        if READY in os.environ:  # softcuda refuses all addresses that are free
            self.context.push()
            self.assert_raise((cuda.LogicError, "", cuda.from_device, pointer, 1, np.uint8))


if __name__ == "__main__":
    support.main()
