# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers for the tests in Python: memory of the device, optional modules, the exit status."""

import contextlib
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import unittest
from typing import Any, Iterator, List, Optional

SKIPPED = 77  # Meson takes this exit status for "skipped"

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is missing")
    sys.exit(SKIPPED)

from vkgdr import driver  # noqa: E402
from vkgdr._library import lib  # noqa: E402

driver.init()

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


def is_software() -> bool:
    """Whether the device is softcuda's. No other library can use it."""
    return bool(lib.vkgdr_driver_is_software())


@contextlib.contextmanager
def primary_context() -> Iterator[None]:
    """The primary CUDA context of the first device, which is current in a block."""
    context = driver.Device(0).retain_primary_context()
    context.push()
    try:
        yield
    finally:
        context.pop()
        context.detach()


def read_device(pointer: int, size: int) -> bytes:
    """Reads memory of the device, after all work that is queued there."""
    with primary_context():
        driver.Context.synchronize()
        return bytes(driver.from_device(pointer, size, np.uint8))


def write_device(pointer: int, data: bytes) -> None:
    with primary_context():
        driver.memcpy_htod(pointer, data)
        driver.Context.synchronize()


def read_array(array: Any) -> np.ndarray:
    """Copies an object with __cuda_array_interface__ from the device."""
    interface = array.__cuda_array_interface__
    shape, strides, dtype = (interface[name] for name in ("shape", "strides", "typestr"))
    extent = sum((n - 1) * step for n, step in zip(shape, strides)) + np.dtype(dtype).itemsize
    data = read_device(interface["data"][0], extent)
    return np.ndarray(shape, dtype, data, strides=strides)


def pattern(size: int, seed: int = 1) -> bytes:
    return bytes((i * 7 + i // 251 + seed * 13) % 256 for i in range(size))


def run_python(*arguments: str) -> Any:
    """Runs an interpreter of its own in this folder, until it ends."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        cwd=os.path.dirname(os.path.abspath(__file__)), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=100)


class TestCase(unittest.TestCase):
    def assert_raise(self, *rows: Any) -> None:
        """Each row is an error, a pattern of its text, a function, and its arguments."""
        for kind, text, function, *arguments in rows:
            with self.subTest(kind=kind, text=text, function=function, arguments=arguments):
                with self.assertRaisesRegex(kind, text):
                    function(*arguments)

    def assert_prints(self, output: str, code: str, status: int = 0) -> None:
        """A program in an interpreter of its own prints this, which is a pattern of the
        whole output, and ends with this status. It finds the modules of this folder.
        """
        result = run_python("-c", code)
        self.assertEqual(result.returncode, status, result.stdout)
        self.assertRegex(result.stdout, re.compile(rf"\A(?:{output})\Z", re.DOTALL))


def main(argv: Optional[List[str]] = None) -> None:
    """Runs the tests of the program, and ends it with the exit status that Meson
    expects.
    """
    program: Any = unittest.main(argv=argv, exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    # testsRun cannot be used: Python 3.12.1 does not count skipped tests in it.
    sys.exit(SKIPPED if len(program.result.skipped) == program.test.countTestCases() else 0)
