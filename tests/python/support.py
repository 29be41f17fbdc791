# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests in Python: the CUDA driver by ctypes, the exit status.

The driver is the one that libvkgdr loads: NVIDIA's if it has a device, and softcuda
otherwise. So the tests can read the memory of either device.
"""

import ctypes
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import unittest
from typing import Any, List, Optional

SKIPPED = 77  # Meson takes this exit status for "skipped"

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing")
    sys.exit(SKIPPED)

# The only modules that tests may lack. If one of them is not installed, a test is
# skipped. If it is installed but cannot be imported, the test fails.
OPTIONAL = ("numpy", "torch", "cupy", "numba", "cuda.core", "cuda.bindings", "pycuda", "mypy")

# The modules among these that must be installed. run-consumers sets them.
REQUIRED = os.environ.get("VKGDR_TEST_REQUIRE", "").split()


def is_missing(name: str) -> bool:
    """Whether an optional module is not installed. Never true for a required one."""
    assert name in OPTIONAL, name
    package = name.partition(".")[0]
    return name not in REQUIRED and (
        importlib.util.find_spec(package) is None or importlib.util.find_spec(name) is None)


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
    """The primary CUDA context of the first device, which is current in a block."""

    def __enter__(self) -> None:
        handle = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), 0)
        _call("cuCtxPushCurrent_v2", handle)

    def __exit__(self, *exc: object) -> None:
        _call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        _call("cuDevicePrimaryCtxRelease_v2", 0)


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
    with PrimaryContext():
        _call("cuCtxSynchronize")
        _call("cuMemcpyDtoH_v2", data, ctypes.c_ulonglong(pointer), ctypes.c_size_t(size))
    return data.raw


def write_device(pointer: int, data: bytes) -> None:
    with PrimaryContext():
        _call("cuMemcpyHtoD_v2", ctypes.c_ulonglong(pointer), data, ctypes.c_size_t(len(data)))
        _call("cuCtxSynchronize")


def read_array(array: Any) -> np.ndarray:
    """Copies an object with __cuda_array_interface__ from the device."""
    interface = array.__cuda_array_interface__
    shape, strides, dtype = (interface[name] for name in ("shape", "strides", "typestr"))
    extent = sum((n - 1) * step for n, step in zip(shape, strides)) + np.dtype(dtype).itemsize
    data = read_device(interface["data"][0], extent)
    return np.ndarray(shape, dtype, data, strides=strides)


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


class TestCase(unittest.TestCase):
    def assert_raise(self, *rows: Any) -> None:
        """Each row is an error, a pattern of its text, a function, and its arguments."""
        for kind, text, function, *arguments in rows:
            with self.subTest(kind=kind, text=text, function=function, arguments=arguments):
                with self.assertRaisesRegex(kind, text):
                    function(*arguments)

    def assert_prints(self, output: str, code: str, status: int = 0, **options: Any) -> None:
        """A program in an interpreter of its own prints this, which is a pattern of the
        whole output, and ends with this status.
        """
        result = run_python(code, **options)
        self.assertEqual(result.returncode, status, result.stdout)
        self.assertRegex(result.stdout, re.compile(rf"\A(?:{output})\Z", re.DOTALL))


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
