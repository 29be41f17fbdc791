# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the stubs: mypy accepts correct programs, finds mistakes, and no name is
missing.

The stubs are tested as they are installed: in an interpreter's folder of packages.
"""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List, Set, Union

import gst_support  # noqa: F401
import support
from gi.repository import GstVkgdr

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", "python")
# The folder in which the build makes GstVkgdr.pyi.
STUB = os.environ.get("VKGDR_STUB", "")


def parse_stub() -> ast.Module:
    with open(STUB, encoding="utf-8") as file:
        return ast.parse(file.read())


Node = Union[ast.ClassDef, ast.FunctionDef, ast.AnnAssign]


def names_of(body: List[ast.stmt]) -> Dict[str, Node]:
    found: Dict[str, Node] = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


@unittest.skipIf(support.is_missing("mypy"), "mypy is missing")
class Checked(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.folder], check=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = os.path.join(cls.folder, "lib", version, "site-packages")
        shutil.copytree(os.path.join(PYTHON, "gi-stubs"), os.path.join(packages, "gi-stubs"))
        shutil.copy(STUB, os.path.join(packages, "gi-stubs", "repository"))
        shutil.copytree(os.path.join(PYTHON, "vkgdr"), os.path.join(packages, "vkgdr"))

    def run_tool(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": "", "MYPYPATH": "", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )

    def test_programs(self) -> None:
        """One program is right, another has mistakes, and the stub itself is right. There
        are no stubs of GLib and Gst, so their classes are Any.
        """
        mistakes = os.path.join(HERE, "typed_mistakes.py")
        with open(mistakes, encoding="utf-8") as file:
            lines = file.read().splitlines()
        expected = {
            ("typed_mistakes.py", number, line.partition("# error: ")[2])
            for number, line in enumerate(lines, 1) if "# error: " in line
        }
        self.assertGreater(len(expected), 15)
        stub = os.path.join(self.folder, "GstVkgdr.pyi")
        shutil.copy(STUB, stub)
        output = self.run_tool(
            "mypy", "--python-executable", os.path.join(self.folder, "bin", "python"), "--strict",
            "--allow-subclassing-any", os.path.join(HERE, "typed_program.py"), mistakes, stub,
        ).stdout
        found = {
            (os.path.basename(match.group(1)), int(match.group(2)), match.group(3))
            for match in re.finditer(r"(?m)^(.*):(\d+): error: .*\[([a-z-]+)\]", output)
        }
        self.assertEqual(found, expected, output)

    def test_the_module_vkgdr_is_typed(self) -> None:
        result = self.run_tool(
            "mypy", "--disallow-untyped-defs", "--no-implicit-reexport", "--ignore-missing-imports",
            "-p", "vkgdr", MYPYPATH=PYTHON,
        )
        self.assertEqual(result.returncode, 0, result.stdout)


class Complete(unittest.TestCase):
    """The stub has the same names as the module."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.stub = names_of(parse_stub().body)

    def runtime_names(self) -> Set[str]:
        return {name for name in dir(GstVkgdr) if not name.startswith("_")}

    def test_all_names(self) -> None:
        names = self.runtime_names()
        # Class structures, which only C needs, and callbacks.
        names -= {name for name in names if name.endswith("Class") or name.endswith("Private")}
        missing = {
            name for name in names - set(self.stub)
            if inspect.isclass(getattr(GstVkgdr, name)) or callable(getattr(GstVkgdr, name))
        }
        self.assertEqual(missing, set())
        extra = {name for name in self.stub if name not in ("Format", "Numbers", "Source")} - names
        self.assertEqual(extra, set())

    def test_all_methods(self) -> None:
        """A class has everything that its stub has."""
        count = 0
        for name, node in self.stub.items():
            members = names_of(node.body) if isinstance(node, ast.ClassDef) else {}
            for member, inner in members.items():
                if isinstance(inner, ast.FunctionDef) and member != "__buffer__":
                    with self.subTest(name=f"{name}.{member}"):
                        self.assertTrue(hasattr(getattr(GstVkgdr, name), member))
                        count += 1
        self.assertGreater(count, 150)


if __name__ == "__main__":
    if not STUB:
        print("VKGDR_STUB names no file")
        sys.exit(support.SKIPPED)
    support.main()
