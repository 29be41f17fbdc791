# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the stubs: mypy accepts correct programs and finds mistakes, and no name is missing.

The stubs are tested as they are installed: in an interpreter's folder of packages. The
correct programs are tests of this folder.
"""

import ast
import glob
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List

import gst_support  # noqa: F401
import support
from gi.repository import GstVkgdr

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "../../python")
# The folder in which the build makes GstVkgdr.pyi.
STUB = os.environ.get("VKGDR_STUB", "")

PROGRAMS = ("cuda", "driver", "elements", "frames", "objects", "pycuda", "reader")

# There are no stubs of GLib and Gst, so their classes are Any. In the module vkgdr, all
# functions have types, and ctypes has few.
CONFIG = """
[mypy]
strict = True
disallow_subclassing_any = False
disallow_any_generics = False
warn_return_any = False
[mypy-vkgdr.*]
disallow_untyped_calls = False
disallow_untyped_decorators = False
warn_unused_ignores = False
[mypy-gst_support]
implicit_reexport = True
[mypy-numpy.*,pycuda.*]
ignore_missing_imports = True
"""


class Stubs(unittest.TestCase):
    def test_programs(self) -> None:
        """The tests, the stub and the module vkgdr are right, and a program has mistakes."""
        support.load("mypy")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = glob.glob(os.path.join(folder, "lib/python*/site-packages"))
        for name in ("gi-stubs", "vkgdr"):
            shutil.copytree(os.path.join(PYTHON, name), os.path.join(packages, name))
        shutil.copy(STUB, os.path.join(packages, "gi-stubs/repository"))
        shutil.copy(STUB, folder)
        with open(os.path.join(folder, "mypy.ini"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        mistakes = os.path.join(HERE, "typed_mistakes.py")
        with open(mistakes, encoding="utf-8") as file:
            expected = {
                ("typed_mistakes.py", number, line.partition("# error: ")[2].strip())
                for number, line in enumerate(file, 1) if "# error: " in line
            }
        self.assertGreater(len(expected), 15)
        output = subprocess.run(
            [sys.executable, "-m", "mypy", "--python-executable", "bin/python", mistakes,
             *(os.path.join(HERE, f"test_{name}.py") for name in PROGRAMS),
             os.path.basename(STUB), *glob.glob(os.path.join(packages, "vkgdr/*.py"))],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": "", "MYPYPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        ).stdout
        found = {
            (os.path.basename(match[1]), int(match[2]), match[3])
            for match in re.finditer(r"(?m)^(.*?):(\d+): error: .*?(?:\[([a-z-]+)\])?$", output)
        }
        self.assertEqual(found, expected, output)

    def test_names(self) -> None:
        """The stub has the same names as the module, and a class has all that its stub has."""
        with open(STUB, encoding="utf-8") as file:
            stub = names_of(ast.parse(file.read()).body)
        # Class structures, which only C needs.
        names = {name for name in dir(GstVkgdr)
                 if not name.startswith("_") and not name.endswith(("Class", "Private"))}
        self.assertEqual(stub.keys() - names - {"Format", "Numbers", "Source"}, set())
        self.assertEqual([
            name for name in names - stub.keys()
            if inspect.isclass(getattr(GstVkgdr, name)) or callable(getattr(GstVkgdr, name))
        ], [])
        methods = [
            (name, method) for name, node in stub.items() if isinstance(node, ast.ClassDef)
            for method, inner in names_of(node.body).items()
            if isinstance(inner, ast.FunctionDef)
        ]
        self.assertGreater(len(methods), 150)
        self.assertEqual(
            [one for one in methods if not hasattr(getattr(GstVkgdr, one[0]), one[1])], [])


def names_of(body: List[ast.stmt]) -> Dict[str, ast.stmt]:
    found: Dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


if __name__ == "__main__":
    if not STUB:
        print("VKGDR_STUB names no file")
        sys.exit(support.SKIPPED)
    support.main()
