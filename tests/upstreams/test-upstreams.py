#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream elements from Debian's packages, with and without GPU memory.

    test-upstreams.py PART [unittest's arguments]
    test-upstreams.py --write

PART is a part of the table: decoders, filters, sources or streams. Each of its
elements is run with `vkgdrupload ! vkgdrdownload` after it and without these, and the
output must be the same. An element that does not write directly into GPU memory must
have a reason in the table. If docs/upstreams.md was made with the same version of
GStreamer, it must have the same results. Elements that are not installed are skipped.

--write runs all parts and writes the tables of docs/upstreams.md. Run it through scripts/env.
"""

import os
import sys
import tempfile
import unittest

# A window that the CPU must not read, as on a GPU. Must be set before the
# device is opened.
os.environ.update(VKGDR_DRIVER="software", VKGDR_DEBUG="bar")

import document  # noqa: E402
import runner  # noqa: E402
import table  # noqa: E402
from runner import Gst  # noqa: E402

WITH = "vkgdrupload name=up access=direct ! vkgdrdownload !"
ATTEMPTS = 3  # for a sender whose packets may be lost


def version() -> str:
    return "{}.{}".format(*Gst.version()[:2])


def compare(run, case):
    """Runs @case with GPU memory and without. Returns the result with it."""
    plain = run.run(case, "")
    result = run.run(case, WITH)
    if not plain.digests:
        raise AssertionError(case.element + " has no output")
    if result.digests != plain.digests:
        raise AssertionError(
            f"the output of {case.element} differs: {len(result.digests)} buffers "
            f"with vkgdrupload, {len(plain.digests)} without"
        )
    return result


def compare_often(run, case):
    attempts = ATTEMPTS if case.feed == "udp" else 1
    while True:
        attempts -= 1
        try:
            return compare(run, case)
        except AssertionError:
            if attempts == 0:
                raise


class Upstreams(unittest.TestCase):
    """One test for each element. The tests are added below."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="vkgdr-upstreams-")
        cls.runner = runner.Runner(cls.folder.name)
        cls.page = document.Page()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, case):
        missing = runner.missing(case)
        if missing:
            self.skipTest("there is no " + ", ".join(missing))
        result = compare_often(self.runner, case)
        print(f"{case.element}: {document.describe(case, result)}")
        if not document.is_direct(result):
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
                results[case] = None if missing else compare_often(run, case)
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
