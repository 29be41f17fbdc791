# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the pages about PyCUDA's interface and about arrays: their code runs."""

import os
import re
import unittest
from typing import List

import gst_support
import support

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def read(name: str) -> str:
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def blocks(text: str) -> List[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@unittest.skipIf(support.is_missing("numpy"), "numpy is missing")
class Pages(gst_support.DeviceTestCase):
    def test_import_lines(self) -> None:
        lines = blocks(read("from-pycuda.md"))[0]
        result = support.run_python(
            lines + "pool = DeviceMemoryPool()\nprint(cuda.Context.get_current() is not None)")
        self.assertEqual((result.returncode, result.stdout), (0, "True\n"))

    def test_examples_are_enough(self) -> None:
        names = re.findall(r"`((?:from-wiki/)?[\w+]+\.py)`", read("from-pycuda.md"))
        self.assertGreaterEqual(len(set(names)), 12)

    def test_code_is_python(self) -> None:
        for page in ("from-pycuda.md", "frames-as-arrays.md", "python.md"):
            for block in blocks(read(page)):
                compile(block, page, "exec")

    def test_kernels_on_frames(self) -> None:
        (code,) = [one for one in blocks(read("frames-as-arrays.md")) if "scale" in one]
        result = support.run_python(
            "import gst_support\nfrom gst_support import Gst, GstVkgdr\n"
            "case = gst_support.DeviceTestCase()\ncase.setUp()\n"
            "source = '__global__ void scale (unsigned char *x, int n, float f)"
            " { if (threadIdx.x < n) x[threadIdx.x] *= f; }'\n"
            "buffer, caps = case.new_buffer(bytes([3]) * 64), None\n"
            "grid, block = (1,), (64, 1, 1)\n" + code
            + "\nprint(gst_support.host_bytes(buffer) == bytes([6]) * 64)\n")
        self.assertEqual((result.returncode, result.stdout), (0, "True\n"))


if __name__ == "__main__":
    support.main()
