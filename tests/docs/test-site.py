#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests that docs/site notices faults, and checks docs/testing.md.

    test-site.py [unittest's arguments]

Needs neither gi-docgen nor GStreamer. A build of the documentation checks its own links:
these are tests that it would see a wrong one, and of what it cannot see.
"""

import glob
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs", "site"))

import check  # noqa: E402
import header  # noqa: E402
from references import References  # noqa: E402

GIR = """<?xml version="1.0"?>
<repository version="1.2" xmlns="http://www.gtk.org/introspection/core/1.0"
  xmlns:c="http://www.gtk.org/introspection/c/1.0">
<namespace name="%(ns)s" version="1.0">
  <class name="Box" c:type="%(ns)sBox">
    <method name="open" c:identifier="%(sym)s_box_open">
      <doc filename="lib/%(sym)sbox.c" line="1">Opens.</doc>
    </method>
    <property name="lid-up"/>
  </class>
</namespace></repository>
"""
OURS = {"ns": "GstVkgdr", "sym": "gst_vkgdr"}
THEIRS = {"ns": "Gst", "sym": "gst"}
SITE = "https://gstreamer.freedesktop.org/documentation/gstreamer/"


class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vkgdr-site-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_references(self):
        """Each name becomes a link; a name of this project without a page is noted."""
        self.put("Gst-1.0.gir", GIR % THEIRS)
        references = References(self.put("GstVkgdr-1.0.gir", GIR % OURS), [self.folder])
        for text, expected in {
            "#GstVkgdrBox:lid-up": "[`GstVkgdrBox:lid-up`](property.Box.lid-up.html)",
            "gst_vkgdr_box_open()": "[`gst_vkgdr_box_open()`](method.Box.open.html)",
            "gst_box_open()": f"[`gst_box_open()`]({SITE}gstbox.html#gst_box_open)",
            "%NULL or @size": "`NULL` or `size`",
            "`gst_vkgdr_nothing()`": "`gst_vkgdr_nothing()`",
            "|[\n#GstVkgdrNo\n]|": "\n```\n#GstVkgdrNo\n```\n",
        }.items():
            self.assertEqual(references.markdown(text), expected)
        self.assertEqual(references.unresolved, set())
        references.markdown("#GstVkgdrNo %GST_VKGDR_NO gst_vkgdr_box_no() vkgdr_nothing()")
        self.assertEqual(
            references.unresolved,
            {"GstVkgdrNo", "GST_VKGDR_NO", "gst_vkgdr_box_no", "vkgdr_nothing"},
        )

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

    def test_broken_links(self):
        self.put("b.html", '<h1 id="p">b</h1>')
        self.put("a.html", '<a href="b.html#p">x</a><a href="https://x.org/">x</a>')
        self.assertEqual(check.broken_links(self.folder), [])
        self.put("a.html", '<a href="b.html#q">x</a><img src="c.jpg">')
        self.assertEqual(
            check.broken_links(self.folder),
            ["a.html: there is no b.html#q", "a.html: there is no c.jpg"],
        )


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
                        r"^TEST(?:_IF|_LOOP|_RANGE|_ROWS|_STEPS)? \(\s*(\w+)", file.read(), re.M)
                cases |= {f"{prefix}{program}:{name}" for name in names}
        self.assertEqual(sorted(listed - cases), [], "no such test")
        self.assertEqual(sorted(cases - listed), [], "not in docs/testing.md")


if __name__ == "__main__":
    unittest.main(verbosity=2)
