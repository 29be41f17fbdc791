#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks vkgdr.h and docs/testing.md.

    test-site.py [unittest's arguments]

Needs neither gi-docgen nor GStreamer. A build of the documentation checks its names and
links: these are tests of what it cannot see.
"""

import glob
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs", "site"))

import header  # noqa: E402


class Site(unittest.TestCase):
    def test_header(self):
        """Each function, type and constant of vkgdr.h has a comment."""
        path = os.path.join(ROOT, "include", "vkgdr", "vkgdr.h")
        with open(path, encoding="utf-8") as file:
            code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        entries = {entry.name: entry for entry in header.read(path)}
        functions = re.findall(r"^VKGDR_API [^;(]*?(\w+) \(", code, re.M)
        types = re.findall(r"^(?:typedef .*|\} )\b(vkgdr_\w+);", code, re.M)
        self.assertGreater(len(functions), 10)
        self.assertGreater(len(types), 5)
        for name in functions + types:
            self.assertIn(name, entries)
            self.assertIn(name, entries[name].declaration)


class Promises(unittest.TestCase):
    """docs/testing.md names each case of the tests in C, and no other one."""

    def test_list(self):
        with open(os.path.join(ROOT, "docs", "testing.md"), encoding="utf-8") as file:
            listed = set(re.findall(r"`([\w-]+:\w+)`", file.read()))
        cases = set()
        for folder, prefix in (("gst", ""), ("vkgdr", "vkgdr-")):
            for path in glob.glob(os.path.join(ROOT, "tests", folder, "*.c")):
                program = os.path.basename(path)[:-2].removeprefix("test-")
                with open(path, encoding="utf-8") as file:
                    names = re.findall(
                        r"^TEST(?:_IF|_LOOP|_ROWS|_STEPS)? \(\s*(\w+)", file.read(), re.M)
                cases |= {f"{prefix}{program}:{name}" for name in names}
        self.assertEqual(sorted(listed - cases), [], "no such test")
        self.assertEqual(sorted(cases - listed), [], "not in docs/testing.md")

    def test_python(self):
        """The programs and tests in Python that the page names exist."""
        with open(os.path.join(ROOT, "docs", "testing.md"), encoding="utf-8") as file:
            page = file.read()
        for name in set(re.findall(r"`python-(\w+)`", page)):
            path = os.path.join(ROOT, "tests", "python", f"test_{name}.py")
            self.assertTrue(os.path.exists(path), f"python-{name}")
        defined = set()
        for path in glob.glob(os.path.join(ROOT, "tests", "*", "*.py")):
            with open(path, encoding="utf-8") as file:
                defined.update(re.findall(r"def (test_\w+)", file.read()))
        self.assertEqual(sorted(set(re.findall(r"`(test_\w+)`", page)) - defined), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
