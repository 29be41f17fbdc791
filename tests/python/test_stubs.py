# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests of the stubs and of GstVkgdr-1.0: mypy accepts correct programs, finds mistakes,
no name is missing, and each function has a description.

The stubs are tested as they are installed: in an interpreter's folder of packages.
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
import xml.etree.ElementTree as ElementTree
from typing import Dict, List

import gst_support  # noqa: F401
import support
from gi.repository import GstVkgdr

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "../../python")
# The folder in which the build makes GstVkgdr.pyi.
STUB = os.environ.get("VKGDR_STUB", "")

# There are no stubs of GLib and Gst, so their classes are Any. In the module vkgdr, all
# functions have types, and ctypes has few.
CONFIG = """
[mypy]
strict = True
disallow_subclassing_any = False
[mypy-vkgdr.*]
disallow_any_generics = False
disallow_untyped_calls = False
disallow_untyped_decorators = False
warn_return_any = False
warn_unused_ignores = False
[mypy-numpy.*,pycuda.*]
ignore_missing_imports = True
"""


CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"
CALLABLES = ("function", "method", "constructor", "virtual-method", "callback", "signal")


def name_of(element: ElementTree.Element) -> str:
    return element.get(f"{C}identifier") or element.get("name") or element.tag


class Stubs(unittest.TestCase):
    def test_programs(self) -> None:
        """One program is right, another has mistakes, and the stub and the module vkgdr
        are right.
        """
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
             os.path.join(HERE, "typed_program.py"), os.path.basename(STUB),
             *glob.glob(os.path.join(packages, "vkgdr/*.py"))],
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


class Typelib(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = os.path.dirname(GstVkgdr.__path__[0])
        path = os.path.join(folder, "GstVkgdr-1.0.gir")
        if not os.path.isfile(path):  # installed
            path = os.path.join(folder.rpartition("/lib")[0], "share/gir-1.0/GstVkgdr-1.0.gir")
        cls.namespace = ElementTree.parse(path).getroot().find(f"{CORE}namespace")
        # A callback in a record is also listed as a virtual method.
        fields = {one for field in cls.namespace.iter(f"{CORE}field") for one in field}
        # Name, return value and parameters of each function.
        cls.functions = [
            (element, name_of(element), element.find(f"{CORE}return-value"),
             element.findall(f"{CORE}parameters/{CORE}parameter"))
            for element in cls.namespace.iter()
            if element.tag in [CORE + tag for tag in CALLABLES] and element not in fields
            and element.find(f"{CORE}return-value") is not None
        ]

    def test_nothing_is_skipped(self) -> None:
        self.assertEqual([
            name_of(element) for element in self.namespace.iter()
            if element.get("introspectable") == "0" and not element.get("shadowed-by")
        ], [])

    def test_everything_has_a_text(self) -> None:
        missing = []
        for element, name, returned, parameters in self.functions:
            if name.endswith("_get_type"):
                continue
            if element.find(f"{CORE}doc") is None and returned.find(f"{CORE}doc") is None:
                missing.append(name)
            missing += [f"{name}({parameter.get('name')})" for parameter in parameters
                        if parameter.find(f"{CORE}doc") is None]
        self.assertEqual(missing, [])

    def test_ownership_is_told(self) -> None:
        for element, name, returned, _ in self.functions:
            transfer = returned.get("transfer-ownership")
            self.assertIn(transfer, ("none", "full", "container"), name)
            # A function that returns a new pointer returns None or raises on an error.
            if element.get("throws") == "1" and transfer == "full":
                self.assertEqual(returned.get("nullable"), "1", name)

    def test_pointers_are_few(self) -> None:
        """Plain pointers are CUDA handles and addresses. They are numbers in Python."""
        found = [
            name.replace("gst_vkgdr_", "") for _, name, returned, parameters in self.functions
            if any(kind is not None and kind.get("name") == "gpointer"
                   for kind in [one.find(f"{CORE}type") for one in [returned, *parameters]])
        ]
        self.assertEqual(sorted(found), [
            "FenceFunc", "ReleaseFunc", "allocator_alloc_wrapped", "context_get_cuda_context",
            "context_get_pinned_data", "dlpack_get_capsule_destructor", "fence_release_later",
            "mapping_to_dlpack", "memory_get_host_pointer", "memory_new_from_dlpack",
            "memory_new_part", "memory_upload", "memory_write", "stream_get_handle",
            "stream_new_wrapped",
        ])


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
