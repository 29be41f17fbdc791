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
    @unittest.skipIf(numpy is None, "NumPy is missing")
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

    def test_every_cell_says_something(self) -> None:
        _, cells = read_page()
        self.assertGreater(len(cells), 120)
        for number, cell in cells:
            with self.subTest(line=number):
                self.assertNotIn("TODO", cell)
                self.assertTrue(cell.strip())


if __name__ == "__main__":
    support.main()
