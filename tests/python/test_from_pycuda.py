# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/from-pycuda.md: every line of code in it that can run by itself does."""

import os
import re
import unittest
from typing import Any, Dict, List, Tuple

import gst_support  # noqa: F401
import support

try:
    import numpy
except ImportError:
    numpy = None

PAGE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "from-pycuda.md"
)

# Names of what a reader has, and this test has not.
OF_THE_READER = {"tensor", "path", "image", "text", "buffer"}


# Whose lines run where they are, and there is a GPU: by the modules that they need.
MODULES = {
    "CuPy": "cupy",
    "Numba": "numba",
    "PyCUDA": "pycuda",
    "PyTorch": "torch",
    "cuda.bindings": "cuda.bindings",
    "cuda.core": "cuda.core",
}
LIBRARIES = "(" + "|".join(re.escape(name) for name in MODULES) + ")"

NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pycuda-names.txt")


def read_page() -> Tuple[str, List[Tuple[int, str]]]:
    """The first lines, and the cells of the second column, with their line's number."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    prologue = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
    cells = []
    for number, line in enumerate(page.splitlines(), 1):
        match = re.match(r"^\| (.+) \| (.+) \|$", line)
        if match:
            cells.append((number, match.group(2)))
    return prologue, cells


class Page(unittest.TestCase):
    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_lines(self) -> None:
        prologue, cells = read_page()
        names: Dict[str, Any] = {}
        exec(prologue, names)
        count = 0
        for number, cell in cells:
            code = re.fullmatch(r"`([^`]+)`", cell)
            if not code:
                continue
            used = set(compile(code.group(1), "cell", "exec").co_names)
            if used & OF_THE_READER:
                continue
            with self.subTest(line=number, code=code.group(1)):
                exec(code.group(1), names)
                count += 1
        self.assertGreater(count, 90)
        names["ctx"].synchronize()

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_lines_of_other_libraries(self) -> None:
        if support.is_software():
            self.skipTest("the device is a processor")
        prologue, cells = read_page()
        names: Dict[str, Any] = {}
        exec(prologue, names)
        count = 0
        for number, cell in cells:
            code = re.fullmatch(rf"{LIBRARIES}: `([^`]+)`", cell)
            if not code:
                continue
            with self.subTest(line=number, code=code.group(2)):
                support.load(MODULES[code.group(1)])  # or it is skipped
                exec(code.group(2), names)
                count += 1
        if count == 0:
            self.skipTest("none of the libraries is there")

    def test_lines_of_other_libraries_can_be_read(self) -> None:
        count = 0
        for number, cell in read_page()[1]:
            code = re.fullmatch(rf"{LIBRARIES}: `([^`]+)`", cell)
            if code:
                with self.subTest(line=number):
                    compile(code.group(2), "cell", "exec")
                    count += 1
        self.assertGreater(count, 12)

    def test_every_name_is_there(self) -> None:
        """All that PyCUDA and cuda.core's Buffer have, without the members of enumerations."""
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        with open(NAMES, encoding="utf-8") as file:
            known = [line.strip() for line in file if not line.startswith("#")]
        self.assertGreater(len(known), 250)
        for name in known:
            with self.subTest(name=name):
                last = name.rpartition(".")[2]
                found = re.search(rf"(?<![A-Za-z_]){re.escape(last)}(?![A-Za-z_])", page)
                self.assertTrue(found, f"{name} is not on the page")

    def test_every_cell_says_something(self) -> None:
        _, cells = read_page()
        self.assertGreater(len(cells), 120)
        for number, cell in cells:
            with self.subTest(line=number):
                self.assertNotIn("TODO", cell)
                self.assertTrue(cell.strip())


if __name__ == "__main__":
    support.main()
