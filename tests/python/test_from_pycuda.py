# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of docs/from-pycuda.md: its code runs, and it has a row for every name."""

import os
import re
import unittest
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import gst_support  # noqa: F401
import support

try:
    import numpy
except ImportError:
    numpy = None

PAGE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "from-pycuda.md"
)

# Variables that the reader's program has, but this test does not.
OF_THE_READER = {"tensor", "path", "image", "text", "buffer"}

# The modules of the libraries that the page names. A line with the name of one of them
# runs if the module is installed and there is a GPU.
MODULES = {
    "CuPy": "cupy",
    "Numba": "numba",
    "PyCUDA": "pycuda",
    "PyTorch": "torch",
    "cuda.bindings": "cuda.bindings",
    "cuda.core": "cuda.core",
}

NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pycuda-names.txt")

KINDS = ("native", "library", "not needed", "left out")

# The names that can be in front of the code in a row of the kind library:
# libraries that need a GPU, and GStreamer and Python, which every reader has.
ELSEWHERE = (*MODULES, "GStreamer", "Python")


class Row(NamedTuple):
    number: int  #: the number of its line
    names: str
    kind: str
    cell: str

    def code(self, *libraries: str) -> Optional[str]:
        """The code of the cell. The name of a library may be in front of it."""
        prefix = f"(?:{'|'.join(re.escape(one) for one in libraries)}): " if libraries else ""
        found = re.fullmatch(rf"{prefix}`([^`]+)`", self.cell)
        return found.group(1) if found else None

    def has(self, name: str) -> bool:
        """Whether the row is about a name. Then its first cell has the name as code."""
        spans = " ".join(re.findall(r"`([^`]+)`", self.names))
        last = name.rpartition(".")[2]
        return bool(re.search(rf"(?<![A-Za-z_]){re.escape(last)}(?![A-Za-z_0-9])", spans))


def read_page() -> Tuple[str, List[Row]]:
    """Returns the first block of code, and the rows of the tables."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    rows = []
    for number, line in enumerate(page.splitlines(), 1):
        match = re.fullmatch(r"\| (.+) \| (.+) \| (.+) \|", line)
        if match and match.group(2) not in ("kind", "meaning"):
            row = Row(number, *match.groups())
            if row.names not in KINDS:
                rows.append(row)
    return code.group(1), rows


def read_names() -> List[str]:
    with open(NAMES, encoding="utf-8") as file:
        return [line.strip() for line in file if not line.startswith("#")]


class Page(unittest.TestCase):
    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_lines(self) -> None:
        prologue, rows = read_page()
        names: Dict[str, Any] = {}
        exec(prologue, names)
        count = 0
        for row in rows:
            code = row.code() or row.code("Python")
            if not code or set(compile(code, "cell", "exec").co_names) & OF_THE_READER:
                continue
            with self.subTest(line=row.number, code=code):
                exec(code, names)
                count += 1
        self.assertGreater(count, 110)
        names["ctx"].synchronize()

    @unittest.skipIf(numpy is None, "numpy is missing")
    def test_lines_of_other_libraries(self) -> None:
        if support.is_software():
            self.skipTest("the device is a processor")
        prologue, rows = read_page()
        names: Dict[str, Any] = {}
        exec(prologue, names)
        for row in rows:
            for library, module in MODULES.items():
                code = row.code(library)
                if code is None:
                    continue
                with self.subTest(line=row.number, code=code):
                    support.load(module)  # or the test is skipped
                    exec(code, names)

    def test_lines_of_other_libraries_can_be_read(self) -> None:
        codes = [row.code(*MODULES) for row in read_page()[1]]
        codes = [code for code in codes if code is not None]
        self.assertGreater(len(codes), 12)
        for code in codes:
            compile(code, "cell", "exec")


class Table(unittest.TestCase):
    """Each name is in the table, and each row has all of its cells."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.rows = read_page()[1]
        cls.names = read_names()

    def row_of(self, name: str) -> Row:
        """Returns the row of a name. If several classes have the name, returns
        the row that also has the name of its class.
        """
        rows = [row for row in self.rows if row.has(name)]
        owner = name.rpartition(".")[0]
        if not rows:
            self.fail(f"{name} has no row")
        return next((row for row in rows if owner and row.has(owner)), rows[0])

    def test_every_name_has_a_row(self) -> None:
        """All names of PyCUDA and of cuda.core's Buffer, without the members of
        enumerations.
        """
        self.assertGreater(len(self.names), 250)
        for name in self.names:
            with self.subTest(name=name):
                self.row_of(name)

    def test_what_is_in_no_row(self) -> None:
        self.assertFalse(any(row.has("no_such_name") for row in self.rows))
        # A name does not count if it is only a part of another name, or in the text.
        self.assertFalse(Row(1, "`memset_d2d8()` and free", "native", "").has("memset_d2d"))
        self.assertFalse(Row(1, "`memset_d8()` and free", "native", "").has("free"))

    def test_kinds(self) -> None:
        self.assertGreater(len(self.rows), 150)
        for row in self.rows:
            with self.subTest(line=row.number):
                self.assertIn(row.kind, KINDS)
                self.assertNotIn("TODO", row.cell)
                if row.kind == "native":
                    self.assertIn("`", row.cell)
                    self.assertIsNone(row.code(*ELSEWHERE))
                elif row.kind == "library":
                    self.assertIsNotNone(
                        re.match(rf"(?:{'|'.join(map(re.escape, ELSEWHERE))}): `", row.cell)
                    )
                else:
                    self.assertIsNone(row.code(), "it has code, and is not native")
                    self.assertGreater(len(row.cell.split()), 4, "it says no reason")

    def test_numbers(self) -> None:
        """The first table has the right number of names for each kind."""
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        counted = {kind: 0 for kind in KINDS}
        for name in self.names:
            counted[self.row_of(name).kind] += 1
        for kind in KINDS:
            found = re.search(rf"^\| {kind} \| .+ \| (\d+) \|$", page, re.MULTILINE)
            self.assertIsNotNone(found, kind)
            self.assertEqual(int(found.group(1)), counted[kind], kind)


if __name__ == "__main__":
    support.main()
