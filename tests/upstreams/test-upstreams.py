#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream elements from Debian's packages, with and without GPU memory.

    test-upstreams.py PART [unittest's arguments]
    test-upstreams.py --write

PART is a part of the table: decoders, filters, sources or streams. Each of its
elements is run into `vkgdrupload ! vkgdrdownload` and without these: the bytes
must be the same. An element whose bytes are not written straight into GPU
memory must have a reason in the table, and docs/upstreams.md must say what is
found here, if it was made with the same version of GStreamer. Elements that this
machine lacks are waived.

--write runs all parts and writes docs/upstreams.md. Run it through scripts/env.
"""

import os
import sys
import tempfile
import unittest

# Before the device is opened: a window that the CPU must not read, as a GPU's.
os.environ.update(VKGDR_DRIVER="software", VKGDR_DEBUG="bar")

import document  # noqa: E402
import runner  # noqa: E402
import table  # noqa: E402
from runner import Gst  # noqa: E402

WITH = "vkgdrupload name=up access=direct ! vkgdrdownload !"
ATTEMPTS = 3  # of a sender whose packets may be lost


def version() -> str:
    return "{}.{}".format(*Gst.version()[:2])


class Upstreams(unittest.TestCase):
    """One test for each element, made below."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-")
        cls.runner = runner.Runner(cls.folder.name)
        cls.page = document.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compare(self, case):
        plain = self.runner.run(case, "")
        result = self.runner.run(case, WITH)
        self.assertGreater(len(plain.digests), 0)
        self.assertEqual(len(result.digests), len(plain.digests))
        self.assertEqual(result.digests, plain.digests)
        return result

    def compare_often(self, case):
        attempts = ATTEMPTS if case.feed == "udp" else 1
        while True:
            attempts -= 1
            try:
                return self.compare(case)
            except AssertionError:
                if attempts == 0:
                    raise

    def check(self, case):
        missing = runner.missing(case)
        if missing:
            self.skipTest("waived: there is no " + ", ".join(missing))
        result = self.compare_often(case)
        print(f"{case.element}: {document.describe(case, result)}")
        if not document.is_straight(result):
            self.assertTrue(case.reason, "the table has no reason: tests/upstreams/table.py")
        self.assertIn(case.element, self.page.rows, "run test-upstreams.py --write")
        if self.page.version == version():
            self.assertEqual(
                self.page.rows[case.element],
                document.row(case, result),
                "docs/upstreams.md is out of date: run test-upstreams.py --write",
            )


def add_tests(part):
    for case in table.PARTS[part]:
        setattr(Upstreams, "test_" + case.element, lambda self, case=case: self.check(case))


def write():
    results = {}
    with tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-") as folder:
        run = runner.Runner(folder)
        for cases in table.PARTS.values():
            for case in cases:
                missing = runner.missing(case)
                results[case] = None if missing else run.run(case, WITH)
    document.write(version(), results)


def main():
    Gst.init(None)
    if not Gst.ElementFactory.find("vkgdrupload"):
        print("There is no vkgdrupload: run this through scripts/env.")
        return 1
    if sys.argv[1:] == ["--write"]:
        return write()
    if sys.argv[1:2] == [] or sys.argv[1] not in table.PARTS:
        print(__doc__)
        return 2
    add_tests(sys.argv.pop(1))
    return unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
