#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes numbers to GPU memory with NumPy, and doubles them with PyCUDA.

It does not use GStreamer. A program for vkgdr 0.1 looks the same.
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  makes a CUDA context current
import pycuda.gpuarray

import vkgdr
import vkgdr.pycuda

COUNT = 1 << 20


def main() -> None:
    handle = vkgdr.Vkgdr.open_current_context()
    memory = vkgdr.pycuda.Memory(handle, COUNT * 4)

    # On the host, NumPy writes to the memory of the GPU.
    numbers = np.asarray(memory).view(np.float32)
    numbers[:] = np.arange(COUNT, dtype=np.float32)
    memory.flush(0, len(memory))  # does nothing if the memory is coherent

    # On the device, the array has the same bytes.
    array = pycuda.gpuarray.GPUArray((COUNT,), np.float32, gpudata=memory)
    doubled = (array * 2).get()
    np.testing.assert_array_equal(doubled, 2 * np.arange(COUNT, dtype=np.float32))
    print(f"{COUNT} numbers written through the window and doubled on the GPU")


if __name__ == "__main__":
    main()
