# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the pages about PyCUDA's interface and about arrays: their code runs."""

import os
import re
from typing import List

import gst_support
import support

DOCS = os.path.join(os.path.dirname(support.__file__), "../../docs")


def read(name: str) -> str:
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def blocks(page: str) -> List[str]:
    return re.findall(r"```python\n(.*?)```", read(page), re.DOTALL)


class Pages(gst_support.DeviceTestCase):
    def test_import_lines(self) -> None:
        self.assert_prints("True\n", blocks("from-pycuda.md")[0] + (
            "pool = DeviceMemoryPool()\nprint(cuda.Context.get_current() is not None)"))

    def test_examples_are_enough(self) -> None:
        names = re.findall(r"`((?:from-wiki/)?[\w+]+\.py)`", read("from-pycuda.md"))
        self.assertGreaterEqual(len(set(names)), 12)

    def test_code_is_python(self) -> None:
        for page in ("from-pycuda.md", "frames-as-arrays.md", "python.md"):
            for block in blocks(page):
                compile(block, page, "exec")

    def test_kernels_on_frames(self) -> None:
        (code,) = [one for one in blocks("frames-as-arrays.md") if "scale" in one]
        self.assert_prints(
            "True\n", "import gst_support\nfrom gst_support import Gst, GstVkgdr\n"
            "case = gst_support.DeviceTestCase()\ncase.setUp()\n"
            "source = '__global__ void scale (unsigned char *x, int n, float f)"
            " { if (threadIdx.x < n) x[threadIdx.x] *= f; }'\n"
            "buffer, caps = case.new_buffer(bytes([3]) * 64), None\n"
            "grid, block = (1,), (64, 1, 1)\n" + code
            + "\nprint(gst_support.host_bytes(buffer) == bytes([6]) * 64)\n")


if __name__ == "__main__":
    support.main()
