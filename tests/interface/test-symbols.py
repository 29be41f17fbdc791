#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each public function of libgstvkgdr has a user and a description, and says whether it is
thread-safe.

    test-symbols.py SOURCE-FOLDER LIBRARY LIBVKGDR [GIR]

A user is an element, a program, the Python overrides, an example, a page of the
documentation or a test. A function without a user should become private. Without the
GIR, uses in Python cannot be found, and the test is skipped.
"""

import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

SOURCE, LIBRARY, LIBVKGDR, *rest = sys.argv[1:]
GIR = rest[0] if rest else None

CORE = "{http://www.gtk.org/introspection/core/1.0}"
C = "{http://www.gtk.org/introspection/c/1.0}"

# The files of the users. The stubs for type checkers do not count, because they contain
# every name.
FOLDERS = ("gst", "python", "docs", "tools", "tests")
NO_USERS = ("python/gi-stubs", "docs/site", "tests/interface")
ENDINGS = (".c", ".cc", ".h", ".md", ".py")

# Functions that GLib calls through pointers, or that only macros name.
OF_TYPES = re.compile(r"_(get_type|meta_get_info|quark|ref|unref|copy|free)$")

FUNCTIONS = {CORE + kind for kind in ("function", "method", "constructor")}
CALLABLES = FUNCTIONS | {CORE + kind for kind in ("virtual-method", "callback", "signal")}


def read_users():
    """Returns all words of the users, and the names behind a dot where Python may be."""
    paths = [os.path.join(SOURCE, "README.md")] + [
        os.path.join(path, name)
        for folder in FOLDERS
        for path, _, names in os.walk(os.path.join(SOURCE, folder))
        for name in names
        if name.endswith(ENDINGS) and not os.path.relpath(path, SOURCE).startswith(NO_USERS)
    ]
    words, calls = set(), set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        words.update(re.findall(r"\w+", text))
        if path.endswith((".md", ".py")):
            calls.update(re.findall(r"\.(\w+)\b", text))
    return words, calls


def read_symbols(library=LIBRARY):
    text = subprocess.check_output(["nm", "-D", "--defined-only", library], encoding="utf-8")
    return sorted({line.split()[-1].split("@")[0] for line in text.splitlines()})


def text_of(element):
    return element.findtext(CORE + "doc", "")


def read_functions():
    """Returns the name and the text of each function, with the text of its type."""
    namespace = ElementTree.parse(GIR).getroot().find(CORE + "namespace")
    functions = [(f, "") for f in namespace if f.tag in FUNCTIONS]
    functions += [(f, text_of(owner)) for owner in namespace for f in owner if f.tag in FUNCTIONS]
    return {
        f.get(C + "identifier"): (f.get("name"), text_of(f) + text) for f, text in functions
    }


class Symbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.words, cls.calls = read_users()
        cls.functions = read_functions()

    def is_used(self, symbol):
        if symbol in self.words or OF_TYPES.search(symbol):
            return True
        return symbol in self.functions and self.functions[symbol][0] in self.calls

    def test_each_has_a_user(self):
        unused = [symbol for symbol in read_symbols() if not self.is_used(symbol)]
        self.assertEqual(unused, [])

    def test_the_package_lists_each(self):
        """debian/*.symbols has the same functions. Otherwise the package cannot be checked
        for functions that were removed.
        """
        for package, library in ("libgstvkgdr-1.0-0", LIBRARY), ("libvkgdr1", LIBVKGDR):
            path = os.path.join(SOURCE, "debian", f"{package}.symbols")
            if not os.path.exists(path):
                self.skipTest("there is no folder debian")
            with open(path, encoding="utf-8") as file:
                listed = re.findall(r"(?m)^ (\w+)@", file.read())
            with self.subTest(package=package):
                self.assertEqual(listed, read_symbols(library))

    def test_each_can_be_called_from_python_and_is_described(self):
        elements = list(ElementTree.parse(GIR).iter())
        # A callback in a record is also listed as a virtual method.
        fields = {inner for element in elements if element.tag == CORE + "field"
                  for inner in element}
        for element in elements:
            name = element.get(C + "identifier") or element.get("name")
            result = element.find(CORE + "return-value")
            with self.subTest(name=name):
                self.assertTrue(
                    element.get("introspectable") != "0" or element.get("shadowed-by"))
            if element.tag in CALLABLES and element not in fields and not name.endswith(
                    "_get_type"):
                with self.subTest(name=name):
                    self.assertTrue(text_of(element) or text_of(result))
                    for parameter in element.findall(f"{CORE}parameters/{CORE}parameter"):
                        self.assertTrue(text_of(parameter), parameter.get("name"))

    def test_each_says_whether_it_is_thread_safe(self):
        """The text of the function says it, or the text of its type for all functions
        of the type.
        """
        for symbol, (_, text) in self.functions.items():
            if not OF_TYPES.search(symbol):
                with self.subTest(symbol=symbol):
                    self.assertRegex(text, "[Tt]hread")


if __name__ == "__main__":
    if GIR is None:
        print("there is no introspection data")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
