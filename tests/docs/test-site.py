#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests how docs/site converts comments, headers and Markdown, and docs/testing.md.

    test-site.py [unittest's arguments]

Needs neither gi-docgen nor GStreamer. These are tests of single parts. A build
of the documentation tests all parts together.
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
from pages import Pages  # noqa: E402
from references import References  # noqa: E402

GIR = """<?xml version="1.0"?>
<repository version="1.2" xmlns="http://www.gtk.org/introspection/core/1.0"
  xmlns:c="http://www.gtk.org/introspection/c/1.0"
  xmlns:glib="http://www.gtk.org/introspection/glib/1.0">
<namespace name="%(ns)s" version="1.0">
  <class name="Box" c:type="%(ns)sBox">
    <method name="open" c:identifier="%(sym)s_box_open">
      <doc filename="lib/%(sym)sbox.c" line="1">Opens.</doc>
      <return-value><doc filename="x" line="1">a box</doc></return-value>
    </method>
    <method name="size" c:identifier="%(sym)s_box_size">
      <return-value><doc filename="x" line="1">its #%(ns)sBox size</doc></return-value>
    </method>
    <virtual-method name="shut"><doc filename="lib/%(sym)sbox.c" line="1"/>
    </virtual-method>
    <property name="lid-up"/>
  </class>
  <enumeration name="Error" c:type="%(ns)sError" glib:error-domain="%(dash)s-error-quark">
    <member name="full" c:identifier="%(upper)s_ERROR_FULL"/>
  </enumeration>
  <function name="init" c:identifier="%(sym)s_init"/>
</namespace></repository>
"""
OURS = {"ns": "GstVkgdr", "sym": "gst_vkgdr", "dash": "gst-vkgdr", "upper": "GST_VKGDR"}
THEIRS = {"ns": "Gst", "sym": "gst", "dash": "gst", "upper": "GST"}


class Folder(unittest.TestCase):
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


class TestReferences(Folder):
    def setUp(self):
        super().setUp()
        self.put("Gst-1.0.gir", GIR % THEIRS)
        self.gir = self.put("GstVkgdr-1.0.gir", GIR % OURS)
        self.references = References(self.gir, [self.folder])

    def check(self, text, expected):
        self.assertEqual(self.references.markdown(text), expected)
        self.assertEqual(self.references.unresolved, set())

    def test_ours(self):
        for name, page in {
            "#GstVkgdrBox": "class.Box.html",
            "#GstVkgdrBox:lid-up": "property.Box.lid-up.html",
            "#GstVkgdrBoxClass.shut": "vfunc.Box.shut.html",
            "%GST_VKGDR_ERROR_FULL": "error.Error.html",
            "%GST_VKGDR_ERROR": "error.Error.html",
            "gst_vkgdr_box_open()": "method.Box.open.html",
            "gst_vkgdr_init()": "func.init.html",
        }.items():
            self.check(
                "See %s." % name, "See [`%s`](%s)." % (name.lstrip("#%"), page)
            )

    def test_theirs(self):
        site = "https://gstreamer.freedesktop.org/documentation/gstreamer/"
        self.check(
            "gst_box_open() of #GstBoxClass.shut",
            "[`gst_box_open()`](%sgst_box.html#gst_box_open) of "
            "[`GstBoxClass.shut`](%sgst_box.html#GstBoxClass::shut)".replace(
                "gst_box.html", "gstbox.html"
            )
            % (site, site),
        )

    def test_plain(self):
        self.check("%NULL or @size", "`NULL` or `size`")
        self.check("`gst_vkgdr_nothing()`", "`gst_vkgdr_nothing()`")
        self.check("#pragma is no type", "#pragma is no type")
        self.check("other_function()", "`other_function()`")
        self.check("|[\n#GstVkgdrNo\n]|", "\n```\n#GstVkgdrNo\n```\n")

    def test_nowhere(self):
        for name in ("#GstVkgdrNo", "%GST_VKGDR_NO", "gst_vkgdr_box_no()",
                     "vkgdr_nothing()"):
            self.references.unresolved.clear()
            self.references.markdown("See %s." % name)
            self.assertEqual(self.references.unresolved, {name.strip("#%()")})

    def test_gir(self):
        target = os.path.join(self.folder, "new.gir")
        self.references.rewrite_gir(self.gir, target)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(">Returns its [`GstVkgdrBox`](class.Box.html) size<", text)
        self.assertNotIn("Returns a box", text)


class TestHeader(unittest.TestCase):
    def test_all_of_libvkgdr(self):
        """Each function, type and constant of the header has a comment."""
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

    def test_entry(self):
        entry = header.Entry(
            "f:\n@a: (nullable): one\n  more\n@b: two\n\nDoes it.\n\nReturns: x",
            "#if X\nint f (int a, int b)\n{\n  return a;\n}",
        )
        self.assertEqual(entry.arguments, [("a", "one more, or `NULL`"), ("b", "two")])
        self.assertEqual(entry.text, "Does it.\n\nReturns: x")
        self.assertEqual(entry.declaration, "int f (int a, int b);")

    def test_kinds_of_declarations(self):
        for code in ("#define A 1", "typedef struct a {\n  int b;\n} a;",
                     "typedef int a;", "typedef enum {\n  B\n} a;"):
            self.assertEqual(header.declaration_of(code + "\nint c;\n"), code)


class TestPages(Folder):
    def page(self, text):
        self.put("docs/a.md", "<!-- SPDX x -->\n\n# A title\n\n" + text)
        self.put("docs/x.py", "print(1)\n")
        self.put("LICENSE", "Do what you want.\n")
        self.pages = Pages(
            self.folder, {"docs/a.md": "a", "README.md": "overview"},
            {"include/k.h": "k.html"})
        return self.pages.page("docs/a.md").split("# A title\n\n")[1]

    def test_links(self):
        for link, expected in {
            "[t](../README.md#p)": "[t](overview.html#p)",
            "[t](#p)": "[t](#p)",
            "[t](https://x.org/y.md)": "[t](https://x.org/y.md)",
            "[t](../include/k.h)": "[t](k.html)",
            "[`t`](../LICENSE)": "`t`",
            "[t](missing.md)": "[t](missing.md)",
            "![](i/p.jpg)": "![](p.jpg)",
            "[t](x.py)": "[t](file-x-py.html)",
            "```\n[t](../README.md)\n```": "```\n[t](../README.md)\n```",
        }.items():
            self.assertEqual(self.page(link), expected)

    def test_what_comes_along(self):
        self.page("![](i/p.jpg) [t](x.py)")
        self.assertEqual(self.pages.images, ["docs/i/p.jpg"])
        self.assertEqual(self.pages.shown, ["docs/x.py"])
        self.assertIn("```python\nprint(1)\n```", self.pages.shown_page("docs/x.py"))


class TestCheck(Folder):
    def test_links(self):
        self.put("b.html", '<h1 id="p">b</h1>')
        self.put("a.html", '<a href="b.html#p">x</a><a href="https://x.org/">x</a>')
        self.assertEqual(check.broken_links(self.folder), [])
        self.put("a.html", '<a href="b.html#q">x</a><img src="c.jpg">')
        self.assertEqual(
            check.broken_links(self.folder),
            ["a.html: there is no b.html#q", "a.html: there is no c.jpg"],
        )


class TestPromises(unittest.TestCase):
    """docs/testing.md names each case of the tests in C, and no other one."""

    def test_list(self):
        with open(os.path.join(ROOT, "docs", "testing.md"), encoding="utf-8") as file:
            listed = set(re.findall(r"`([\w-]+:\w+)`", file.read()))
        cases = set()
        for folder, prefix in (("gst", ""), ("vkgdr", "vkgdr-")):
            for path in glob.glob(os.path.join(ROOT, "tests", folder, "*.c")):
                program = os.path.basename(path)[:-2].removeprefix("test-")
                with open(path, encoding="utf-8") as file:
                    names = re.findall(r"^TEST(?:_IF|_LOOP|_RANGE|_STEPS)? \(\s*(\w+)", file.read(), re.M)
                cases |= {f"{prefix}{program}:{name}" for name in names}
        self.assertEqual(sorted(listed - cases), [], "no such test")
        self.assertEqual(sorted(cases - listed), [], "not in docs/testing.md")


if __name__ == "__main__":
    unittest.main(verbosity=2)
