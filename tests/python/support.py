# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests in Python: the CUDA driver by ctypes, the exit status.

The driver is the one that libvkgdr loads: NVIDIA's if it has a device, and softcuda
otherwise. So the tests can read the memory of either device.
"""

import ctypes
import importlib
import importlib.util
import os
import subprocess
import sys
import unittest
from typing import Any, List, Optional

SKIPPED = 77  # Meson takes this exit status for "skipped"

# The only modules that tests may lack. If one of them is not installed, a test is
# skipped. If it is installed but cannot be imported, the test fails.
OPTIONAL = ("numpy", "torch", "cupy", "numba", "cuda.core", "cuda.bindings", "pycuda", "mypy")

# The modules among these that must be installed. run-consumers sets them.
REQUIRED = tuple(os.environ.get("VKGDR_TEST_REQUIRE", "").split())


def is_missing(name: str) -> bool:
    """Whether an optional module is not installed. Never true for a required one."""
    if name not in OPTIONAL:
        raise ValueError(f"{name} is not among the optional modules: {', '.join(OPTIONAL)}")
    if name in REQUIRED:
        return False
    package, _, module = name.partition(".")
    if importlib.util.find_spec(package) is None:
        return True
    return bool(module) and importlib.util.find_spec(name) is None


def load(name: str, module: Optional[str] = None) -> Any:
    """Imports an optional module, or a module of it. Skips the test if it is not
    installed.
    """
    if is_missing(name):
        raise unittest.SkipTest(f"{name} is missing")
    return importlib.import_module(module or name)


def _load() -> Optional[ctypes.CDLL]:
    paths = []
    if os.environ.get("VKGDR_DRIVER", "auto") != "software":
        paths.append("libcuda.so.1")
    if "VKGDR_SOFTCUDA_DIR" in os.environ:
        paths.append(os.path.join(os.environ["VKGDR_SOFTCUDA_DIR"], "libcuda.so.1"))
    for path in paths:
        try:
            driver = ctypes.CDLL(path)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
            if count.value > 0:
                return driver
    return None


driver = _load()


def _call(name: str, *arguments: Any) -> None:
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} answers {result}")


class PrimaryContext:
    """The primary CUDA context of the device. push() makes it current."""

    def __init__(self, device: int = 0) -> None:
        self._device = ctypes.c_int(device)
        self.handle = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(self.handle), self._device)

    def push(self) -> None:
        _call("cuCtxPushCurrent_v2", self.handle)

    def pop(self) -> None:
        _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def release(self) -> None:
        _call("cuDevicePrimaryCtxRelease_v2", self._device)

    def __enter__(self) -> "PrimaryContext":
        self.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self.pop()


def is_software() -> bool:
    """Whether the device is softcuda's. No other library can use it."""
    folder = os.environ.get("VKGDR_SOFTCUDA_DIR")
    return driver is None or (folder is not None and driver._name.startswith(folder))


def current_context() -> Optional[int]:
    handle = ctypes.c_void_p()
    _call("cuCtxGetCurrent", ctypes.byref(handle))
    return handle.value


def read_device(pointer: int, size: int) -> bytes:
    """Reads memory of the device, after all work that is queued there."""
    data = ctypes.create_string_buffer(size)
    with PrimaryContext() as context:
        _call("cuCtxSynchronize")
        _call("cuMemcpyDtoH_v2", data, ctypes.c_ulonglong(pointer), ctypes.c_size_t(size))
        context.release()
    return data.raw


def write_device(pointer: int, data: bytes) -> None:
    with PrimaryContext() as context:
        _call("cuMemcpyHtoD_v2", ctypes.c_ulonglong(pointer), data, ctypes.c_size_t(len(data)))
        _call("cuCtxSynchronize")
        context.release()


def read_strided(interface: dict) -> bytes:
    """Returns the elements of a __cuda_array_interface__, in their order."""
    shape, strides = interface["shape"], interface["strides"]
    itemsize = int(interface["typestr"][2:])
    extent = sum((n - 1) * step for n, step in zip(shape, strides)) + itemsize
    data = read_device(interface["data"][0], extent)

    def walk(dimension: int, start: int) -> bytes:
        if dimension == len(shape):
            return data[start : start + itemsize]
        step = strides[dimension]
        return b"".join(walk(dimension + 1, start + i * step) for i in range(shape[dimension]))

    return walk(0, 0)


def run_python(code: str, close_fds: bool = True) -> subprocess.CompletedProcess:
    """Runs a program in its own interpreter, which finds the modules of this folder."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        cwd=os.path.dirname(os.path.abspath(__file__)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=close_fds,
        text=True,
        timeout=60,
    )


def pattern(size: int, seed: int = 1) -> bytes:
    return bytes((i * 7 + i // 251 + seed * 13) % 256 for i in range(size))


def main(argv: Optional[List[str]] = None) -> None:
    """Runs the tests of the program, and ends it with the exit status that Meson
    expects.
    """
    if driver is None:
        print("there is neither a GPU nor softcuda")
        sys.exit(SKIPPED)
    program = unittest.main(argv=argv, exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    # testsRun cannot be used: Python 3.12.1 does not count skipped tests in it.
    sys.exit(SKIPPED if len(program.result.skipped) == program.test.countTestCases() else 0)
